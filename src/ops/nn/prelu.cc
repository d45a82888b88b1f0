// PRelu: y = x for x >= 0, slope * x below zero; slope broadcasts to x.
#include "ops/math/binary.h"

namespace retort::ops {
namespace {

struct PRelu {
  void infer(InferContext& c) const {
    c.set(0, c.dtype(0));
    c.set(0, c.dtype(0), c.broadcast({0, 1}));
  }
  template <typename T>
  void reference(RunContext& c) const {
    const auto x = c.input<T>(0), slope = c.input<T>(1);
    const auto y = c.output<T>();
    for_each_broadcast(c.out_shape(), c.shape(0), c.shape(1),
                       [&](size_t i, size_t ix, size_t is) { y[i] = x[ix] < T(0) ? slope[is] * x[ix] : x[ix]; });
  }
  void fast(RunContext& c, std::type_identity<float>) const { run_binary<float>(kernels::Binary::prelu, c); }
};

}  // namespace

extern const OpDef op_prelu;
constinit const OpDef op_prelu = define<PRelu>({
    .name = "PRelu",
    .since = {1, 6, 7, 9, 16},
    .inputs = {"X: T", "slope: T"},
    .outputs = {"Y: T"},
    .types = kFloats | types({DType::i32, DType::i64, DType::u32, DType::u64}),
    .traits = kElementwise | kMayAliasInput0,
});

}  // namespace retort::ops
