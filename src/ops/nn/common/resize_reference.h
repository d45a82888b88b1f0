// The plain loops of Resize: one axis after the other, in double.
#pragma once
#include <algorithm>
#include <cmath>
#include <vector>

#include "base/function_ref.h"
#include "kernels/elementwise/convert.h"
#include "kernels/resize/narrow.h"
#include "ops/nn/common/resample.h"

namespace retort::ops {

/// Calls f(output index, coordinates) for all output elements.
void for_each_output(const Shape& y, FunctionRef<void(size_t i, const Shape& at)> f);
/// `values` of shape `from`, resampled to shape `to`.
std::vector<double> resampled(std::vector<double> values, const Shape& from, const Shape& to,
                              const std::vector<AxisTable>& all);

template <typename T>
void gather(RunContext& c, const std::vector<AxisTable>& all) {
  const auto x = c.input<T>(0);
  T* y = c.output<T>().data();
  for_each_output(c.out_shape(), [&](size_t i, const Shape& at) {
    int64_t from = 0;
    for (size_t d = 0; d < all.size(); ++d)
      from = from * c.shape(0)[d] + (all[d].identity ? at[d] : all[d].index[size_t(at[d])]);
    y[i] = x[size_t(from)];
  });
}

template <typename T>
void interpolate(RunContext& c, const std::vector<AxisTable>& all, bool antialias) {
  const auto x = c.input<T>(0);
  const std::vector<double> values = resampled({x.begin(), x.end()}, c.shape(0), c.out_shape(), all);
  const auto y = c.output<T>();
  const double share = std::integral<T> ? kernels::share_of_integer(antialias) : 0;
  const auto [least, most] = kernels::narrow_range(c.carried_type(0));
  for (size_t i = 0; i < y.size(); ++i)
    y[i] = kernels::convert<T>(std::clamp(values[i] + std::copysign(share, values[i]), least, most));
}

template <typename T>
void extrapolate(RunContext& c, const std::vector<AxisTable>& all, float value) {
  T* y = c.output<T>().data();
  for_each_output(c.out_shape(), [&](size_t i, const Shape& at) {
    for (size_t d = 0; d < all.size(); ++d) {
      if (!all[d].outside.empty() && all[d].outside[size_t(at[d])]) y[i] = kernels::convert<T>(value);
    }
  });
}

}  // namespace retort::ops
