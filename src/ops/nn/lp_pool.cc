// LpPool: p-norm of a window; padding counts as zeros.
#include "ops/nn/common/pool.h"

namespace retort::ops {
namespace {

struct LpPool : PoolAttributes {
  int64_t p = 2;
  static constexpr auto attributes = std::tuple_cat(pool_attributes, std::tuple{attr("p", &LpPool::p)});

  void infer(InferContext& c) const {
    c.set(0, c.dtype(0));
    c.set(0, c.dtype(0), pooled_shape(c, *this, ceil_mode));
  }

  template <std::floating_point T>
  void reference(RunContext& c) const {
    const Window w = window(c);
    const PNorm norm{p};
    for_each_plane<T>(c, w, [&](const T* x, T* y) {
      for_each_position(w, c.parallel(), [&](int64_t position, std::span<const int64_t> at) {
        double sum = 0;
        for_each_tap(w, at, [&](int64_t, int64_t pixel) { sum += norm.power(double(x[pixel])); });
        y[position] = T(norm.root(sum));
      });
    });
  }
};

}  // namespace

extern const OpDef op_lp_pool;
constinit const OpDef op_lp_pool = define<LpPool>({
    .name = "LpPool",
    .since = {1, 2, 11, 18, 22},
    .inputs = {"X: T"},
    .outputs = {"Y: T"},
    .types = kFloats,
});

}  // namespace retort::ops
