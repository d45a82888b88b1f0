// com.microsoft.GatedAdd: X + Y · gate, where each row of the last axis has one gate; the product is rounded. If there
// are weights, the gate is the sigmoid of a product.
#include "ops/nn/common/rounded.h"

namespace retort::ops {
namespace {

struct GatedAdd {
  enum Input : size_t { kX, kY, kGate, kWeight };

  void infer(InferContext& c) const {
    c.set(0, c.dtype(kX));
    const Shape& x = c.shape(kX);
    require(!x.empty(), ErrorCode::invalid_argument, "X is a scalar, expected at least one axis");
    c.set(0, c.dtype(kX), x);
    expect_shape(c, kY, "Y", x);
    Shape gate = x;
    gate[x.rank() - 1] = c.has(kWeight) && c.rank(kGate) > 0 ? c.shape(kGate).back() : Dim(1);
    expect_shape(c, kGate, "gate", gate);
    if (!c.has(kWeight)) return;
    require(c.dtype(kX) == DType::bf16, ErrorCode::not_implemented, "gate_weight is for bfloat16, X has {}",
            dtype_name(c.dtype(kX)));
    expect_shape(c, kWeight, "gate_weight", {gate.back(), 1});
  }
  Cost cost(const CostContext& c) const { return {.operations = 2 * c.count(kX) + c.count(kGate)}; }

  static float gate_of(const RunContext& c, size_t row) {
    const auto gates = c.input<float>(kGate);
    if (!c.has(kWeight)) return gates[row];
    const auto weights = c.input<float>(kWeight);
    float sum = 0;
    for (size_t i = 0; i < weights.size(); ++i) sum += gates[row * weights.size() + i] * weights[i];
    return rounded(DType::bf16, sigmoid(rounded(DType::bf16, sum)));
  }

  template <std::same_as<float> T>
  void reference(RunContext& c) const {
    const DType type = c.carried_type(kX);
    const auto x = c.input<T>(kX), y = c.input<T>(kY);
    const auto out = c.output<T>();
    const auto width = size_t(c.shape(kX).back());
    c.parallel().for_each(width ? x.size() / width : 0, [&](size_t row, int) {
      const float gate = gate_of(c, row);
      for (size_t i = row * width; i < (row + 1) * width; ++i) out[i] = x[i] + rounded(type, y[i] * gate);
    });
  }
};

}  // namespace

extern const OpDef op_gated_add;
constinit const OpDef op_gated_add = define<GatedAdd>({
    .name = "GatedAdd",
    .domain = "com.microsoft",
    .since = {1},
    .inputs = {"X: T", "Y: T", "gate: T", "gate_weight: T?"},
    .outputs = {"output: T"},
    .types = kSingleFloats,
    .traits = kConverts,  // it rounds intermediate results
});

}  // namespace retort::ops
