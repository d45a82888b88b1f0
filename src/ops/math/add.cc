// Add: c = a + b with numpy broadcasting. Integer content is propagated, so that shape arithmetic stays symbolic.
#include "ops/elementwise.h"

namespace retort::ops {
namespace {

struct Add {
  void infer(InferContext& c) const {
    c.set(0, c.dtype(0));
    c.set(0, c.dtype(0), c.broadcast({0, 1}));
    const auto a = c.try_value(0), b = c.try_value(1);
    if (!a || !b) return;
    std::vector<Dim> sum;
    const Shape out = c.broadcast({0, 1});
    sum.resize(element_count(out));
    for_each_broadcast(out, c.shape(0), c.shape(1),
                       [&](size_t i, size_t ia, size_t ib) { sum[i] = c.dims().add((*a)[ia], (*b)[ib]); });
    c.set_value(0, sum);
  }
  template <typename T>
  void reference(RunContext& c) const {
    const auto a = c.input<T>(0), b = c.input<T>(1);
    const auto y = c.output<T>();
    for_each_broadcast(c.out_shape(), c.shape(0), c.shape(1),
                       [&](size_t i, size_t ia, size_t ib) { y[i] = a[ia] + b[ib]; });
  }
};

}  // namespace

extern const OpDef op_add;
constinit const OpDef op_add = define<Add>({
    .name = "Add",
    .since = {1, 6, 7, 13, 14},
    .inputs = {"A: T", "B: T"},
    .outputs = {"C: T"},
    .types = kNumeric,
    .traits = kElementwise | kMayAliasInput0,
});

}  // namespace retort::ops
