// Reads small integer inputs that control an operator: shapes, axes, counts.
#pragma once
#include "ops/infer.h"
#include "ops/run_context.h"

namespace retort::ops {

/// Throws invalid_argument if input i is given and known to have another number of axes: 0 for a scalar, 1 for a vector.
void expect_rank(const InferContext& c, size_t i, size_t rank);
/// Content of input i if every element is a number; throws NotYetKnown otherwise. Throws invalid_argument for two
/// axes or more.
std::span<const Dim> numbers(InferContext& c, size_t i);
/// The only element of input i, a number or symbol; throws NotYetKnown if it is unknown.
Dim scalar_value(InferContext& c, size_t i);

/// Elements of an integer or bool input of a kernel.
Shape integers(const RunContext& c, size_t i);
/// Its only element; throws invalid_argument if there are more.
int64_t integer(const RunContext& c, size_t i);

/// A set of axes of a tensor of rank <= 64.
class AxisSet {
 public:
  enum class Twice { refused, allowed };
  /// Accepts axes in [-rank, rank); throws invalid_argument if one is outside, or given twice where that is refused.
  static AxisSet of(std::span<const int64_t> axes, size_t rank, Twice twice = Twice::refused);
  static AxisSet all(size_t rank) { return AxisSet(rank >= 64 ? ~uint64_t(0) : (uint64_t(1) << rank) - 1); }
  bool contains(size_t axis) const { return bits_ >> axis & 1; }

 private:
  explicit AxisSet(uint64_t bits) : bits_(bits) {}
  uint64_t bits_;
};

}  // namespace retort::ops
