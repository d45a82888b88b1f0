// Converts the pools of up to three spatial axes to arguments of kernels.
#pragma once
#include "kernels/pool/pool.h"
#include "ops/nn/common/pool.h"

namespace retort::ops {

/// Arguments for one or two spatial axes, channels first or last, or three, channels first.
inline kernels::PoolArgs pool_arguments(const RunContext& c, const PoolAttributes& a, kernels::PoolKind kind,
                                        bool channels_last) {
  const Shape &x = c.shape(0), &y = c.out_shape();
  const size_t first = channels_last ? 1 : 2, spatial = x.rank() - 2;
  const Window w = resolve_window(a, {x.begin() + first, x.begin() + first + spatial}, a.kernel_shape,
                                  {y.begin() + first, y.begin() + first + spatial});
  const bool padded = a.auto_pad != "VALID";  // the kernel itself counts only the padding that the model asked for
  kernels::PoolArgs args;
  args.kind = kind;
  args.input = static_cast<const float*>(c.data(0));
  args.output = static_cast<float*>(c.out_data());
  kernels::PoolShape& s = args.shape;
  s.batch = size_t(x[0]);
  s.channels = size_t(channels_last ? x.back() : x[1]);
  s.in_pixel_stride = c.row_step(0);
  s.out_pixel_stride = c.out_row_step();
  size_t* const fields[][7] = {
      {&s.in_d, &s.out_d, &s.kernel_d, &s.stride_d, &s.dilation_d, &s.pad_front, &s.pad_back},
      {&s.in_h, &s.out_h, &s.kernel_h, &s.stride_h, &s.dilation_h, &s.pad_top, &s.pad_bottom},
      {&s.in_w, &s.out_w, &s.kernel_w, &s.stride_w, &s.dilation_w, &s.pad_left, &s.pad_right},
  };
  for (size_t d = 0; d < w.rank; ++d) {
    const WindowAxis& axis = w.axes[d];
    const bool explicit_pads = padded && !a.auto_pad.starts_with("SAME");
    const int64_t end = !explicit_pads ? (padded ? axis.pad_end : 0) : a.pads.empty() ? 0 : a.pads[d + w.rank];
    const int64_t values[] = {axis.in, axis.out, axis.kernel, axis.stride, axis.dilation, axis.pad_begin, end};
    for (size_t i = 0; i < 7; ++i) *fields[d + 3 - w.rank][i] = size_t(values[i]);
  }
  return args;
}

}  // namespace retort::ops
