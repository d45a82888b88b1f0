// Computes the filters of a convolution that stays in floats from their codes once, so that they can be packed, instead
// of in every run. Speeds up quantised models with transposed convolutions (vocoders, U-Nets), and those whose weights
// alone are quantised.
#include "passes/codes.h"
#include "passes/pass.h"

namespace retort {
namespace {

/// The real numbers of constant codes; empty if `v` does not come from such codes, or they cannot be computed.
Tensor real_numbers(const Graph& g, ValueId v) {
  const Node* n = producer_of(g, v, "DequantizeLinear");
  return n ? constant_result(g, *n) : Tensor();
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

// MatMulNBits has no weights of 16 bits, and none that are floats of fewer bits.
std::optional<Patch> match_matrix(const Graph& g, const Node& n) {
  const Node* real = producer_of(g, n.inputs[1], "DequantizeLinear");
  const Tensor* codes = real ? g.constant(real->inputs[0]) : nullptr;
  const auto is = [codes](auto... types) { return ((codes->dtype() == types) || ...); };
  if (!codes || !is(DType::i16, DType::u16, DType::f8e4m3fn, DType::f8e4m3fnuz, DType::f8e5m2, DType::f8e5m2fnuz))
    return std::nullopt;
  return match_filters(g, n);
}

constexpr Rule kRules[] = {
    {"dequantized_filters", "Conv", match_filters, {RuleStage::linear}},
    {"dequantized_gemm", "Gemm", match_matrix, {RuleStage::linear}},
    {"dequantized_matmul", "MatMul", match_matrix, {RuleStage::linear}},
    {"dequantized_transposed_filters", "ConvTranspose", match_filters, {RuleStage::linear}},
};

}  // namespace

extern const Rules rules_dequantized_filters;
constinit const Rules rules_dequantized_filters{kRules};

}  // namespace retort
