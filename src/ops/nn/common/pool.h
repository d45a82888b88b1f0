// Shared by the pools over [N, C, D1, …].
#pragma once
#include <cmath>

#include "ops/nn/common/window.h"

namespace retort::ops {

struct PoolAttributes : WindowAttributes {
  bool ceil_mode = false;
  static constexpr auto pool_attributes =
      std::tuple_cat(window_attributes, std::tuple{attr("ceil_mode", &PoolAttributes::ceil_mode)});

  void check() const {
    WindowAttributes::check();
    require(!kernel_shape.empty(), ErrorCode::invalid_argument, "kernel_shape is missing");
  }
  Cost cost(const CostContext& c) const {
    double taps = 1;
    for (const int64_t k : kernel_shape) taps *= double(k);
    return {.operations = c.out_count() * taps};
  }
  Window window(const RunContext& c) const {
    const Shape &x = c.shape(0), &y = c.out_shape();
    Window w = resolve_window(*this, {x.begin() + 2, x.end()}, kernel_shape, {y.begin() + 2, y.end()});
    if (auto_pad.starts_with("SAME")) leave_out(w);
    return w;
  }
  /// Whether windows of SAME may begin after the first element of the input: only window() resolves these.
  static bool may_leave_out(const WindowAttributes& a) {
    for (size_t d = 0; d < a.strides.size() && d < a.kernel_shape.size() && a.auto_pad.starts_with("SAME"); ++d) {
      const int64_t reach = (a.kernel_shape[d] - 1) * (a.dilations.empty() ? 1 : a.dilations.at(d)) + 1;
      if (a.strides[d] > reach + 1) return true;
    }
    return false;
  }

 private:
  // The formula of SAME for pools, unlike that for convolutions, has no lower limit: if strides are longer than
  // windows, the elements that are left out are divided between both ends.
  static void leave_out(Window& w) {
    for (WindowAxis& a : std::span(w.axes).first(w.rank)) {
      const int64_t total = (a.out - 1) * a.stride + (a.kernel - 1) * a.dilation + 1 - a.in;
      if (total < 0) a.pad_begin = padding_at_begin(total, false);
    }
  }
};

/// The p-norm: the root of the sum of powers.
struct PNorm {
  int64_t p;
  double power(double v) const { return p == 2 ? v * v : p == 1 ? std::abs(v) : std::pow(std::abs(v), double(p)); }
  double root(double sum) const { return p == 2 ? std::sqrt(sum) : p == 1 ? sum : std::pow(sum, 1.0 / double(p)); }
};

/// Calls f(plane of x, plane of y) for each of the N·C planes.
template <typename T, typename F>
void for_each_plane(RunContext& c, const Window& w, F&& f) {
  const int64_t planes = c.shape(0)[0] * c.shape(0)[1];
  for (int64_t i = 0; i < planes; ++i)
    f(c.input<T>(0).data() + i * w.in_pixels(), c.output<T>().data() + i * w.out_pixels());
}

/// The shape [N, C, 1, 1, …] for pools over all spatial axes.
inline void infer_global_pool(InferContext& c) {
  c.set(0, c.dtype(0));
  Shape y = c.shape(0);
  require(y.rank() >= 2, ErrorCode::invalid_argument, "the input has {} axes, expected at least 2", y.rank());
  for (size_t i = 2; i < y.rank(); ++i) y[i] = 1;
  c.set(0, c.dtype(0), y);
}

/// Calls f(plane, pixels) for each of the N·C planes and stores its results.
template <typename T, typename F>
void reduce_planes(RunContext& c, F&& f) {
  const auto y = c.output<T>();
  const size_t pixels = y.empty() ? 0 : c.count(0) / y.size();
  for (size_t i = 0; i < y.size(); ++i) y[i] = f(c.input<T>(0).subspan(i * pixels, pixels));
}

}  // namespace retort::ops
