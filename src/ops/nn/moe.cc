// com.microsoft.MoE: a mixture of experts, whose weights are floats [experts, rows, columns].
#include "base/half.h"
#include "kernels/elementwise/cast.h"
#include "ops/expect_shape.h"
#include "ops/nn/common/experts.h"
#include "ops/nn/common/matrix.h"

namespace retort::ops {
namespace {

struct ExpertRows {
  const void* data = nullptr;
  DType type = DType::f32;
  size_t rows = 0, columns = 0;
  void operator()(size_t expert, size_t row, float* to) const {
    const size_t first = (expert * rows + row) * columns;
    kernels::cast(static_cast<const char*>(data) + first * dtype_bits(type) / 8, type, to, DType::f32, columns,
                  Parallel());
  }
};

/// The weights of a layer, packed for gemm().
struct PackedFloats : PackedLayer {
  std::unique_ptr<PackedMatrices> matrices;
  size_t rows = 0, columns = 0;

  size_t scratch(size_t, int) const override { return 0; }
  void multiply(const ExpertProduct& p, void*, const Parallel& parallel) const override {
    kernels::GemmArgs args{.m = p.tokens, .n = rows, .k = columns, .a = p.x, .a_stride = columns};
    args.packed_b = matrices->matrix(p.expert);
    args.c = p.y;
    args.c_stride = rows;
    args.epilogue.bias = p.bias;
    multiply_packed(args, *matrices, parallel, nullptr);
  }
};

struct MoE : ExpertAttributes {
  static constexpr auto attributes = expert_attributes;
  enum Input : size_t { kX, kScores, kFirst, kFirstBias, kSecond, kSecondBias, kThird, kThirdBias };

  void infer(InferContext& c) const {
    infer_experts(c, *this, kThird);
    for (const size_t i : {kFirst, kFirstBias, kSecond, kSecondBias, kThird, kThirdBias})
      require(!c.has(i) || c.dtype(i) == c.dtype(kX), ErrorCode::invalid_argument, "input {} is {}, input 0 {}", i,
              dtype_name(c.has(i) ? c.dtype(i) : c.dtype(kX)), dtype_name(c.dtype(kX)));
  }
  Cost cost(const CostContext& c) const {
    return expert_cost(c, *this, c.count(kFirst) + c.count(kSecond) + c.count(kThird));
  }

  // Packs the weights if those of all layers are constant, in 16 bits if these hold them exactly.
  std::unique_ptr<State> prepare(PrepareContext& c) const {
    auto state = std::make_unique<PackedExperts>();
    const Shape& x = c.type(kX).shape;
    const Tensor* second = c.constant(kSecond);
    if (x.empty() || !is_known(x.back()) || x.back() == 0 || !second || second->shape().rank() != 3) return nullptr;
    const Shape& s = second->shape();
    const int64_t hidden = x.back(), inner = s[1] == hidden ? s[2] : s[1];
    for (const size_t layer : {kFirst, kSecond, kThird}) {
      if (!c.has(layer)) continue;
      const int64_t rows = layer == kSecond ? hidden : layer == kFirst ? inner * fused() : inner;
      auto& packed = state->layers[(layer - kFirst) / 2];
      packed = pack(c, layer, size_t(rows), size_t(layer == kSecond ? inner : hidden));
      if (!packed) return nullptr;
    }
    for (const size_t layer : {kFirst, kSecond, kThird}) {
      if (c.has(layer)) c.release(layer);
    }
    return state;
  }

  size_t scratch(const RunContext& c) const { return call(c, nullptr).scratch(c, *this, c.has(kThird)); }
  void run(RunContext& c) const { call(c, c.scratch()).run(c, *this, c.has(kThird)); }

 private:
  static std::unique_ptr<PackedLayer> pack(PrepareContext& c, size_t layer, size_t rows, size_t columns) {
    const Tensor* weights = c.constant(layer);
    if (!weights || weights->shape().rank() != 3 || weights->count() == 0) return nullptr;
    const auto experts = size_t(weights->shape()[0]);
    if (weights->count() != experts * rows * columns) return nullptr;  // a run reports it
    Tensor floats;
    if (weights->dtype() != DType::f32) {
      floats = Tensor(DType::f32, weights->shape());
      kernels::cast(weights->data(), weights->dtype(), floats.mutable_data(), DType::f32, weights->count(),
                    c.parallel());
      weights = &floats;
    }
    auto packed = std::make_unique<PackedFloats>();
    packed->matrices = pack_matrices(c, *weights, experts, columns, rows, {1, columns});
    packed->rows = rows;
    packed->columns = columns;
    return packed;
  }
  static ExpertRows rows(const RunContext& c, size_t i, size_t experts, size_t rows, size_t columns) {
    const Shape& own = c.shape(i);
    const Shape wanted{int64_t(experts), int64_t(rows), int64_t(columns)};
    // Older models declare the last two axes in the opposite order.
    const Shape older{wanted[0], wanted[2], wanted[1]};
    require(own == wanted || own == older, ErrorCode::invalid_argument, "input {} has shape {}, expected {}", i, own,
            wanted);
    return {c.data(i), c.dtype(i), rows, columns};
  }
  static const float* bias(const RunContext& c, size_t i, ScratchParts& parts, size_t experts, size_t rows) {
    expect_shape(c, i, "", {int64_t(experts), int64_t(rows)});
    return float_input(c, i, parts);
  }
  ExpertCall<ExpertRows> call(const RunContext& c, void* base) const {
    const Shape& second = c.shape(kSecond);
    const int64_t hidden = c.shape(kX).back();
    require(second.rank() == 3 && (second[1] == hidden || second[2] == hidden), ErrorCode::invalid_argument,
            "fc2_experts_weights have shape {}, expected [experts, {}, inner]", second, hidden);
    ExpertCall<ExpertRows> m{ScratchParts(base), expert_shape(c, size_t(second[1] == hidden ? second[2] : second[1]))};
    const ExpertShape& s = m.s;
    m.packed = c.state<PackedExperts>();
    m.first = rows(c, kFirst, s.experts, s.inner * size_t(fused()), s.hidden);
    m.second = rows(c, kSecond, s.experts, s.hidden, s.inner);
    if (c.has(kThird)) m.third = rows(c, kThird, s.experts, s.inner, s.hidden);
    m.x = float_input(c, kX, m.parts);
    m.scores = float_input(c, kScores, m.parts);
    m.first_bias = bias(c, kFirstBias, m.parts, s.experts, s.inner * size_t(fused()));
    m.second_bias = bias(c, kSecondBias, m.parts, s.experts, s.hidden);
    m.third_bias = bias(c, kThirdBias, m.parts, s.experts, s.inner);
    m.y = float_output(c, m.parts);
    return m;
  }
};

}  // namespace

extern const OpDef op_moe;
constinit const OpDef op_moe = define<MoE>({
    .name = "MoE",
    .domain = "com.microsoft",
    .since = {1},
    .inputs = {"input: T", "router_probs: T", "fc1_experts_weights: T", "fc1_experts_bias: T?",
               "fc2_experts_weights: T", "fc2_experts_bias: T?", "fc3_experts_weights: T?", "fc3_experts_bias: T?"},
    .outputs = {"output: T"},
    .types = types({DType::f32, DType::f16, DType::bf16}),
});

}  // namespace retort::ops
