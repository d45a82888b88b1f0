// Takes what follows a channels-last convolution of integers into it: the conversion to float, the scales and the bias.
// Speeds up dynamically quantised CNNs.
#include <algorithm>

#include "passes/match.h"
#include "passes/pass.h"

namespace retort {
namespace {

enum IntegerConvInput : size_t { kConvXScale = 4, kConvBias = 6 };

bool is_one_number(const Graph& g, ValueId v) {
  const Shape* s = shape_of(g, v);
  return s && is_float32(g, v) && std::ranges::all_of(*s, [](Dim d) { return d == 1; });
}
// Whether v has a constant for each channel, the last axis of `image`.
bool has_number_for_channels(const Graph& g, ValueId v, const Shape& image) {
  const Tensor* t = g.constant(v);
  return t && t->dtype() == DType::f32 && t->shape().rank() > 0 && t->shape().rank() <= image.rank() &&
         t->shape().back() == image.back() && int64_t(t->count()) == image.back();
}
// A constant of the channels as a vector.
ValueId as_channel_vector(Patch& p, const Graph& g, ValueId v) {
  const Tensor& t = *g.constant(v);
  return t.shape().rank() == 1 ? v : p.constant(t.reshaped({int64_t(t.count())}));
}

struct ConvScales {
  ValueId of_x = ValueId::none, of_w = ValueId::none;  // none: 1
};
std::optional<ConvScales> conv_scales_of(const Graph& g, ValueId v, const Shape& image) {
  const auto fits = [&](ValueId w) {
    return g.constant(w) && (is_one_number(g, w) || has_number_for_channels(g, w, image));
  };
  const Node* n = producer_of(g, v, "Mul");
  for (size_t side = 0; n && side < 2; ++side) {
    if (is_one_number(g, n->inputs[side]) && fits(n->inputs[1 - side]))
      return ConvScales{n->inputs[side], n->inputs[1 - side]};
  }
  if (fits(v)) return ConvScales{ValueId::none, v};
  if (is_one_number(g, v)) return ConvScales{v, ValueId::none};
  return std::nullopt;
}

std::optional<Patch> match_conv_scales(const Graph& g, const Node& n) {
  const Shape* image = shape_of(g, n.outputs[0]);
  for (size_t side = 0; image && side < 2; ++side) {
    const Node* cast = sole_producer_of(g, n.inputs[side], "Cast");
    const Node* conv = cast && is_float32(g, n.inputs[side])
                           ? sole_producer_of(g, cast->inputs[0], "NhwcConvInteger", "retort")
                           : nullptr;
    if (!conv || conv->input(kConvXScale) != ValueId::none || !same_shape(g, n.inputs[side], n.outputs[0])) continue;
    const auto scales = conv_scales_of(g, n.inputs[1 - side], *image);
    if (!scales) continue;
    Patch p(g);
    const auto scale = [&](ValueId v) {
      if (v == ValueId::none) return p.constant(Tensor::of<float>({}, {1}));
      return g.constant(v) && !is_one_number(g, v) ? as_channel_vector(p, g, v) : v;
    };
    std::vector<ValueId> inputs = conv->inputs;
    inputs.resize(kConvXScale, ValueId::none);
    inputs.push_back(scale(scales->of_x));
    inputs.push_back(scale(scales->of_w));
    p.replace(
        n.outputs[0],
        p.add({.type = conv->type, .inputs = std::move(inputs), .attributes = conv->attributes, .domain = "retort"}));
    p.covers({conv->id, cast->id, n.id});
    return p;
  }
  return std::nullopt;
}

std::optional<Patch> match_conv_bias(const Graph& g, const Node& n) {
  for (size_t side = 0; side < 2; ++side) {
    const Node* conv = sole_producer_of(g, n.inputs[side], "NhwcConvInteger", "retort");
    const Shape* image = shape_of(g, n.inputs[side]);
    if (!conv || !image || conv->input(kConvXScale) == ValueId::none || conv->inputs.size() > kConvBias ||
        conv->attributes.has("activation") || !has_number_for_channels(g, n.inputs[1 - side], *image))
      continue;
    Patch p(g);
    std::vector<ValueId> inputs = conv->inputs;
    inputs.push_back(as_channel_vector(p, g, n.inputs[1 - side]));
    p.replace(
        n.outputs[0],
        p.add({.type = conv->type, .inputs = std::move(inputs), .attributes = conv->attributes, .domain = "retort"}));
    p.covers({conv->id, n.id});
    return p;
  }
  return std::nullopt;
}

constexpr Rule kIntegerConvRules[] = {
    {"integer_conv_scales", "Mul", match_conv_scales, {RuleStage::epilogues}},
    {"integer_conv_bias", "Add", match_conv_bias, {RuleStage::epilogues}, {"integer_conv_scales"}},
};

}  // namespace

extern const Rules rules_integer_conv;
constinit const Rules rules_integer_conv{kIntegerConvRules};

}  // namespace retort
