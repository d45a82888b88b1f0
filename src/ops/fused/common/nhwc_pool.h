// What the channels-last pools share.
#pragma once
#include "kernels/pool/pool.h"
#include "ops/nn/common/pool.h"

namespace retort::ops {

/// [N, H, W, C] (or [N, L, C]) → the same with pooled spatial axes.
inline void infer_nhwc_pool(InferContext& c, const PoolAttributes& a) {
  c.set(0, c.dtype(0));
  const Shape& x = c.shape(0);
  require((x.rank() == 3 || x.rank() == 4) && a.kernel_shape.size() + 2 == x.rank(), ErrorCode::invalid_argument,
          "input of rank {}, kernel of {} axes", x.rank(), a.kernel_shape.size());
  Shape y = x;
  for (size_t d = 0; d + 2 < x.rank(); ++d)
    y[d + 1] = window_extent(c.dims(), a, d, x[d + 1], a.kernel_shape[d], a.ceil_mode);
  c.set(0, c.dtype(0), y);
}

inline kernels::PoolArgs nhwc_pool_arguments(const RunContext& c, const PoolAttributes& a, kernels::PoolKind kind) {
  const Shape &x = c.shape(0), &y = c.out_shape();
  const Window w = resolve_window(a, {x.begin() + 1, x.end() - 1}, a.kernel_shape, {y.begin() + 1, y.end() - 1});
  const bool padded = a.auto_pad != "VALID";  // the kernel counts padding itself: what the model asked for, not more
  kernels::PoolArgs args;
  args.kind = kind;
  args.input = static_cast<const float*>(c.data(0));
  args.output = static_cast<float*>(c.out_data());
  kernels::PoolShape& s = args.shape;
  s.batch = size_t(x[0]);
  s.channels = s.in_pixel_stride = s.out_pixel_stride = size_t(x.back());
  size_t* const fields[][7] = {
      {&s.in_h, &s.out_h, &s.kernel_h, &s.stride_h, &s.dilation_h, &s.pad_top, &s.pad_bottom},
      {&s.in_w, &s.out_w, &s.kernel_w, &s.stride_w, &s.dilation_w, &s.pad_left, &s.pad_right},
  };
  for (size_t d = 0; d < w.rank; ++d) {
    const WindowAxis& axis = w.axes[d];
    const bool explicit_pads = padded && !a.auto_pad.starts_with("SAME");
    const int64_t end = !explicit_pads ? (padded ? axis.pad_end : 0) : a.pads.empty() ? 0 : a.pads[d + w.rank];
    const int64_t values[] = {axis.in, axis.out, axis.kernel, axis.stride, axis.dilation, axis.pad_begin, end};
    for (size_t i = 0; i < 7; ++i) *fields[d + (w.rank == 1)][i] = size_t(values[i]);
  }
  return args;
}

}  // namespace retort::ops
