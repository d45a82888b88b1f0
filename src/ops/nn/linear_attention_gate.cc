// com.microsoft.LinearAttentionGate: decay = scale · softplus(a + bias) for each head, beta = sigmoid(b).
#include "ops/nn/common/rounded.h"

namespace retort::ops {
namespace {

struct LinearAttentionGate {
  enum Input : size_t { kA, kBias, kScale, kB };

  void infer(InferContext& c) const {
    c.set(0, c.dtype(kA));
    c.set(1, c.dtype(kA));
    const Shape& a = c.shape(kA);
    require(!a.empty(), ErrorCode::invalid_argument, "a is a scalar, expected at least one axis");
    require(!c.wants(1) || c.has(kB), ErrorCode::invalid_argument, "beta needs the input b");
    c.set(0, c.dtype(kA), a);
    c.set(1, c.dtype(kA), a);
    if (c.has(kB)) expect_shape(c, kB, "b", a);
    for (const size_t i : {kBias, kScale}) {
      const Shape& p = c.shape(i);
      require(!all_known(p) || may_equal(extent_product(p, 0, p.rank()), a.back()), ErrorCode::invalid_argument,
              "input {} has shape {} for {} heads", i, c.dims().text(p), c.dims().text(a.back()));
    }
  }
  Cost cost(const CostContext& c) const { return {.operations = 4 * c.count(kA) + c.count(kB)}; }

  template <std::same_as<float> T>
  void reference(RunContext& c) const {
    const auto a = c.input<T>(kA);
    const auto bias = c.input<float>(kBias), scale = c.input<float>(kScale);
    const auto decay = c.output<T>(0);
    for (size_t i = 0; i < a.size(); ++i) {
      const float x = a[i] + bias[i % bias.size()];
      decay[i] = scale[i % scale.size()] * (std::max(x, 0.0f) + std::log1p(std::exp(-std::abs(x))));
    }
    if (!c.wants(1)) return;
    const auto b = c.input<T>(kB);
    const auto beta = c.output<T>(1);
    for (size_t i = 0; i < b.size(); ++i) beta[i] = sigmoid(b[i]);
  }
};

}  // namespace

extern const OpDef op_linear_attention_gate;
constinit const OpDef op_linear_attention_gate = define<LinearAttentionGate>({
    .name = "LinearAttentionGate",
    .domain = "com.microsoft",
    .since = {1},
    .inputs = {"a: T", "dt_bias: float", "decay_scale: float", "b: T?"},
    .outputs = {"decay: T", "beta: T?"},
    .types = kSingleFloats,
});

}  // namespace retort::ops
