// Removes x + 0, x - 0, x · 1, x / 1 with a scalar constant, which exporters of attention masks and scales leave
// (GPT-2, ViT).
#include "passes/match.h"
#include "passes/pass.h"

namespace retort {
namespace {

std::optional<Patch> drop(const Graph& g, const Node& n, double neutral, bool right_only) {
  const auto s = with_scalar(g, n);
  if (!s || s->c != neutral || (right_only && s->x != n.inputs[0])) return std::nullopt;
  if (!same_shape(g, s->x, n.outputs[0]) || g.is_output(n.outputs[0])) return std::nullopt;
  Patch p(g);
  p.replace(n.outputs[0], s->x);
  return p;
}

std::optional<Patch> match_neutral_add(const Graph& g, const Node& n) { return drop(g, n, 0, false); }
std::optional<Patch> match_neutral_sub(const Graph& g, const Node& n) { return drop(g, n, 0, true); }
std::optional<Patch> match_neutral_mul(const Graph& g, const Node& n) { return drop(g, n, 1, false); }
std::optional<Patch> match_neutral_div(const Graph& g, const Node& n) { return drop(g, n, 1, true); }

constexpr Rule kNeutralRules[] = {
    {"neutral_add", "Add", match_neutral_add, {RuleStage::cleanup}},
    {"neutral_sub", "Sub", match_neutral_sub, {RuleStage::cleanup}},
    {"neutral_mul", "Mul", match_neutral_mul, {RuleStage::cleanup}},
    {"neutral_div", "Div", match_neutral_div, {RuleStage::cleanup}},
};

}  // namespace

extern const Rules rules_neutral;
constinit const Rules rules_neutral{kNeutralRules};

}  // namespace retort
