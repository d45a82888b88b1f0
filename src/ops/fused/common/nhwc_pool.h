// Shared by the channels-last pools.
#pragma once
#include "ops/nn/common/pool_kernel.h"

namespace retort::ops {

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

/// An operator is a struct `Op : NhwcPool<Op>` with
///   kernels::PoolArgs arguments(const RunContext&) const;
template <typename Op>
struct NhwcPool : PoolAttributes {
  void infer(InferContext& c) const { infer_nhwc_pool(c, *this); }
  bool reads_rows(const RunContext&, size_t) const { return true; }
  bool writes_rows(const RunContext&) const { return true; }
  void fast(RunContext& c, std::type_identity<float>) const { kernels::pool_nhwc(op().arguments(c), c.parallel()); }
  template <std::same_as<float> T>
  void reference(RunContext& c) const {
    kernels::pool_reference(op().arguments(c), false);
  }

 private:
  const Op& op() const { return static_cast<const Op&>(*this); }
};

}  // namespace retort::ops
