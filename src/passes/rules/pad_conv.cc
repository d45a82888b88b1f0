// Merges zero padding of the spatial axes before a convolution into the convolution's own padding (models from
// TensorFlow).
#include "passes/match.h"
#include "passes/pass.h"

namespace retort {
namespace {

// Returns begin and end pads of each axis of a tensor of rank `rank`, if the Pad fills with zeros.
std::optional<std::vector<int64_t>> zero_pads(const Graph& g, const Node& pad, size_t rank) {
  if (pad.attributes.get_or<std::string>("mode", "constant") != "constant") return std::nullopt;
  if (pad.input(2) != ValueId::none && scalar_constant(g, pad.inputs[2]) != 0.0) return std::nullopt;
  const auto given = known_integers(g, pad.input(1));
  if (!given) return std::nullopt;
  if (pad.input(3) == ValueId::none) return given->size() == 2 * rank ? given : std::nullopt;
  const auto axes = known_integers(g, pad.inputs[3]);
  if (!axes || given->size() != 2 * axes->size()) return std::nullopt;
  std::vector<int64_t> pads(2 * rank, 0);
  for (size_t i = 0; i < axes->size(); ++i) {
    const size_t axis = normalize_axis((*axes)[i], rank);
    pads[axis] = (*given)[i];
    pads[axis + rank] = (*given)[i + axes->size()];
  }
  return pads;
}

std::optional<Patch> match_pad_conv(const Graph& g, const Node& n) {
  const Node* pad = sole_producer_of(g, n.inputs[0], "Pad");
  const Shape* x = pad ? shape_of(g, n.inputs[0]) : nullptr;
  if (!x || x->rank() < 3) return std::nullopt;
  const std::string automatic = n.attributes.get_or<std::string>("auto_pad", "NOTSET");
  if (automatic != "NOTSET" && automatic != "VALID") return std::nullopt;
  const size_t rank = x->rank(), spatial = rank - 2;
  const auto pads = zero_pads(g, *pad, rank);
  if (!pads || (*pads)[0] != 0 || (*pads)[1] != 0 || (*pads)[rank] != 0 || (*pads)[rank + 1] != 0) return std::nullopt;
  std::vector<int64_t> own = automatic == "VALID" ? std::vector<int64_t>() : ints_attribute(n, "pads");
  own.resize(2 * spatial, 0);
  for (size_t d = 0; d < spatial; ++d) {
    own[d] += (*pads)[d + 2];
    own[d + spatial] += (*pads)[rank + d + 2];
    if ((*pads)[d + 2] < 0 || (*pads)[rank + d + 2] < 0) return std::nullopt;
  }
  Attributes attributes = n.attributes;
  attributes.erase("auto_pad");
  attributes.set("pads", own);
  std::vector<ValueId> inputs = n.inputs;
  inputs[0] = pad->inputs[0];
  Patch p(g);
  p.replace(n.outputs[0], p.add({.type = "Conv", .inputs = std::move(inputs), .attributes = std::move(attributes)}));
  p.covers({pad->id, n.id});
  return p;
}

constexpr Rule kPadConvRules[] = {
    {"pad_conv", "Conv", match_pad_conv, {RuleStage::idioms}},
};

}  // namespace

extern const Rules rules_pad_conv;
constinit const Rules rules_pad_conv{kPadConvRules};

}  // namespace retort
