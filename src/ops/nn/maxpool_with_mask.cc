// com.microsoft.MaxpoolWithMask: the largest element of a window; in each line of the window, elements from the first 0
// of the mask on do not count. The mask of plane p begins at element (p · pixels) mod (planes of the mask), and its
// first element counts only if there is one spatial axis. ONNX Runtime computes it like this, and models rely on it.
#include <limits>

#include "ops/nn/common/pool.h"

namespace retort::ops {
namespace {

struct MaxpoolWithMask : PoolAttributes {
  int64_t storage_order = 0;
  static constexpr std::tuple attributes{
      attr("auto_pad", &MaxpoolWithMask::auto_pad), attr("kernel_shape", &MaxpoolWithMask::kernel_shape),
      attr("pads", &MaxpoolWithMask::pads), attr("storage_order", &MaxpoolWithMask::storage_order),
      attr("strides", &MaxpoolWithMask::strides)};

  void check() const {
    PoolAttributes::check();
    require(kernel_shape.size() <= 3, ErrorCode::not_implemented, "{} spatial axes, up to 3 are there",
            kernel_shape.size());
    for (size_t i = 0; i < pads.size(); ++i)
      require(pads[i] < kernel_shape[i % kernel_shape.size()], ErrorCode::invalid_argument,
              "pads {} are not below kernel_shape {}", to_string(pads), to_string(kernel_shape));
  }
  void infer(InferContext& c) const {
    c.set(0, c.dtype(0));
    const Shape &x = c.shape(0), &mask = c.shape(1);
    bool fits = x.rank() >= 3 && mask.rank() == x.rank();
    for (size_t i = 2; fits && i < x.rank(); ++i) fits = may_equal(x[i], mask[i]);
    require(fits, ErrorCode::invalid_argument, "X of shape {} and a mask of shape {}, which may differ in N and C only",
            c.dims().text(x), c.dims().text(mask));
    c.set(0, c.dtype(0), pooled_shape(c, *this, false));
  }

  template <std::floating_point T>
  void reference(RunContext& c) const {
    const Window w = window(c);
    const int64_t pixels = w.in_pixels(), masks = c.shape(1)[0] * c.shape(1)[1];
    const int64_t planes = c.shape(0)[0] * c.shape(0)[1];
    require(planes == 0 || masks > 0, ErrorCode::invalid_argument, "a mask of shape {} for X of shape {}",
            to_string(c.shape(1)), to_string(c.shape(0)));
    c.parallel().for_each(size_t(planes), [&](size_t plane, int) {
      const int64_t first = int64_t(plane) * pixels;
      const int32_t* mask = c.input<int32_t>(1).data() + first % masks;
      const T* x = c.input<T>(0).data() + first;
      T* y = c.output<T>().data() + int64_t(plane) * w.out_pixels();
      for_each_position(w, c.parallel(),
                        [&](int64_t p, std::span<const int64_t> at) { y[p] = largest(w, at, x, mask); });
    });
  }

 private:
  template <typename T>
  static T largest(const Window& w, std::span<const int64_t> at, const T* x, const int32_t* mask) {
    const int64_t line = w.axes[w.rank - 1].kernel;
    T most = std::numeric_limits<T>::lowest();
    int64_t ended = -1;  // the line of the window in which a 0 was found
    for_each_tap(w, at, [&](int64_t tap, int64_t pixel) {
      if (tap / line == ended) return;
      if (mask[pixel] == 0 && (pixel > 0 || w.rank == 1))
        ended = tap / line;
      else if (x[pixel] > most)
        most = x[pixel];
    });
    return most;
  }
};

}  // namespace

extern const OpDef op_maxpool_with_mask;
constinit const OpDef op_maxpool_with_mask = define<MaxpoolWithMask>({
    .name = "MaxpoolWithMask",
    .domain = "com.microsoft",
    .since = {1},
    .inputs = {"X: T", "M: int32"},
    .outputs = {"Y: T"},
    .types = types({DType::f32}),
});

}  // namespace retort::ops
