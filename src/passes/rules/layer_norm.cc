// Recognises layer normalisation as a sequence of operators: (x - mean) / √(mean((x - mean)²) + ε), then · γ, then + β.
// There are three rules, so that γ and β may be missing. Speeds up transformers exported before opset 17.
#include "passes/match.h"
#include "passes/pass.h"

namespace retort {
namespace {

// Returns x for ReduceMean(x) over the last axis with keepdims.
ValueId last_axis_mean(const Graph& g, ValueId v) {
  const Node* mean = producer_of(g, v, "ReduceMean");
  if (!mean || mean->attributes.get_or<int64_t>("keepdims", 1) != 1) return ValueId::none;
  const auto axes = known_integers(g, mean->input(1));
  const Shape* x = shape_of(g, mean->inputs[0]);
  if (!axes || axes->size() != 1 || !x) return ValueId::none;
  return (*axes)[0] == -1 || (*axes)[0] == int64_t(x->rank()) - 1 ? mean->inputs[0] : ValueId::none;
}

bool is_square_of(const Graph& g, ValueId v, ValueId x) {
  const Node* pow = producer_of(g, v, "Pow");
  if (pow) return pow->inputs[0] == x && is_scalar(g, pow->inputs[1], 2);
  const Node* mul = producer_of(g, v, "Mul");
  return mul && mul->inputs[0] == x && mul->inputs[1] == x;
}

struct Deviation {
  ValueId squared_mean_of;  ///< the value that was squared and averaged
  double epsilon;
};
// Matches √(mean(s) + ε) and returns s and ε.
std::optional<Deviation> deviation(const Graph& g, ValueId v) {
  const Node* root = producer_of(g, v, "Sqrt");
  const Node* add = root ? producer_of(g, root->inputs[0], "Add") : nullptr;
  const auto s = add ? with_scalar(g, *add) : std::nullopt;
  const ValueId squares = s ? last_axis_mean(g, s->x) : ValueId::none;
  if (squares == ValueId::none) return std::nullopt;
  return Deviation{squares, s->c};
}

// Width of the last axis, if it is known.
std::optional<int64_t> width(const Graph& g, ValueId v) {
  const Shape* s = shape_of(g, v);
  if (!s || s->empty() || !is_known(s->back()) || s->back() <= 0) return std::nullopt;
  return s->back();
}

Tensor ones(int64_t count) { return float_tensor({count}, std::vector<float>(size_t(count), 1.0f)); }

std::optional<Patch> match_layer(const Graph& g, const Node& n) {
  const Node* sub = producer_of(g, n.inputs[0], "Sub");
  const auto d = deviation(g, n.inputs[1]);
  if (!sub || !d || !is_float32(g, n.inputs[0])) return std::nullopt;
  const ValueId x = sub->inputs[0];
  // Exporters compute x - mean once or twice.
  const Node* squared = g.producer(d->squared_mean_of);
  const ValueId base = squared && !squared->inputs.empty() ? squared->inputs[0] : ValueId::none;
  const Node* twin = producer_of(g, base, "Sub");
  const bool same = base == n.inputs[0] || (twin && twin->inputs == sub->inputs);
  if (!same || !is_square_of(g, d->squared_mean_of, base) || last_axis_mean(g, sub->inputs[1]) != x)
    return std::nullopt;
  const auto columns = width(g, x);
  if (!columns) return std::nullopt;
  Patch p(g);
  p.replace(n.outputs[0], p.add({.type = "LayerNormalization",
                                 .inputs = {x, p.constant(ones(*columns), "ones")},
                                 .attributes = {{"epsilon", float(d->epsilon)}}}));
  p.covers({sub->id, n.id});
  return p;
}

// Matches x / √(mean(x²) + ε), also as x · (1 / √…).
std::optional<Patch> rms(const Graph& g, const Node& n, ValueId x, ValueId root) {
  const auto d = deviation(g, root);
  if (!d || !is_float32(g, x) || !is_square_of(g, d->squared_mean_of, x)) return std::nullopt;
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
