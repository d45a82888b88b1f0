// Moves nodes that follow an operator with an epilogue into it: into that of retort.Conv, retort.ConvTranspose,
// retort.Linear or, if it has scales, retort.NhwcConvInteger the Add of a residual, then an activation; into that of
// retort.GroupNormalization and retort.RowAffine an activation; and into that of retort.NhwcQLinearConv a sum of codes.
// Speeds up all CNNs and transformers.
#include <cstring>

#include "ops/fused/common/activation.h"
#include "passes/match.h"
#include "passes/pass.h"

namespace retort {
namespace {

using Kind = kernels::Activation::Kind;
/// None if the producer takes no residual.
std::optional<size_t> residual_input(const Node& producer) {
  if (producer.type == "GroupNormalization" || producer.type == "RowAffine") return std::nullopt;
  return producer.type == "NhwcConvInteger" ? 7 : 3;
}

// Returns the node with an epilogue that produces `v`, if the epilogue can be extended.
const Node* open_producer(const Graph& g, ValueId v) {
  for (const char* type : {"Conv", "Linear", "ConvTranspose", "GroupNormalization", "RowAffine"}) {
    const Node* n = sole_producer_of(g, v, type, "retort");
    if (n && !n->attributes.has("activation")) return n;
  }
  const Node* n = sole_producer_of(g, v, "NhwcConvInteger", "retort");
  if (n && is_float32(g, v) && !n->attributes.has("activation")) return n;
  return nullptr;
}

Patch replaced(const Graph& g, const Node& producer, const Node& last, std::vector<ValueId> inputs,
               Attributes attributes) {
  Patch p(g);
  p.replace(last.outputs[0], p.add({.type = producer.type,
                                    .inputs = std::move(inputs),
                                    .attributes = std::move(attributes),
                                    .domain = "retort"}));
  p.covers({producer.id, last.id});
  return p;
}

std::optional<Patch> match_residual(const Graph& g, const Node& n) {
  if (n.inputs[0] == n.inputs[1] || !same_shape(g, n.inputs[0], n.inputs[1])) return std::nullopt;
  for (size_t side = 0; side < 2; ++side) {
    const Node* producer = open_producer(g, n.inputs[side]);
    const auto residual = producer ? residual_input(*producer) : std::nullopt;
    if (!residual || producer->input(*residual) != ValueId::none) continue;
    std::vector<ValueId> inputs = producer->inputs;
    inputs.resize(std::max(inputs.size(), *residual + 1), ValueId::none);
    inputs[*residual] = n.inputs[1 - side];
    return replaced(g, *producer, n, std::move(inputs), producer->attributes);
  }
  return std::nullopt;
}

bool same_constant(const Graph& g, ValueId a, ValueId b) {
  const Tensor *x = g.constant(a), *y = g.constant(b);
  return a == b || (x && y && x->dtype() == y->dtype() && x->bytes() == y->bytes() &&
                    std::memcmp(x->data(), y->data(), x->bytes()) == 0);
}

// A sum of codes, of which a convolution of one group computes an operand.
std::optional<Patch> match_sum_of_codes(const Graph& g, const Node& n) {
  // An operand begins at 0 or kOperand.
  enum Sum : size_t { kScale = 1, kZero = 2, kOperand = 3, kYScale = 6, kYZero = 7 };
  constexpr size_t kConvYScale = 6, kConvYZero = 7, kResidual = 9;
  if (n.inputs[0] == n.inputs[kOperand] || !same_shape(g, n.inputs[0], n.inputs[kOperand])) return std::nullopt;
  for (const size_t own : {size_t(0), size_t(kOperand)}) {
    const size_t other = kOperand - own;
    const Node* conv = sole_producer_of(g, n.inputs[own], "NhwcQLinearConv", "retort");
    if (!conv || conv->input(kResidual) != ValueId::none || conv->attributes.get_or<int64_t>("group", 1) != 1 ||
        g.value(n.outputs[0]).type.dtype != g.value(conv->inputs[kConvYZero]).type.dtype ||
        !same_constant(g, n.inputs[own + kScale], conv->inputs[kConvYScale]) ||
        !same_constant(g, n.inputs[own + kZero], conv->inputs[kConvYZero]))
      continue;
    std::vector<ValueId> inputs = conv->inputs;
    inputs.resize(kResidual, ValueId::none);
    for (const size_t i : {other, other + kScale, other + kZero, size_t(kYScale), size_t(kYZero)})
      inputs.push_back(n.inputs[i]);
    return replaced(g, *conv, n, std::move(inputs), conv->attributes);
  }
  return std::nullopt;
}

std::optional<Patch> fuse(const Graph& g, const Node& n, const kernels::Activation& a) {
  const Node* producer = open_producer(g, n.inputs[0]);
  if (!producer) return std::nullopt;
  Attributes attributes = producer->attributes;
  ops::set_activation(attributes, a);
  return replaced(g, *producer, n, producer->inputs, std::move(attributes));
}

template <Kind kKind>
std::optional<Patch> match_plain(const Graph& g, const Node& n) {
  return fuse(g, n, {kKind, 0, 0});
}

std::optional<Patch> match_clip(const Graph& g, const Node& n) {
  using limits = std::numeric_limits<float>;
  float bounds[2] = {limits::lowest(), limits::max()};
  for (size_t i = 0; i < 2; ++i) {
    if (n.input(i + 1) == ValueId::none) continue;
    const auto c = scalar_constant(g, n.inputs[i + 1]);
    if (!c) return std::nullopt;
    bounds[i] = float(*c);
  }
  return fuse(g, n, {Kind::clip, bounds[0], bounds[1]});
}

std::optional<Patch> match_leaky(const Graph& g, const Node& n) {
  return fuse(g, n, {Kind::leaky_relu, n.attributes.get_or<float>("alpha", 0.01f), 0});
}

std::optional<Patch> match_hard_sigmoid(const Graph& g, const Node& n) {
  return fuse(
      g, n, {Kind::hard_sigmoid, n.attributes.get_or<float>("alpha", 0.2f), n.attributes.get_or<float>("beta", 0.5f)});
}

std::optional<Patch> match_hard_swish(const Graph& g, const Node& n) {
  return fuse(g, n, {Kind::hard_swish, 1.0f / 6, 0.5f});
}

std::optional<Patch> match_gelu(const Graph& g, const Node& n) {
  const bool tanh = n.attributes.get_or<std::string>("approximate", "none") == "tanh";
  return fuse(g, n, {tanh ? Kind::gelu_tanh : Kind::gelu_erf, 0, 0});
}

std::optional<Patch> match_swish(const Graph& g, const Node& n) {
  if (n.attributes.get_or<float>("alpha", 1) != 1) return std::nullopt;
  return fuse(g, n, {Kind::silu, 0, 0});
}

constexpr Rule kEpilogueRules[] = {
    {.name = "epilogue_codes",
     .root = "QLinearAdd",
     .match = match_sum_of_codes,
     .stages = {RuleStage::epilogues},
     .domain = "retort"},
    {.name = "epilogue_residual",
     .root = "Add",
     .match = match_residual,
     .stages = {RuleStage::epilogues},
     .after = {"linear_bias", "integer_conv_bias"}},
    {"epilogue_relu", "Relu", match_plain<Kind::relu>, {RuleStage::epilogues}},
    {"epilogue_sigmoid", "Sigmoid", match_plain<Kind::sigmoid>, {RuleStage::epilogues}},
    {"epilogue_tanh", "Tanh", match_plain<Kind::tanh>, {RuleStage::epilogues}},
    {"epilogue_clip", "Clip", match_clip, {RuleStage::epilogues}},
    {"epilogue_leaky_relu", "LeakyRelu", match_leaky, {RuleStage::epilogues}},
    {"epilogue_hard_sigmoid", "HardSigmoid", match_hard_sigmoid, {RuleStage::epilogues}},
    {"epilogue_hard_swish", "HardSwish", match_hard_swish, {RuleStage::epilogues}},
    {"epilogue_gelu", "Gelu", match_gelu, {RuleStage::epilogues}},
    {"epilogue_swish", "Swish", match_swish, {RuleStage::epilogues}},
};

}  // namespace

extern const Rules rules_epilogue;
constinit const Rules rules_epilogue{kEpilogueRules};

}  // namespace retort
