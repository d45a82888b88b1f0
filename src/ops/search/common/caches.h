// Caches of keys and values between two steps of a search.
#pragma once
#include <span>
#include <string_view>

#include "base/parallel.h"
#include "tensor/tensor.h"

namespace retort::ops {

/// The cache of the next step: row i along `axis` is row from[i] of `cache`. If all rows stay where they are, it is the
/// same tensor; otherwise it has memory of its own.
Tensor gather_rows(Tensor cache, size_t axis, std::span<const uint32_t> from, const Parallel& parallel);

/// Each row of axis 0 `count` times, one after the other.
Tensor repeat_rows(const Tensor& tensor, size_t count, const Parallel& parallel);

/// The tensor in a value that a graph returns, with `rank` axes; throws invalid_argument naming `what` it is if there
/// is no such one.
const Tensor& returned_tensor(const Value& value, size_t rank, std::string_view what);

/// Zeros, of which the first entries along `axis` are those of `tensor`, which is as long or shorter there.
Tensor extended(const Tensor& tensor, size_t axis, int64_t extent);

Tensor zeros(DType dtype, Shape shape);

}  // namespace retort::ops
