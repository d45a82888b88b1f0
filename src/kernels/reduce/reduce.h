// Reductions over any set of axes. Shape and axes are converted to a normal form once (ReducePlan); kernels then walk
// it without allocation. The order of summation depends only on the plan and the instruction level, so results have the
// same bits for any number of threads.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "base/parallel.h"

namespace retort::kernels {

enum class Reduce : uint8_t { sum, mean, prod, max, min, l1, l2, sum_square, log_sum, log_sum_exp };

/// Kept and reduced dimensions of the input, after merging neighbours of one kind; strides are in elements of the
/// row-major input.
struct ReducePlan {
  static constexpr size_t kMaxRank = 8;  ///< of each kind
  struct Dims {
    size_t rank = 0;
    std::array<size_t, kMaxRank> extents{}, strides{};  ///< outermost first
  };
  Dims kept, reduced;
  size_t outputs = 1;  ///< product of the kept extents
  size_t count = 1;    ///< elements per output: product of the reduced extents, may be 0
  bool rows = true;    ///< whether the innermost dimension is reduced

  /// `axes` are in [0, rank), in any order. The output is the row-major tensor of the kept dimensions. nullopt if more
  /// than kMaxRank dimensions of one kind remain (a shape of more than 2^16 elements with 17 alternating axes).
  static std::optional<ReducePlan> make(std::span<const int64_t> shape, std::span<const int64_t> axes) noexcept;

  /// Offset in the input of the first element of output i.
  size_t offset(size_t output) const;
};

/// Without elements (count = 0): sums 0, prod 1, max -inf, min inf, mean NaN, logarithms -inf. max and min are NaN if
/// an element is. log_sum_exp subtracts the maximum first. Sums are computed in short float chains which are added in
/// double: the error is that of a few roundings, whatever the count.
void reduce(Reduce op, const float* x, float* y, const ReducePlan& plan, const Parallel& par) noexcept;

/// Integers wrap around; mean, l2 and the logarithms are computed in double and truncated. Without elements max is the
/// smallest, min the largest number, mean 0. Defined for int8_t, uint8_t, int32_t, uint32_t and int64_t; and for
/// double, in chains of one fixed order, with the results of float for NaN, infinity, and without elements.
template <typename T>
void reduce(Reduce op, const T* x, T* y, const ReducePlan& plan, const Parallel& par) noexcept;
template <>
void reduce<double>(Reduce op, const double* x, double* y, const ReducePlan& plan, const Parallel& par) noexcept;

struct ArgReduce {
  size_t outer = 0, extent = 0,
         inner = 1;   ///< the input is [outer, extent, inner], the output [outer, inner]; extent > 0
  bool min = false;   ///< finds the minimum instead of the maximum
  bool last = false;  ///< of equal elements the last one instead of the first
};
/// NaN never wins a comparison, so it is chosen only at the first position of its slice. Defined for float, double,
/// int8_t, uint8_t, int32_t and int64_t.
template <typename T>
void arg_reduce(const ArgReduce& args, const T* x, int64_t* y, const Parallel& par) noexcept;

}  // namespace retort::kernels
