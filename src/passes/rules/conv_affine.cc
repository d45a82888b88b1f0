// Merges an affine operation per channel that follows a Conv or ConvTranspose with constant weights into weights and
// bias: BatchNormalization, or Mul, Div, Add, Sub with a constant [C, 1, 1] or a scalar. Speeds up MobileNetV2 and
// every CNN exported in training form.
#include <cstring>

#include "memory/host.h"
#include "passes/batch_norm.h"
#include "passes/match.h"
#include "passes/pass.h"

namespace retort {
namespace {

struct ConvView {
  const Node* node;
  size_t channels, group;
  bool transposed;
};

std::optional<ConvView> foldable_conv(const Graph& g, ValueId value) {
  const Node* conv = sole_producer_of(g, value, "Conv");
  const bool transposed = !conv;
  if (!conv) conv = sole_producer_of(g, value, "ConvTranspose");
  if (!conv) return std::nullopt;
  const Tensor *w = g.constant(conv->inputs[1]), *b = g.constant(conv->input(2));
  if (!w || w->dtype() != DType::f32 || w->shape().rank() < 3 || (conv->input(2) != ValueId::none && !b))
    return std::nullopt;
  const size_t group = size_t(conv->attributes.get_or<int64_t>("group", 1));
  const size_t channels = transposed ? size_t(w->shape()[1]) * group : size_t(w->shape()[0]);
  return ConvView{conv, channels, group, transposed};
}

// Weights are [M, C/g, …], or [C, M/g, …] for the transposed form; each run of weights for one output channel is
// multiplied by its scale.
Tensor scaled_weights(const Tensor& w, const ConvView& c, const std::vector<float>& scale) {
  const Shape& s = w.shape();
  const size_t columns = size_t(s[1]), taps = size_t(extent_product(s, 2, s.rank()));
  const size_t run = c.transposed ? taps : taps * columns, rows_in_group = std::max<size_t>(size_t(s[0]) / c.group, 1);
  Tensor result = new_constant(DType::f32, s);
  float* values = result.mutable_data<float>();
  const char* from = static_cast<const char*>(w.data());  // data in a mapped file need not be aligned
  for (size_t r = 0; r * run < w.count(); ++r, values += run, from += run * sizeof(float)) {
    const float factor = scale[c.transposed ? r / columns / rows_in_group * columns + r % columns : r];
    for (size_t i = 0; i < run; ++i) {
      float weight;
      std::memcpy(&weight, from + i * sizeof weight, sizeof weight);
      values[i] = weight * factor;
    }
  }
  return result;
}

Patch fold(const Graph& g, const ConvView& c, const ChannelAffine& affine, const Node& last) {
  std::vector<float> bias = float_content(g, c.node->input(2));
  bias.resize(c.channels, 0.0f);
  for (size_t i = 0; i < bias.size(); ++i) bias[i] = bias[i] * affine.scale[i] + affine.shift[i];
  Patch p(g);
  const bool only_shifts = std::all_of(affine.scale.begin(), affine.scale.end(), [](float x) { return x == 1.0f; });
  ValueId weights = c.node->inputs[1];
  if (!only_shifts) weights = p.constant(scaled_weights(*g.constant(weights), c, affine.scale), "weights");
  const ValueId biases = p.constant(float_tensor({int64_t(c.channels)}, bias), "bias");
  p.replace(
      last.outputs[0],
      p.add({.type = c.node->type, .inputs = {c.node->inputs[0], weights, biases}, .attributes = c.node->attributes}));
  p.covers({c.node->id, last.id});
  return p;
}

std::optional<Patch> match_batch_norm(const Graph& g, const Node& n) {
  const auto conv = foldable_conv(g, n.inputs[0]);
  const auto affine = conv ? channel_affine(g, n) : std::nullopt;
  if (!affine || affine->scale.size() != conv->channels) return std::nullopt;
  return fold(g, *conv, *affine, n);
}

template <typename F>
std::optional<Patch> match_constant(const Graph& g, const Node& n, bool commutes, F&& affine) {
  for (size_t side = 0; side < (commutes ? 2 : 1); ++side) {
    const auto conv = foldable_conv(g, n.inputs[side]);
    const Shape* shape = shape_of(g, n.inputs[side]);
    if (!conv || !shape || !same_shape(g, n.inputs[side], n.outputs[0])) continue;
    const auto c = per_channel(g, n.inputs[1 - side], conv->channels, shape->rank());
    if (!c.empty()) return fold(g, *conv, affine(c), n);
  }
  return std::nullopt;
}

ChannelAffine shifted(std::vector<float> by) { return {std::vector<float>(by.size(), 1.0f), std::move(by)}; }
ChannelAffine scaled(const std::vector<float>& by) { return {by, std::vector<float>(by.size(), 0.0f)}; }

std::optional<Patch> match_add(const Graph& g, const Node& n) { return match_constant(g, n, true, shifted); }
std::optional<Patch> match_mul(const Graph& g, const Node& n) { return match_constant(g, n, true, scaled); }
std::optional<Patch> match_sub(const Graph& g, const Node& n) {
  return match_constant(g, n, false, [](std::vector<float> c) {
    for (float& v : c) v = -v;
    return shifted(std::move(c));
  });
}
std::optional<Patch> match_div(const Graph& g, const Node& n) {
  return match_constant(g, n, false, [](std::vector<float> c) {
    for (float& v : c) v = 1 / v;
    return scaled(c);
  });
}

constexpr Rule kConvAffineRules[] = {
    {"conv_batch_norm", "BatchNormalization", match_batch_norm, {RuleStage::conv_affine}},
    {"conv_add", "Add", match_add, {RuleStage::conv_affine}},
    {"conv_sub", "Sub", match_sub, {RuleStage::conv_affine}},
    {"conv_mul", "Mul", match_mul, {RuleStage::conv_affine}},
    {"conv_div", "Div", match_div, {RuleStage::conv_affine}},
};

}  // namespace

extern const Rules rules_conv_affine;
constinit const Rules rules_conv_affine{kConvAffineRules};

}  // namespace retort
