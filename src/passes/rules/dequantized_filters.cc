// Computes the filters of a convolution that stays in floats from their codes once, so that they can be packed, instead
// of in every run. Speeds up quantised models with transposed convolutions (vocoders, U-Nets), and those whose weights
// alone are quantised.
#include "ops/evaluate.h"
#include "passes/match.h"
#include "passes/pass.h"

namespace retort {
namespace {

/// The real numbers of constant codes; empty if `v` does not come from such codes, or they cannot be computed.
Tensor real_numbers(const Graph& g, ValueId v) {
  const Node* n = producer_of(g, v, "DequantizeLinear");
  if (!n) return {};
  std::vector<Value> values;
  for (const ValueId in : n->inputs) {
    if (in != ValueId::none && !g.constant(in)) return {};
    values.push_back(in == ValueId::none ? Value() : Value(*g.constant(in)));
  }
  std::vector<const Value*> inputs;
  for (const Value& x : values) inputs.push_back(x.empty() ? nullptr : &x);
  try {
    const std::vector<Value> results = evaluate(*n, inputs);
    return *results[0].tensor();
  } catch (const Error&) {
    return {};  // a run will report it
  }
}

std::optional<Patch> match_filters(const Graph& g, const Node& n) {
  constexpr size_t kFilters = 1, kBias = 2;
  Patch p(g);
  std::vector<ValueId> inputs = n.inputs;
  for (const size_t i : {kFilters, kBias}) {
    if (n.input(i) == ValueId::none) continue;
    if (const Tensor real = real_numbers(g, n.inputs[i])) inputs[i] = p.constant(real, i == kBias ? "bias" : "filters");
  }
  if (inputs == n.inputs) return std::nullopt;
  p.replace(n.outputs[0], p.add({.type = n.type, .inputs = std::move(inputs), .attributes = n.attributes}));
  p.covers(n.id);
  return p;
}

constexpr Rule kRules[] = {
    {"dequantized_filters", "Conv", match_filters, {RuleStage::linear}},
    {"dequantized_transposed_filters", "ConvTranspose", match_filters, {RuleStage::linear}},
};

}  // namespace

extern const Rules rules_dequantized_filters;
constinit const Rules rules_dequantized_filters{kRules};

}  // namespace retort
