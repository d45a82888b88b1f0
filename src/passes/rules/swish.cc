// Recognises x · sigmoid(x) as SiLU (EfficientNet, YOLOv8, Llama), and x · hard_sigmoid(x) and x · clip(x + 3, 0, 6) /
// 6 as HardSwish (MobileNetV3).
#include "passes/match.h"
#include "passes/pass.h"

namespace retort {
namespace {

std::optional<Patch> unary(const Graph& g, const Node& n, const Node& inner, const std::string& type, ValueId x) {
  Patch p(g);
  p.replace(n.outputs[0], p.add({.type = type, .inputs = {x}}));
  p.covers({inner.id, n.id});
  return p;
}

std::optional<Patch> match_silu(const Graph& g, const Node& n) {
  for (size_t side = 0; side < 2; ++side) {
    const Node* s = sole_producer_of(g, n.inputs[side], "Sigmoid");
    if (s && s->inputs[0] == n.inputs[1 - side]) return unary(g, n, *s, "Swish", s->inputs[0]);
  }
  return std::nullopt;
}

std::optional<Patch> match_written_hard_swish(const Graph& g, const Node& n) {
  for (size_t side = 0; side < 2; ++side) {
    const Node* s = sole_producer_of(g, n.inputs[side], "HardSigmoid");
    const bool sixth = s && is_rounded(s->attributes.get_or<float>("alpha", 0.2f), 1.0 / 6) &&
                       s->attributes.get_or<float>("beta", 0.5f) == 0.5f;
    if (sixth && s->inputs[0] == n.inputs[1 - side]) return unary(g, n, *s, "HardSwish", s->inputs[0]);
  }
  return std::nullopt;
}

// Matches clip(x + 3, 0, 6); returns x, or none.
ValueId relu6_of_shifted(const Graph& g, ValueId v) {
  const Node* clip = sole_producer_of(g, v, "Clip");
  if (!clip || !scalar_constant(g, clip->input(1)) || *scalar_constant(g, clip->input(1)) != 0 ||
      !is_scalar(g, clip->input(2), 6))
    return ValueId::none;
  const Node* add = sole_producer_of(g, clip->inputs[0], "Add");
  const auto s = add ? with_scalar(g, *add) : std::nullopt;
  return s && s->c == 3 ? s->x : ValueId::none;
}

// Matches (x · relu6(x + 3)) / 6 or x · (relu6(x + 3) / 6); the division may be a multiplication.
ValueId six_times(const Graph& g, ValueId v) {
  if (const Node* div = sole_producer_of(g, v, "Div"); div && is_scalar(g, div->inputs[1], 6)) return div->inputs[0];
  const Node* mul = sole_producer_of(g, v, "Mul");
  const auto s = mul ? with_scalar(g, *mul) : std::nullopt;
  return s && is_rounded(s->c, 1.0 / 6) ? s->x : ValueId::none;
}

std::optional<Patch> match_inner(const Graph& g, const Node& n) {  // Matches x · (relu6(x + 3) / 6).
  for (size_t side = 0; side < 2; ++side) {
    const ValueId clip = six_times(g, n.inputs[side]), x = n.inputs[1 - side];
    if (clip == ValueId::none || relu6_of_shifted(g, clip) != x) continue;
    return unary(g, n, *g.producer(n.inputs[side]), "HardSwish", x);
  }
  return std::nullopt;
}

std::optional<Patch> match_outer(const Graph& g, const Node& n) {  // Matches (x · relu6(x + 3)) / 6.
  const bool div = n.type == "Div";
  const auto s = with_scalar(g, n);
  if (!s || s->x == ValueId::none || (div ? s->x != n.inputs[0] || s->c != 6 : !is_rounded(s->c, 1.0 / 6)))
    return std::nullopt;
  const Node* mul = sole_producer_of(g, s->x, "Mul");
  if (!mul) return std::nullopt;
  for (size_t side = 0; side < 2; ++side) {
    const ValueId x = mul->inputs[1 - side];
    if (relu6_of_shifted(g, mul->inputs[side]) == x) return unary(g, n, *mul, "HardSwish", x);
  }
  return std::nullopt;
}

constexpr Rule kSwishRules[] = {
    {"silu", "Mul", match_silu, {RuleStage::idioms}},
    {"hard_swish", "Mul", match_written_hard_swish, {RuleStage::idioms}},
    {"hard_swish_inner", "Mul", match_inner, {RuleStage::idioms}},
    {"hard_swish_outer", "Div", match_outer, {RuleStage::idioms}},
    {"hard_swish_outer_mul", "Mul", match_outer, {RuleStage::idioms}},
};

}  // namespace

extern const Rules rules_swish;
constinit const Rules rules_swish{kSwishRules};

}  // namespace retort
