// Running totals along an axis: exclusive ones do not include the element itself, reverse ones start at the end.
// Integers wrap around.
#pragma once
#include <algorithm>

#include "kernels/move/sequence.h"
#include "ops/elementwise.h"
#include "ops/integers.h"
#include "ops/math/arithmetic.h"
#include "ops/op.h"

namespace retort::ops {

/// The operator's attributes, its shape inference, and the walk over the elements.
struct Cumulative {
  bool exclusive = false, reverse = false;
  static constexpr std::tuple attributes{attr("exclusive", &Cumulative::exclusive),
                                         attr("reverse", &Cumulative::reverse)};

  void infer(InferContext& c) const {
    c.set(0, c.dtype(0));
    c.set(0, c.dtype(0), c.shape(0));
    if (const auto axis = c.try_value(1); axis && all_known(*axis)) c.axis(scalar_value(c, 1), c.rank(0));
  }
  Cost cost(const CostContext& c) const { return {.operations = c.count(0)}; }

  /// Every total starts from `first` and grows by grow(total, element). Totals of floats are in double.
  template <typename T, typename Grow>
  void accumulate(RunContext& c, int first, Grow grow) const {
    using Total = std::conditional_t<std::is_floating_point_v<T>, double, T>;
    const Shape& shape = c.shape(0);
    const size_t axis = normalize_axis(integer(c, 1), shape.rank());
    const auto n = size_t(shape[axis]), inner = size_t(extent_product(shape, axis + 1, shape.rank()));
    const auto x = c.input<T>(0);
    const auto y = c.output<T>();
    for (size_t i = 0; i < x.size() / std::max<size_t>(n, 1); ++i) {
      const size_t begin = i / inner * n * inner + i % inner;
      auto total = Total(first);
      for (size_t k = 0; k < n; ++k) {
        const size_t at = begin + (reverse ? n - 1 - k : k) * inner;
        const Total before = total;
        total = grow(total, Total(x[at]));
        y[at] = T(exclusive ? before : total);
      }
    }
  }

  kernels::Running running(const RunContext& c) const {
    const Shape& shape = c.shape(0);
    const size_t axis = normalize_axis(integer(c, 1), shape.rank());
    return {.outer = size_t(extent_product(shape, 0, axis)),
            .extent = size_t(shape[axis]),
            .inner = size_t(extent_product(shape, axis + 1, shape.rank())),
            .exclusive = exclusive,
            .reverse = reverse};
  }
};

}  // namespace retort::ops
