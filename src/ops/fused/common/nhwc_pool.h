// Shared by the channels-last pools.
#pragma once
#include "ops/nn/common/pool_kernel.h"

namespace retort::ops {

struct NhwcPool : PoolAttributes {
  bool reads_rows(const RunContext&, size_t) const { return true; }
  bool writes_rows(const RunContext&) const { return true; }
};

/// Infers the shape for [N, H, W, C] or [N, L, C]: the same with pooled spatial axes.
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

}  // namespace retort::ops
