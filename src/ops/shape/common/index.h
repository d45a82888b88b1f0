// Index inputs of the gather and scatter family.
#pragma once
#include "kernels/move/index.h"
#include "ops/infer.h"
#include "ops/run_context.h"

namespace retort::ops {

/// Throws invalid_argument naming the bad index, if there is one.
void check(const std::optional<kernels::BadIndex>& bad);

/// Calls f(const I*) with the int32 or int64 indices of input 1, and checks its result.
template <typename F>
void with_indices(const RunContext& c, F&& f) {
  if (c.dtype(1) == DType::i64) return check(f(c.input<int64_t>(1).data()));
  require(c.dtype(1) == DType::i32, ErrorCode::invalid_argument, "indices are of type {}, not int32 or int64",
          dtype_name(c.dtype(1)));
  check(f(c.input<int32_t>(1).data()));
}

/// Describes how the tuples of input 1 (its last axis) address slices of input 0, after `batch` axes that both have.
kernels::TupleIndices tuple_indices(const RunContext& c, size_t batch);
/// Length of the tuples, a number. Throws invalid_argument unless rank and extents of indices (input 1) match the data
/// (input 0), and NotYetKnown if the length is a symbol.
size_t check_tuples(InferContext& c, size_t batch);

/// Throws invalid_argument unless indices (input 1) have the rank of the data (input 0) and, except on `axis`, no
/// larger extents.
void check_elements(InferContext& c, size_t axis);

}  // namespace retort::ops
