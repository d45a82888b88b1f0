// ConvTranspose: every input pixel adds its weights [C, M/group, k1, …] to the output, `strides` apart.
#include <algorithm>

#include "ops/nn/common/window.h"

namespace retort::ops {
namespace {

struct ConvTranspose : WindowAttributes {
  int64_t group = 1;
  std::vector<int64_t> output_padding, output_shape;
  static constexpr auto attributes =
      std::tuple_cat(window_attributes, std::tuple{attr("group", &ConvTranspose::group),
                                                   attr("output_padding", &ConvTranspose::output_padding),
                                                   attr("output_shape", &ConvTranspose::output_shape)});

  void check() const {
    WindowAttributes::check();
    require(group > 0, ErrorCode::invalid_argument, "group is {}", group);
    for (int64_t v : output_padding) require(v >= 0, ErrorCode::invalid_argument, "output_padding of {}", v);
  }

  int64_t stride(size_t d) const { return strides.empty() ? 1 : strides.at(d); }
  int64_t padding(size_t d) const { return output_padding.empty() ? 0 : output_padding.at(d); }
  bool same() const { return auto_pad.starts_with("SAME"); }

  // What the output would be without padding.
  Dim full_extent(DimTable& dims, size_t d, Dim in, Dim kernel) const {
    const Dim window = dims.add(dims.mul(dilations.empty() ? 1 : dilations.at(d), dims.sub(kernel, 1)), 1);
    return dims.add(dims.add(dims.mul(stride(d), dims.sub(in, 1)), padding(d)), window);
  }

  void infer(InferContext& c) const {
    c.set(0, c.dtype(0));
    const Shape &x = c.shape(0), &w = c.shape(1);
    require(x.rank() > 2 && w.rank() == x.rank(), ErrorCode::invalid_argument, "shapes {} and {} do not fit",
            c.dims().text(x), c.dims().text(w));
    require(!is_known(x[1]) || !is_known(w[0]) || (x[1] == w[0] && x[1] % group == 0), ErrorCode::invalid_argument,
            "{} channels, weights {}, group {}", x[1], c.dims().text(w), group);
    check_ranks(x.rank() - 2);
    Shape y = x;
    y[1] = c.dims().mul(w[1], group);
    for (size_t d = 0; d + 2 < x.rank(); ++d) {
      const Dim full = full_extent(c.dims(), d, x[d + 2], w[d + 2]);
      const int64_t pad = pads.empty() || auto_pad == "VALID" ? 0 : pads[d] + pads[d + pads.size() / 2];
      y[d + 2] = !output_shape.empty() ? output_shape[d + output_shape.size() - (x.rank() - 2)]
                 : same()              ? c.dims().mul(x[d + 2], stride(d))
                                       : c.dims().sub(full, pad);
    }
    c.set(0, c.dtype(0), y);
  }

  // The window over the *output* whose positions are the input's pixels: a convolution read backwards.
  Window window(const RunContext& c) const {
    const Shape &x = c.shape(0), &w = c.shape(1), &y = c.out_shape();
    WindowAttributes plain = *this;
    plain.auto_pad = "NOTSET";
    Window win = resolve_window(plain, {y.begin() + 2, y.end()}, {w.begin() + 2, w.end()}, {x.begin() + 2, x.end()});
    DimTable none;
    for (size_t d = 0; d < win.rank; ++d) {
      if (output_shape.empty() && !same()) continue;
      const int64_t total = std::max<int64_t>(full_extent(none, d, x[d + 2], w[d + 2]) - y[d + 2], 0);
      win.axes[d].pad_begin = auto_pad == "SAME_UPPER" ? total / 2 : total - total / 2;
    }
    return win;
  }

  template <std::floating_point T>
  void reference(RunContext& c) const {
    const Window win = window(c);
    const int64_t batch = c.shape(0)[0], in_c = c.shape(0)[1], out_c = c.out_shape()[1];
    const int64_t group_in = in_c / group, group_out = out_c / group;
    const int64_t x_px = win.out_pixels(), y_px = win.in_pixels(), taps = win.taps();
    const T *x = c.input<T>(0).data(), *w = c.input<T>(1).data(), *bias = c.optional<T>(2);
    require(!bias || c.count(2) == size_t(out_c), ErrorCode::invalid_argument, "{} biases for {} outputs", c.count(2),
            out_c);
    std::vector<double> plane(size_t(y_px), 0.0);
    for (int64_t n = 0; n < batch; ++n) {
      for (int64_t o = 0; o < out_c; ++o) {
        std::fill(plane.begin(), plane.end(), bias ? double(bias[o]) : 0.0);
        const int64_t first = o / group_out * group_in;
        for_each_position(win, c.parallel(), [&](int64_t p, std::span<const int64_t> at) {
          for_each_tap(win, at, [&](int64_t tap, int64_t pixel) {
            double sum = 0;
            for (int64_t i = first; i < first + group_in; ++i)
              sum += double(x[(n * in_c + i) * x_px + p]) * w[(i * group_out + o % group_out) * taps + tap];
            plane[size_t(pixel)] += sum;
          });
        });
        std::copy(plane.begin(), plane.end(), c.output<T>().data() + (n * out_c + o) * y_px);
      }
    }
  }

 private:
  void check_ranks(size_t spatial) const {
    const auto fits = [&](const std::vector<int64_t>& v, size_t n) { return v.empty() || v.size() == n; };
    require(fits(strides, spatial) && fits(dilations, spatial) && fits(output_padding, spatial) &&
                fits(pads, 2 * spatial) && (output_shape.empty() || output_shape.size() >= spatial),
            ErrorCode::invalid_argument, "attributes do not fit {} spatial axes", spatial);
  }
};

}  // namespace

extern const OpDef op_conv_transpose;
constinit const OpDef op_conv_transpose = define<ConvTranspose>({
    .name = "ConvTranspose",
    .since = {1, 11, 22},
    .inputs = {"X: T", "W: T", "B: T?"},
    .outputs = {"Y: T"},
    .types = kFloats,
});

}  // namespace retort::ops
