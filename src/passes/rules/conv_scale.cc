// Makes factors of channels that depend on the image, as of squeeze-and-excite blocks, an input of the channels-last 1x1
// convolution behind them, which multiplies them into its weights. Speeds up EfficientNet and MobileNetV3: the image is
// not read and written once more.
#include "passes/match.h"
#include "passes/pass.h"

namespace retort {
namespace {

constexpr size_t kScaledFilters = 1, kConvFactors = 4;

// Whether `s` has a factor for each channel of each image in `x`.
bool are_factors(const Graph& g, ValueId s, const Shape& x) {
  const Shape* shape = shape_of(g, s);
  if (!shape || shape->rank() != x.rank() || g.constant(s)) return false;
  for (size_t i = 0; i < x.rank(); ++i) {
    const bool spatial = i > 0 && i + 1 < x.rank();
    if ((*shape)[i] != (spatial ? 1 : x[i])) return false;
  }
  return true;
}

// Convolutions whose kernel scales the weights instead of the image (scales_weights), which pays only then. Those that
// need fewer multiplications by Strassen's method have more channels.
bool suits_factors(const Graph& g, const Node& n, const Shape& x) {
  constexpr int64_t kMostChannels = 256;
  const Shape& w = g.value(n.inputs[kScaledFilters]).type.shape;
  const Shape& y = g.value(n.outputs[0]).type.shape;
  if (x.rank() < 3 || w.rank() != x.rank() || y.rank() != x.rank() || !all_known(w)) return false;
  int64_t pixels = 1;
  for (size_t i = 1; i + 1 < x.rank(); ++i) {
    if (!is_known(x[i]) || x[i] != y[i] || w[i + 1] != 1) return false;
    pixels *= x[i];
  }
  for (const int64_t stride : ints_attribute(n, "strides")) {
    if (stride != 1) return false;
  }
  for (const int64_t pad : ints_attribute(n, "pads")) {
    if (pad != 0) return false;
  }
  return w[1] == x[x.rank() - 1] && w[0] <= kMostChannels && 2 * w[0] <= pixels;
}

std::optional<Patch> match_conv_scale(const Graph& g, const Node& n) {
  const Node* product = sole_producer_of(g, n.inputs[0], "Mul");
  const Shape* x = product ? shape_of(g, n.inputs[0]) : nullptr;
  if (!x || !is_float32(g, n.inputs[0]) || n.input(kConvFactors) != ValueId::none) return std::nullopt;
  if (n.attributes.get_or<int64_t>("input_nchw", 0) != 0 || !suits_factors(g, n, *x)) return std::nullopt;
  const ValueId image = other_input(*product, [&](ValueId s) { return are_factors(g, s, *x); });
  if (image == ValueId::none || !same_shape(g, image, n.inputs[0])) return std::nullopt;
  std::vector<ValueId> inputs = n.inputs;
  inputs.resize(kConvFactors, ValueId::none);
  inputs[0] = image;
  inputs.push_back(product->inputs[product->inputs[0] == image ? 1 : 0]);
  Patch p(g);
  p.replace(n.outputs[0],
            p.add({.type = "Conv", .inputs = std::move(inputs), .attributes = n.attributes, .domain = "retort"}));
  p.covers({product->id, n.id});
  return p;
}

constexpr Rule kConvScaleRules[] = {
    {.name = "conv_scale",
     .root = "Conv",
     .match = match_conv_scale,
     .stages = {RuleStage::channel_multiplier},
     .domain = "retort"},
};

}  // namespace

extern const Rules rules_conv_scale;
constinit const Rules rules_conv_scale{kConvScaleRules};

}  // namespace retort
