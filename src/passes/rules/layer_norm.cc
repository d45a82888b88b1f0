// Recognises layer normalisation as a sequence of operators: (x - mean) / √(mean((x - mean)²) + ε), then · γ, then + β.
// There are three rules, so that γ and β may be missing. Speeds up transformers exported before opset 17.
#include "passes/match.h"
#include "passes/pass.h"
#include "passes/standardized.h"

namespace retort {
namespace {

// Width of the last axis, if it is known.
std::optional<int64_t> width(const Graph& g, ValueId v) {
  const Shape* s = shape_of(g, v);
  if (!s || s->empty() || !is_known(s->back()) || s->back() <= 0) return std::nullopt;
  return s->back();
}

Tensor ones(int64_t count) { return float_tensor({count}, std::vector<float>(size_t(count), 1.0f)); }

std::optional<Patch> match_layer(const Graph& g, const Node& n) {
  const auto s = standardized(g, n);
  const auto columns = s && s->mean.last_only(g) ? width(g, s->mean.of) : std::nullopt;
  if (!columns) return std::nullopt;
  Patch p(g);
  p.replace(n.outputs[0], p.add({.type = "LayerNormalization",
                                 .inputs = {s->mean.of, p.constant(ones(*columns), "ones")},
                                 .attributes = {{"epsilon", float(s->epsilon)}}}));
  p.covers({s->difference, n.id});
  return p;
}

// Matches x / √(mean(x²) + ε), also as x · (1 / √…).
std::optional<Patch> rms(const Graph& g, const Node& n, ValueId x, ValueId root) {
  const auto d = deviation(g, root);
  if (!d || !is_float32(g, x) || d->mean.of != x || !d->mean.last_only(g)) return std::nullopt;
  const auto columns = width(g, x);
  if (!columns) return std::nullopt;
  Patch p(g);
  p.replace(n.outputs[0], p.add({.type = "RMSNormalization",
                                 .inputs = {x, p.constant(ones(*columns), "ones")},
                                 .attributes = {{"epsilon", float(d->epsilon)}}}));
  p.covers({n.id});
  return p;
}

std::optional<Patch> match_rms_div(const Graph& g, const Node& n) { return rms(g, n, n.inputs[0], n.inputs[1]); }

std::optional<Patch> match_rms_mul(const Graph& g, const Node& n) {
  for (size_t side = 0; side < 2; ++side) {
    const Node* div = producer_of(g, n.inputs[side], "Div");
    const Node* reciprocal = producer_of(g, n.inputs[side], "Reciprocal");
    if (div && is_scalar(g, div->inputs[0], 1)) {
      if (auto p = rms(g, n, n.inputs[1 - side], div->inputs[1])) return p;
    } else if (reciprocal) {
      if (auto p = rms(g, n, n.inputs[1 - side], reciprocal->inputs[0])) return p;
    }
  }
  return std::nullopt;
}

// A constant vector over the last axis of `x`, as [width].
std::optional<Tensor> row_constant(const Graph& g, ValueId c, ValueId x) {
  const Tensor* t = g.constant(c);
  const auto columns = width(g, x);
  if (!t || !columns || t->dtype() != DType::f32 || int64_t(t->count()) != *columns || t->shape().empty() ||
      t->shape().back() != *columns)
    return std::nullopt;
  return t->reshaped({*columns});
}

std::optional<Patch> with_scale(const Graph& g, const Node& n, std::string_view type) {
  for (size_t side = 0; side < 2; ++side) {
    const Node* norm = sole_producer_of(g, n.inputs[side], type);
    if (!norm || norm->inputs.size() != 2) continue;
    const auto unit = float_content(g, norm->inputs[1]);
    if (unit.empty() || !std::all_of(unit.begin(), unit.end(), [](float v) { return v == 1; })) continue;
    auto gamma = row_constant(g, n.inputs[1 - side], n.inputs[side]);
    if (!gamma || !same_shape(g, n.inputs[side], n.outputs[0])) continue;
    Patch p(g);
    p.replace(n.outputs[0], p.add({.type = norm->type,
                                   .inputs = {norm->inputs[0], p.constant(std::move(*gamma), "gamma")},
                                   .attributes = norm->attributes}));
    p.covers({norm->id, n.id});
    return p;
  }
  return std::nullopt;
}

std::optional<Patch> match_gamma(const Graph& g, const Node& n) { return with_scale(g, n, "LayerNormalization"); }
std::optional<Patch> match_rms_gamma(const Graph& g, const Node& n) { return with_scale(g, n, "RMSNormalization"); }

std::optional<Patch> match_beta(const Graph& g, const Node& n) {
  for (size_t side = 0; side < 2; ++side) {
    const Node* norm = sole_producer_of(g, n.inputs[side], "LayerNormalization");
    if (!norm || norm->input(2) != ValueId::none) continue;
    auto beta = row_constant(g, n.inputs[1 - side], n.inputs[side]);
    if (!beta || !same_shape(g, n.inputs[side], n.outputs[0])) continue;
    Patch p(g);
    p.replace(n.outputs[0], p.add({.type = norm->type,
                                   .inputs = {norm->inputs[0], norm->inputs[1], p.constant(std::move(*beta), "beta")},
                                   .attributes = norm->attributes}));
    p.covers({norm->id, n.id});
    return p;
  }
  return std::nullopt;
}

constexpr Rule kLayerNormRules[] = {
    {"layer_norm", "Div", match_layer, {RuleStage::idioms}},
    {"layer_norm_gamma", "Mul", match_gamma, {RuleStage::idioms}},
    {"layer_norm_beta", "Add", match_beta, {RuleStage::idioms}},
    {"rms_norm_div", "Div", match_rms_div, {RuleStage::idioms}},
    {"rms_norm_mul", "Mul", match_rms_mul, {RuleStage::idioms}},
    {"rms_norm_gamma", "Mul", match_rms_gamma, {RuleStage::idioms}},
};

}  // namespace

extern const Rules rules_layer_norm;
constinit const Rules rules_layer_norm{kLayerNormRules};

}  // namespace retort
