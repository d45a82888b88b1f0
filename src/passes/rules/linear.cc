// Replaces MatMul, Gemm and FusedMatMul with constant weights by retort.Linear, which keeps only the packed weights and
// takes bias, residual and activation into its epilogue. Speeds up all transformers and the classifiers of CNNs.
#include <cmath>

#include "memory/host.h"
#include "passes/match.h"
#include "passes/pass.h"

namespace retort {
namespace {

const Tensor* weight_matrix(const Graph& g, ValueId v) {
  const Tensor* w = g.constant(v);
  return w && w->dtype() == DType::f32 && w->shape().rank() == 2 && w->count() > 0 ? w : nullptr;
}

enum LinearInput : size_t { kBias = 2, kResidual = 3, kFactors = 4 };

std::optional<Patch> match_matmul(const Graph& g, const Node& n) {
  const Shape* a = shape_of(g, n.inputs[0]);
  if (!a || a->rank() < 1 || !is_float32(g, n.inputs[0]) || !weight_matrix(g, n.inputs[1])) return std::nullopt;
  Patch p(g);
  p.replace(n.outputs[0], p.add({.type = "Linear", .inputs = {n.inputs[0], n.inputs[1]}, .domain = "retort"}));
  p.covers(n.id);
  return p;
}

// Replaces `linear` and the nodes up to `last` by `linear` with other inputs.
Patch replaced(Patch p, const Node& linear, const Node& last, std::vector<ValueId> inputs) {
  p.replace(
      last.outputs[0],
      p.add({.type = "Linear", .inputs = std::move(inputs), .attributes = linear.attributes, .domain = "retort"}));
  p.covers({linear.id, last.id});
  return p;
}

Tensor scaled(const Tensor& t, float factor) {
  Tensor s = new_constant(DType::f32, t.shape());
  for (size_t i = 0; i < t.count(); ++i) s.mutable_data<float>()[i] = factor * t.at<float>(i);
  return s;
}

std::optional<Patch> match_gemm(const Graph& g, const Node& n) {
  const Tensor* w = weight_matrix(g, n.inputs[1]);
  if (!w || !is_float32(g, n.inputs[0]) || n.attributes.get_or<int64_t>("transA", 0) != 0) return std::nullopt;
  const int64_t trans_b = n.attributes.get_or<int64_t>("transB", 0);
  const float alpha = n.attributes.get_or<float>("alpha", 1), beta = n.attributes.get_or<float>("beta", 1);
  const size_t columns = size_t(w->shape()[trans_b ? 0 : 1]);
  Patch p(g);
  std::vector<ValueId> inputs{n.inputs[0], alpha == 1 ? n.inputs[1] : p.constant(scaled(*w, alpha), "weights")};
  if (n.input(2) != ValueId::none && beta != 0) {
    const Tensor* c = g.constant(n.inputs[2]);
    std::vector<float> bias = float_content(g, n.inputs[2]);
    if (!c || (bias.size() != 1 && (bias.size() != columns || c->shape().back() != int64_t(columns))))
      return std::nullopt;
    if (bias.size() == 1) bias.assign(columns, bias[0]);
    for (float& b : bias) b *= beta;
    inputs.push_back(p.constant(float_tensor({int64_t(columns)}, bias), "bias"));
  }
  Attributes attributes;
  if (trans_b) attributes.set("trans_b", trans_b);
  p.replace(n.outputs[0],
            p.add({.type = "Linear", .inputs = std::move(inputs), .attributes = attributes, .domain = "retort"}));
  p.covers(n.id);
  return p;
}

// com.microsoft.FusedMatMul, which ONNX Runtime writes for a product that is scaled or whose weights are transposed.
std::optional<Patch> match_fused_matmul(const Graph& g, const Node& n) {
  const Shape* a = shape_of(g, n.inputs[0]);
  const Tensor* w = weight_matrix(g, n.inputs[1]);
  const auto is_set = [&](const char* name) { return n.attributes.get_or<int64_t>(name, 0) != 0; };
  if (!a || a->rank() < 1 || !w || !is_float32(g, n.inputs[0]) || is_set("transA") || is_set("transBatchA"))
    return std::nullopt;
  const float alpha = n.attributes.get_or<float>("alpha", 1);
  if (!std::isfinite(alpha)) return std::nullopt;  // weights of infinity would have sums that are not numbers
  const int64_t columns = w->shape()[is_set("transB") ? 0 : 1];
  Patch p(g);
  std::vector<ValueId> inputs{n.inputs[0], n.inputs[1]};
  if (alpha != 1) {  // applied when the weights are packed, as in match_scale
    inputs.resize(kFactors + 1, ValueId::none);
    inputs[kFactors] = p.constant(float_tensor({columns}, std::vector<float>(size_t(columns), alpha)), "factors");
  }
  Attributes attributes;
  if (is_set("transB")) attributes.set("trans_b", int64_t(1));
  p.replace(n.outputs[0],
            p.add({.type = "Linear", .inputs = std::move(inputs), .attributes = attributes, .domain = "retort"}));
  p.covers(n.id);
  return p;
}

// Matches the Add of a constant vector over the columns.
std::optional<Patch> match_bias(const Graph& g, const Node& n) {
  for (size_t side = 0; side < 2; ++side) {
    const Node* linear = sole_producer_of(g, n.inputs[side], "Linear", "retort");
    const Tensor* c = g.constant(n.inputs[1 - side]);
    if (!linear || !c || c->dtype() != DType::f32 || linear->input(kBias) != ValueId::none ||
        linear->input(kResidual) != ValueId::none || linear->attributes.has("activation"))
      continue;
    const Shape* y = shape_of(g, n.inputs[side]);
    const bool vector = y && c->shape().rank() > 0 && c->shape().back() == y->back() &&
                        int64_t(c->count()) == y->back() && c->shape().rank() <= y->rank();
    if (!vector) continue;
    Patch p(g);
    std::vector<ValueId> inputs = linear->inputs;
    inputs.resize(std::max<size_t>(inputs.size(), kBias + 1), ValueId::none);
    inputs[kBias] = p.constant(c->reshaped({int64_t(c->count())}), "bias");
    return replaced(std::move(p), *linear, n, std::move(inputs));
  }
  return std::nullopt;
}

// Matches a Mul with a constant scalar or vector over the columns. The factors stay separate inputs and are applied
// when the weights are packed: large weights that are scaled here would be in memory twice.
std::optional<Patch> match_scale(const Graph& g, const Node& n) {
  for (size_t side = 0; side < 2; ++side) {
    const Node* linear = sole_producer_of(g, n.inputs[side], "Linear", "retort");
    if (!linear || linear->input(kResidual) != ValueId::none || linear->attributes.has("activation")) continue;
    const Tensor* w = g.constant(linear->inputs[1]);
    const bool trans_b = linear->attributes.get_or<int64_t>("trans_b", 0) != 0;
    const size_t columns = size_t(w->shape()[trans_b ? 0 : 1]);
    const Tensor* c = g.constant(n.inputs[1 - side]);
    std::vector<float> factors = float_content(g, n.inputs[1 - side]);
    if (factors.size() == 1) factors.assign(columns, factors[0]);
    const bool fits = c && factors.size() == columns && same_shape(g, n.inputs[side], n.outputs[0]) &&
                      (c->count() == 1 || c->shape().back() == int64_t(columns));
    if (!fits) continue;
    Patch p(g);
    std::vector<ValueId> inputs = linear->inputs;
    inputs.resize(kFactors + 1, ValueId::none);
    bool all_fit = true;
    for (const size_t i : {kBias, kFactors}) {
      if (inputs[i] == ValueId::none && i == kBias) continue;
      std::vector<float> values = factors;
      if (inputs[i] != ValueId::none) {
        const std::vector<float> before = float_content(g, inputs[i]);
        all_fit &= before.size() == columns;
        for (size_t j = 0; j < before.size() && all_fit; ++j) values[j] *= before[j];
      }
      inputs[i] = p.constant(float_tensor({int64_t(columns)}, values), i == kBias ? "bias" : "factors");
    }
    if (all_fit) return replaced(std::move(p), *linear, n, std::move(inputs));
  }
  return std::nullopt;
}

constexpr Rule kLinearRules[] = {
    {"linear_from_matmul", "MatMul", match_matmul, {RuleStage::linear}},
    {"linear_from_gemm", "Gemm", match_gemm, {RuleStage::linear}},
    {"linear_from_fused_matmul", "FusedMatMul", match_fused_matmul, {RuleStage::linear}, {}, "com.microsoft"},
    {"linear_scale", "Mul", match_scale, {RuleStage::linear, RuleStage::epilogues}},
    {"linear_bias", "Add", match_bias, {RuleStage::linear, RuleStage::epilogues}},
};

}  // namespace

extern const Rules rules_linear;
constinit const Rules rules_linear{kLinearRules};

}  // namespace retort
