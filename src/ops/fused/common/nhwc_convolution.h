// The attributes and the geometry of convolutions of channels-last images with weights [M, C/group, kernel…], one or two
// spatial axes; three in single precision.
#pragma once
#include "kernels/conv/conv.h"
#include "ops/fused/common/volume.h"
#include "ops/nn/common/window.h"

namespace retort::ops {

/// Throws invalid_argument if an optional operand has another number of elements.
inline void check_operand(const RunContext& c, size_t i, size_t elements) {
  if (c.has(i) && c.count(i) != elements)
    fail(ErrorCode::invalid_argument, "input {} has shape {}, which does not match", i, to_string(c.shape(i)));
}

struct NhwcConvolution : WindowAttributes {
  int64_t group = 1;
  bool input_nchw = false;  ///< the input, but not the output, has its channels first
  static constexpr auto convolution_attributes = std::tuple_cat(
      window_attributes,
      std::tuple{attr("group", &NhwcConvolution::group), attr("input_nchw", &NhwcConvolution::input_nchw)});

  void check() const {
    WindowAttributes::check();
    require(group > 0, ErrorCode::invalid_argument, "group is {}", group);
  }

  /// The shape of the result for image `x`, which has up to `axes` spatial axes, and weights `w`. Throws
  /// invalid_argument if they do not match.
  Shape convolved_shape(InferContext& c, const Shape& x, const Shape& w, size_t axes = 2) const {
    const size_t rank = x.rank();
    if (!(rank >= 3 && rank <= axes + 2 && w.rank() == rank && all_known(w)))
      fail(ErrorCode::invalid_argument, "shapes {} and {} do not match", c.dims().text(x), c.dims().text(w));
    const Dim channels = x[input_nchw ? 1 : rank - 1];
    if (!((!is_known(channels) || channels == w[1] * group) && w[0] % group == 0))
      fail(ErrorCode::invalid_argument, "an input of {} channels, but weights {} with group {} need {}",
           c.dims().text(channels), to_string(w), group, w[1] * group);
    Shape y = x;
    y[rank - 1] = w[0];
    for (size_t d = 0; d + 2 < rank; ++d) y[d + 1] = window_extent(c.dims(), *this, d, spatial(x, d), w[d + 2], false);
    return y;
  }

  /// The geometry for image `x`, weights `w` and result `y`; extents that are not known before the first run are 0.
  kernels::ConvShape geometry(const Shape& x, const Shape& w, const Shape* y) const {
    kernels::ConvShape s;
    const auto known = [](Dim d) { return is_known(d) ? size_t(d) : 0; };
    const size_t flat = x.rank() == 3;  // with one spatial axis, it is the width
    s.batch = known(x[0]);
    s.in_c = size_t(w[1] * group);
    s.out_c = size_t(w[0]);
    s.groups = size_t(group);
    s.input_is_nchw = input_nchw;
    s.in_pixel_stride = s.in_c;
    s.out_pixel_stride = s.out_c;
    const Window win = window(x, w, y);
    if (win.rank == 3) {
      set_volume(s, win, volume_way(*this, w, group));
      return s;
    }
    size_t* const fields[][6] = {
        {&s.in_h, &s.out_h, &s.kernel_h, &s.stride_h, &s.dilation_h, &s.pad_top},
        {&s.in_w, &s.out_w, &s.kernel_w, &s.stride_w, &s.dilation_w, &s.pad_left},
    };
    for (size_t d = 0; d < win.rank; ++d) {
      const WindowAxis& a = win.axes[d];
      const int64_t values[] = {a.in, a.out, a.kernel, a.stride, a.dilation, a.pad_begin};
      for (size_t i = 0; i < 6; ++i) *fields[d + flat][i] = size_t(values[i]);
    }
    return s;
  }
  /// The windows of `geometry`.
  Window window(const Shape& x, const Shape& w, const Shape* y) const {
    const auto known = [](Dim d) { return is_known(d) ? d : 0; };
    Shape in, out, kernel;
    for (size_t d = 0; d + 2 < x.rank(); ++d) {
      in.push_back(known(spatial(x, d)));
      out.push_back(y ? (*y)[d + 1] : known_extent(d, spatial(x, d), w[d + 2]));
      kernel.push_back(w[d + 2]);
    }
    return resolve_window(*this, in, kernel, out);
  }

 private:
  Dim spatial(const Shape& x, size_t d) const { return x[d + (input_nchw ? 2 : 1)]; }
  // Output extent of a spatial axis; 0 if that of the input is not known.
  int64_t known_extent(size_t d, Dim in, int64_t kernel) const {
    DimTable none;
    return is_known(in) ? window_extent(none, *this, d, in, kernel, false) : 0;
  }
};

}  // namespace retort::ops
