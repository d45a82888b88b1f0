// Range, running totals and NonZero on typed elements. Thread-safe, no allocation.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>

#include "base/parallel.h"

namespace retort::kernels {

/// y[i] = start + i · delta. For float, double, int16_t, int32_t, int64_t; integers wrap around.
template <typename T>
void range(T start, T delta, std::span<T> y) noexcept;

/// Running totals along the axis of [outer, extent, inner]. exclusive: without the element itself; reverse: from the
/// end.
struct Running {
  size_t outer = 1, extent = 0, inner = 1;
  bool exclusive = false, reverse = false;
};
/// Sums of float, double, int32_t, int64_t, products of float, int64_t; computed in order, integers wrap around. y may
/// not be x.
template <typename T>
void running_sum(const Running& args, const T* x, T* y, const Parallel& par) noexcept;
template <typename T>
void running_product(const Running& args, const T* x, T* y, const Parallel& par) noexcept;

/// Counts elements that are not zero (-0 is zero, NaN is not). For bool (as uint8_t), uint8_t, int32_t, int64_t, float.
template <typename T>
size_t count_nonzero(std::span<const T> x) noexcept;
/// Their coordinates: y is [rank, count], where count is from count_nonzero. A scalar counts as one dimension of one
/// element.
template <typename T>
void nonzero(std::span<const T> x, std::span<const int64_t> shape, size_t count, int64_t* y) noexcept;

}  // namespace retort::kernels
