#include "ops/nn/common/window.h"

#include <utility>

#include "base/checked.h"

namespace retort::ops {
namespace {

constexpr int64_t kMaxAttribute = int64_t(1) << 31;  // products of two attributes stay far from overflow

int64_t item(const std::vector<int64_t>& list, size_t i, int64_t otherwise) {
  return list.empty() ? otherwise : list.at(i);
}

void check_list(std::string_view name, const std::vector<int64_t>& list, int64_t lowest) {
  for (int64_t v : list)
    require(v >= lowest && v <= kMaxAttribute, ErrorCode::invalid_argument,
            "attribute '{}' holds {}; set it to a number from {} to {}", name, v, lowest, kMaxAttribute);
}

void check_rank(std::string_view name, const std::vector<int64_t>& list, size_t wanted) {
  require(list.empty() || list.size() == wanted, ErrorCode::invalid_argument, "attribute '{}' has {} entries, not {}",
          name, list.size(), wanted);
}

void check_ranks(const WindowAttributes& a, size_t spatial) {
  check_rank("dilations", a.dilations, spatial);
  check_rank("kernel_shape", a.kernel_shape, spatial);
  check_rank("strides", a.strides, spatial);
  check_rank("pads", a.pads, 2 * spatial);
}

bool same(const WindowAttributes& a) { return a.auto_pad.starts_with("SAME"); }

}  // namespace

void WindowAttributes::check() const {
  require(auto_pad == "NOTSET" || auto_pad == "VALID" || auto_pad == "SAME_UPPER" || auto_pad == "SAME_LOWER" ||
              auto_pad.empty(),
          ErrorCode::invalid_argument, "unknown auto_pad '{}'; use NOTSET, VALID, SAME_UPPER or SAME_LOWER", auto_pad);
  check_list("dilations", dilations, 1);
  check_list("kernel_shape", kernel_shape, 1);
  check_list("strides", strides, 1);
  check_list("pads", pads, 0);
}

int64_t Window::in_pixels() const {
  int64_t n = 1;
  for (const WindowAxis& a : spatial()) n *= a.in;
  return n;
}

int64_t Window::out_pixels() const {
  int64_t n = 1;
  for (const WindowAxis& a : spatial()) n *= a.out;
  return n;
}

int64_t Window::taps() const {
  int64_t n = 1;
  for (const WindowAxis& a : spatial()) n *= a.kernel;
  return n;
}

Dim window_extent(DimTable& dims, const WindowAttributes& a, size_t axis, Dim in, Dim kernel, bool ceil) {
  const int64_t stride = item(a.strides, axis, 1);
  if (same(a)) return dims.div(dims.add(in, stride - 1), stride);
  const bool padded = a.auto_pad != "VALID" && !a.pads.empty();
  const int64_t begin = padded ? a.pads.at(axis) : 0;
  const int64_t end = padded ? a.pads.at(axis + a.pads.size() / 2) : 0;
  const Dim window = dims.add(dims.mul(item(a.dilations, axis, 1), dims.sub(kernel, 1)), 1);
  const Dim room = dims.sub(dims.add(in, begin + end), window);
  if (!ceil || stride == 1) return dims.add(dims.div(room, stride), 1);
  const Dim up = dims.add(dims.div(dims.add(room, stride - 1), stride), 1);
  return dims.min(up, dims.add(dims.div(dims.add(in, begin - 1), stride), 1));
}

Shape pooled_shape(InferContext& c, const WindowAttributes& a, bool ceil) {
  const Shape& x = c.shape(0);
  require(x.rank() >= 2, ErrorCode::invalid_argument, "input of rank {} has no spatial axes", x.rank());
  check_ranks(a, x.rank() - 2);
  Shape y = x;
  for (size_t i = 2; i < x.rank(); ++i) y[i] = window_extent(c.dims(), a, i - 2, x[i], a.kernel_shape[i - 2], ceil);
  return y;
}

Shape convolved_shape(InferContext& c, const WindowAttributes& a, int64_t group, size_t weights) {
  const Shape &x = c.shape(0), &w = c.shape(weights);
  if (!(x.rank() >= 2 && w.rank() == x.rank()))
    fail(ErrorCode::invalid_argument, "shapes {} and {} do not match", c.dims().text(x), c.dims().text(w));
  check_ranks(a, x.rank() - 2);
  if (is_known(x[1]) && is_known(w[1]) && is_known(w[0])) {
    const int64_t taken = checked_mul(w[1], group, "the channels of all groups");
    if (!(x[1] == taken && w[0] % group == 0))
      fail(ErrorCode::invalid_argument, "an input of {} channels, but weights {} with group {} need {}", x[1],
           c.dims().text(w), group, taken);
  }
  Shape y = x;
  y[1] = w[0];
  for (size_t i = 2; i < x.rank(); ++i) {
    if (w[i] == 0)
      fail(ErrorCode::invalid_argument, "weights of shape {} have windows without elements", c.dims().text(w));
    y[i] = window_extent(c.dims(), a, i - 2, x[i], w[i], false);
    if (!(y[i] != 0 || x[i] == 0 || !is_known(x[i])))
      fail(ErrorCode::invalid_argument, "windows of weights {} do not fit into an image of shape {} with its pads",
           c.dims().text(w), c.dims().text(x));
  }
  return y;
}

Window resolve_window(const WindowAttributes& a, std::span<const int64_t> in, std::span<const int64_t> kernel,
                      std::span<const int64_t> out) {
  require(in.size() <= kMaxSpatial, ErrorCode::not_implemented, "{} spatial axes", in.size());
  require(in.size() == kernel.size(), ErrorCode::invalid_argument, "the kernel has {} axes for {} spatial axes",
          kernel.size(), in.size());
  check_ranks(a, in.size());
  if (!(a.kernel_shape.empty() || std::ranges::equal(a.kernel_shape, kernel)))
    fail(ErrorCode::invalid_argument, "kernel_shape is {}, but the weights have {}; leave out kernel_shape",
         to_string(a.kernel_shape), to_string(kernel));
  Window w;
  w.rank = in.size();
  for (size_t i = 0; i < w.rank; ++i) {
    WindowAxis& x = w.axes[i];
    x = {.in = in[i], .out = out[i], .kernel = kernel[i]};
    x.stride = item(a.strides, i, 1);
    x.dilation = item(a.dilations, i, 1);
    const int64_t reach = (x.out - 1) * x.stride + (x.kernel - 1) * x.dilation + 1;
    if (same(a)) {
      const int64_t total = std::max<int64_t>(reach - x.in, 0);
      x.pad_begin = padding_at_begin(total, a.auto_pad == "SAME_LOWER");
    } else if (a.auto_pad != "VALID" && !a.pads.empty()) {
      x.pad_begin = a.pads[i];
    }
    x.pad_end = std::max<int64_t>(reach - x.in - x.pad_begin, 0);
  }
  return w;
}

Window as_line(Window w) {
  const auto trivial = [](const WindowAxis& a) { return a.in == 1 && a.out == 1 && a.kernel == 1 && a.pad_begin == 0; };
  if (w.rank == 1 || (w.rank == 2 && trivial(w.axes[1]))) {
    w.rank = 2;
    w.axes[1] = std::exchange(w.axes[0], {});
  }
  return w;
}

}  // namespace retort::ops
