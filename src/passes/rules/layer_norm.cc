// Recognises layer normalisation as a sequence of operators: (x - mean) / √(mean((x - mean)²) + ε), then · γ, then + β.
// There are three rules, so that γ and β may be missing. Speeds up transformers exported before opset 17. One more rule
// knows the form of TensorFlow.
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

/// A product x · k.
struct Product {
  ValueId x, k;
};
/// The products a and b if they have a factor k in common.
std::optional<std::array<Product, 2>> common_factor(const Node& a, const Node& b) {
  for (size_t i = 0; i < 4; ++i) {
    const size_t of_a = i / 2, of_b = i % 2;
    if (a.inputs[of_a] == b.inputs[of_b])
      return std::array{Product{a.inputs[1 - of_a], a.inputs[of_a]}, Product{b.inputs[1 - of_b], b.inputs[of_b]}};
  }
  return std::nullopt;
}

// Matches x · k + (β - mean · k) with k = γ · (1 / √(variance + ε)), the form of TensorFlow.
std::optional<Patch> with_gain(const Graph& g, const Node& n, const Node& scaled, const Node& sub) {
  const Node* moved = producer_of(g, sub.inputs[1], "Mul");
  const auto products = moved ? common_factor(scaled, *moved) : std::nullopt;
  const auto mean = products ? mean_over_axes(g, (*products)[1].x) : std::nullopt;
  const Node* gain = products ? producer_of(g, (*products)[0].k, "Mul") : nullptr;
  if (!mean || !gain || mean->of != (*products)[0].x || !mean->last_only(g) || !is_float32(g, mean->of))
    return std::nullopt;
  for (size_t side = 0; side < 2; ++side) {
    const Node* reciprocal = producer_of(g, gain->inputs[side], "Reciprocal");
    const auto d = reciprocal ? deviation(g, reciprocal->inputs[0]) : std::nullopt;
    const auto off = d ? mean_subtracted(g, d->mean.of) : std::nullopt;
    if (!off || off->of != mean->of || off->axes != mean->axes || d->mean.axes != mean->axes) continue;
    auto gamma = row_constant(g, gain->inputs[1 - side], mean->of), beta = row_constant(g, sub.inputs[0], mean->of);
    if (!gamma || !beta || !same_shape(g, mean->of, n.outputs[0])) return std::nullopt;
    Patch p(g);
    const ValueId scale = p.constant(std::move(*gamma), "gamma"), bias = p.constant(std::move(*beta), "beta");
    p.replace(n.outputs[0], p.add({.type = "LayerNormalization",
                                   .inputs = {mean->of, scale, bias},
                                   .attributes = {{"epsilon", float(d->epsilon)}}}));
    p.covers({scaled.id, sub.id, n.id});
    return p;
  }
  return std::nullopt;
}
std::optional<Patch> match_gain(const Graph& g, const Node& n) {
  for (size_t side = 0; side < 2; ++side) {
    const Node *scaled = producer_of(g, n.inputs[side], "Mul"), *sub = producer_of(g, n.inputs[1 - side], "Sub");
    if (!scaled || !sub) continue;
    if (auto p = with_gain(g, n, *scaled, *sub)) return p;
  }
  return std::nullopt;
}

constexpr Rule kLayerNormRules[] = {
    {"layer_norm", "Div", match_layer, {RuleStage::idioms}},
    {"layer_norm_gamma", "Mul", match_gamma, {RuleStage::idioms}},
    {"layer_norm_beta", "Add", match_beta, {RuleStage::idioms}},
    {"layer_norm_gain", "Add", match_gain, {RuleStage::idioms}},
    {"rms_norm_div", "Div", match_rms_div, {RuleStage::idioms}},
    {"rms_norm_mul", "Mul", match_rms_mul, {RuleStage::idioms}},
    {"rms_norm_gamma", "Mul", match_rms_gamma, {RuleStage::idioms}},
};

}  // namespace

extern const Rules rules_layer_norm;
constinit const Rules rules_layer_norm{kLayerNormRules};

}  // namespace retort
