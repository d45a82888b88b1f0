// Sliding windows over the spatial axes of [N, C, D1, D2, …], shared by convolutions and pools.
#pragma once
#include <algorithm>
#include <array>
#include <span>
#include <string>
#include <vector>

#include "ops/op.h"

namespace retort::ops {

/// The attributes that ONNX convolutions and pools have in common. Empty lists mean 1 (pads: 0) for each axis.
struct WindowAttributes {
  std::string auto_pad = "NOTSET";
  std::vector<int64_t> dilations, kernel_shape, pads, strides;

  static constexpr std::tuple window_attributes{
      attr("auto_pad", &WindowAttributes::auto_pad), attr("dilations", &WindowAttributes::dilations),
      attr("kernel_shape", &WindowAttributes::kernel_shape), attr("pads", &WindowAttributes::pads),
      attr("strides", &WindowAttributes::strides)};
  /// Throws invalid_argument on negative numbers, lists of different lengths or an unknown auto_pad.
  void check() const;
};

/// One spatial axis with all attributes resolved. Element k of the window at output position o reads at(o, k).
struct WindowAxis {
  int64_t in = 1, out = 1, kernel = 1, stride = 1, dilation = 1, pad_begin = 0, pad_end = 0;
  int64_t at(int64_t o, int64_t k) const { return o * stride - pad_begin + k * dilation; }
  bool inside(int64_t i) const { return i >= 0 && i < in; }
};

inline constexpr size_t kMaxSpatial = 6;

struct Window {
  size_t rank = 0;
  std::array<WindowAxis, kMaxSpatial> axes;

  int64_t in_pixels() const;
  int64_t out_pixels() const;
  int64_t taps() const;  ///< number of elements in one window
  std::span<const WindowAxis> spatial() const { return {axes.data(), rank}; }
};

/// Output extent of spatial axis `axis`. `kernel` may be symbolic. With `ceil` the last window may extend beyond the
/// end, but must begin inside the input or its left padding.
Dim window_extent(DimTable& dims, const WindowAttributes& a, size_t axis, Dim in, Dim kernel, bool ceil);

/// [N, C, spatial extents of x pooled by the window]; the kernel is that of the attributes.
Shape pooled_shape(InferContext& c, const WindowAttributes& a, bool ceil);

/// [N, M, spatial extents of x convolved by the window] for x = input 0 and weights [M, C/group, k1, …]. Throws
/// invalid_argument if the shapes do not match.
Shape convolved_shape(InferContext& c, const WindowAttributes& a, int64_t group, size_t weights = 1);

/// The cost of a convolution with weights [M, C/group, k1, …] in input `weights`.
inline Cost convolution_cost(const CostContext& c, size_t weights, bool biased) {
  return {.multiply_adds = c.out_count() * per(c.count(weights), c.extent(weights, 0)),
          .operations = biased ? c.out_count() : 0};
}
/// The cost of a transposed convolution with weights [C, M/group, k1, …] in input 1.
inline Cost transposed_convolution_cost(const CostContext& c, bool biased) {
  const double products = c.count(0) == 0 ? 0 : c.count(0) * per(c.count(1), c.extent(1, 0));  // also of no channels
  return {.multiply_adds = products, .operations = biased ? c.out_count() : 0};
}

/// Resolves all attributes for concrete spatial extents (without N and C). Throws not_implemented for more than
/// kMaxSpatial axes.
Window resolve_window(const WindowAttributes& a, std::span<const int64_t> in, std::span<const int64_t> kernel,
                      std::span<const int64_t> out);

/// The same window with its only long axis as the last of two: an image that is one pixel wide, or has one axis, is an
/// image of one line.
Window as_line(Window w);

/// How much of the total padding lies at the beginning. Elements that long strides leave out are negative padding; if
/// their number is odd, one more is left out at the end.
inline int64_t padding_at_begin(int64_t total, bool lower) {
  return lower && total > 0 ? total - total / 2 : total / 2;
}

/// Calls f(tap, input pixel) for each element of the window at `position` (output coordinates) that lies inside the
/// input.
template <typename F>
void for_each_tap(const Window& w, std::span<const int64_t> position, F&& f) {
  std::array<int64_t, kMaxSpatial> k{};
  const int64_t taps = w.taps();
  for (int64_t tap = 0; tap < taps; ++tap) {
    int64_t pixel = 0;
    bool inside = true;
    for (size_t d = 0; d < w.rank && inside; ++d) {
      const int64_t i = w.axes[d].at(position[d], k[d]);
      inside = w.axes[d].inside(i);
      pixel = pixel * w.axes[d].in + i;
    }
    if (inside) f(tap, pixel);
    for (size_t d = w.rank; d-- > 0;) {
      if (++k[d] < w.axes[d].kernel) break;
      k[d] = 0;
    }
  }
}

/// Visits the elements of the windows at output positions [p, p + n), all on one line of the innermost axis. Calls
/// f(tap, pixel, first, last) if the elements for positions p + first to p + last - 1 lie inside the input. `pixel` is
/// the element for position p, even if that lies outside; the elements of neighbours are one stride of the innermost
/// axis apart.
template <typename F>
void for_each_tap_of_line(const Window& w, int64_t p, int64_t n, F&& f) {
  const size_t outer = w.rank == 0 ? 0 : w.rank - 1;
  const WindowAxis& inner = w.axes[outer];
  std::array<int64_t, kMaxSpatial> at{}, k{};
  int64_t rest = p / inner.out;
  for (size_t d = outer; d-- > 0; rest /= w.axes[d].out) at[d] = rest % w.axes[d].out;
  const auto steps = [&](int64_t length) { return inner.stride == 1 ? length : (length - 1) / inner.stride + 1; };
  for (int64_t tap = 0; tap < w.taps(); tap += inner.kernel) {
    int64_t line = 0;
    bool inside = true;
    for (size_t d = 0; d < outer && inside; ++d) {
      const int64_t i = w.axes[d].at(at[d], k[d]);
      inside = w.axes[d].inside(i);
      line = line * w.axes[d].in + i;
    }
    for (int64_t x = 0; x < inner.kernel && inside; ++x) {
      const int64_t start = inner.at(p % inner.out, x);
      const int64_t first = start < 0 ? steps(-start) : 0;
      const int64_t last = start < inner.in ? std::min(steps(inner.in - start), n) : 0;
      if (first < last) f(tap + x, line * inner.in + start, first, last);
    }
    for (size_t d = outer; d-- > 0; k[d] = 0) {
      if (++k[d] < w.axes[d].kernel) break;
    }
  }
}

/// Divides output positions [begin, end) into runs of at most `most` on one line: f(first, count).
template <typename F>
void for_each_line(const Window& w, int64_t begin, int64_t end, int64_t most, F&& f) {
  const int64_t length = w.axes[w.rank == 0 ? 0 : w.rank - 1].out;
  for (int64_t p = begin; p < end;) {
    const int64_t n = std::min({end - p, length - p % length, most});
    f(p, n);
    p += n;
  }
}

/// Calls f(linear index, coordinates) for all output positions in order, until `run` is cancelled.
template <typename F>
void for_each_position(const Window& w, const Parallel& run, F&& f) {
  std::array<int64_t, kMaxSpatial> p{};
  const int64_t pixels = w.out_pixels();
  for (int64_t i = 0; i < pixels && !run.cancelled(); ++i) {
    f(i, std::span<const int64_t>(p.data(), w.rank));
    for (size_t d = w.rank; d-- > 0;) {
      if (++p[d] < w.axes[d].out) break;
      p[d] = 0;
    }
  }
}

}  // namespace retort::ops
