// Converts the pools of up to three spatial axes to arguments of kernels.
#pragma once
#include "kernels/pool/pool.h"
#include "ops/nn/common/pool.h"

namespace retort::ops {

/// Arguments for one to three spatial axes, channels first or last; the kernels know three only with channels first.
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
  kernels::PoolAxis* const axes[] = {&s.depth, &s.height, &s.width};
  for (size_t d = 0; d < w.rank; ++d) {
    const WindowAxis& axis = w.axes[d];
    const bool explicit_pads = padded && !a.auto_pad.starts_with("SAME");
    const int64_t end = !explicit_pads ? (padded ? axis.pad_end : 0) : a.pads.empty() ? 0 : a.pads[d + w.rank];
    *axes[d + 3 - w.rank] = {.in = size_t(axis.in),
                             .out = size_t(axis.out),
                             .kernel = size_t(axis.kernel),
                             .stride = size_t(axis.stride),
                             .dilation = size_t(axis.dilation),
                             .pad_begin = size_t(axis.pad_begin),
                             .pad_end = size_t(end)};
  }
  return args;
}

}  // namespace retort::ops
