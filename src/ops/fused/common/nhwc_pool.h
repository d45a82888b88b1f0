// Shared by the channels-last pools.
#pragma once
#include "base/function_ref.h"
#include "ops/nn/common/pool_kernel.h"

namespace retort::ops {

/// Infers the shape for [N, D, H, W, C], unless its elements are codes, [N, H, W, C] or [N, L, C]: the same with pooled
/// spatial axes.
inline void infer_nhwc_pool(InferContext& c, const PoolAttributes& a) {
  c.set(0, c.dtype(0));
  const Shape& x = c.shape(0);
  const size_t most = c.dtype(0) == DType::f32 ? 5 : 4;
  require(x.rank() >= 3 && x.rank() <= most && a.kernel_shape.size() + 2 == x.rank(), ErrorCode::invalid_argument,
          "input of rank {}, kernel of {} axes", x.rank(), a.kernel_shape.size());
  Shape y = x;
  for (size_t d = 0; d + 2 < x.rank(); ++d)
    y[d + 1] = window_extent(c.dims(), a, d, x[d + 1], a.kernel_shape[d], a.ceil_mode);
  c.set(0, c.dtype(0), y);
}

/// The pool of a volume: that of its planes, then that of the results along the depth. Both are exact, since the taps of
/// a window that are inside are a product of those of its axes. `memory` has the results of planes_bytes().
struct VolumePool {
  explicit VolumePool(const kernels::PoolArgs& args) : planes(args), depth(args) {
    kernels::PoolShape &p = planes.shape, &d = depth.shape;
    p.batch *= d.depth.in;
    d.height = d.depth;
    d.width = {.in = p.height.out * p.width.out, .out = p.height.out * p.width.out};
    p.depth = d.depth = {};
    flat = is_unit(d.height), deep = is_unit(p.height) && is_unit(p.width);
  }
  static bool is_unit(const kernels::PoolAxis& a) { return a.kernel == 1 && a.in == a.out && a.pad_begin == 0; }
  size_t planes_bytes() const {
    const kernels::PoolShape& p = planes.shape;
    return flat || deep ? 0 : p.batch * p.height.out * p.width.out * p.channels * sizeof(float);
  }
  void run(float* memory, FunctionRef<void(const kernels::PoolArgs&)> pool) {
    if (!flat && !deep) {
      planes.output = memory, depth.input = memory;
      planes.shape.out_pixel_stride = depth.shape.in_pixel_stride = planes.shape.channels;
    }
    if (!deep || flat) pool(planes);
    if (!flat) pool(depth);
  }

  kernels::PoolArgs planes, depth;
  bool flat, deep;  ///< there is nothing to do along the depth, or in the planes
};

/// An operator is a struct `Op : NhwcPool<Op>` with
///   kernels::PoolArgs arguments(const RunContext&) const;
template <typename Op>
struct NhwcPool : PoolAttributes {
  void infer(InferContext& c) const { infer_nhwc_pool(c, *this); }
  bool reads_rows(const RunContext&, size_t) const { return true; }
  bool writes_rows(const RunContext&) const { return true; }
  size_t scratch(const RunContext& c) const {
    return c.shape(0).rank() == 5 ? VolumePool(op().arguments(c)).planes_bytes() : 0;
  }
  void fast(RunContext& c, std::type_identity<float>) const {
    VolumePool(op().arguments(c)).run(static_cast<float*>(c.scratch()), [&](const kernels::PoolArgs& args) {
      kernels::pool_nhwc(args, c.parallel());
    });
  }
  template <std::same_as<float> T>
  void reference(RunContext& c) const {
    VolumePool pool(op().arguments(c));
    std::vector<float> memory(pool.planes_bytes() / sizeof(float));
    pool.run(memory.data(), [](const kernels::PoolArgs& args) { kernels::pool_reference(args, false); });
  }

 private:
  const Op& op() const { return static_cast<const Op&>(*this); }
};

}  // namespace retort::ops
