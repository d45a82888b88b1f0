// Recognises normalisation by groups of channels as exporters write it: standardisation of all channels or of each one
// as a sequence of operators, or InstanceNormalization of an image whose groups were made channels by a Reshape. Scales
// and shifts of the channels that follow become parameters. Speeds up audio nets with global layer normalisation
// (Conv-TasNet), diffusion UNets and every other net with torch.nn.GroupNorm.
#include "passes/batch_norm.h"
#include "passes/match.h"
#include "passes/pass.h"
#include "passes/standardized.h"

namespace retort {
namespace {

/// The number of channels of [N, C, D1, …], if it is known and positive.
std::optional<int64_t> channels_of(const Graph& g, ValueId v) {
  const Shape* s = shape_of(g, v);
  if (!s || s->rank() < 3 || !is_known((*s)[1]) || (*s)[1] <= 0) return std::nullopt;
  return (*s)[1];
}

ValueId vector(Patch& p, std::span<const float> content, std::string_view name) {
  return p.constant(float_tensor({int64_t(content.size())}, content), std::string(name));
}

std::optional<Patch> match_standardized(const Graph& g, const Node& n) {
  const auto s = standardized(g, n);
  const auto channels = s ? channels_of(g, s->mean.of) : std::nullopt;
  if (!channels) return std::nullopt;
  const bool all = s->mean.from(g, 1);
  if (!all && !s->mean.from(g, 2)) return std::nullopt;
  const std::vector<float> ones(size_t(*channels), 1.0f), zeros(size_t(*channels), 0.0f);
  Attributes attributes{{"epsilon", float(s->epsilon)}};
  if (all) attributes.set("num_groups", int64_t(1));
  Patch p(g);
  const ValueId scale = vector(p, ones, "scale"), bias = vector(p, zeros, "bias");
  p.replace(n.outputs[0], p.add({.type = all ? "GroupNormalization" : "InstanceNormalization",
                                 .inputs = {s->mean.of, scale, bias},
                                 .attributes = std::move(attributes)}));
  p.covers({s->difference, n.id});
  return p;
}

/// Repeats the number of each group for its channels.
std::vector<float> of_channels(const std::vector<float>& of_groups, size_t channels) {
  std::vector<float> all(channels);
  for (size_t c = 0; c < channels; ++c) all[c] = of_groups[c / (channels / of_groups.size())];
  return all;
}

std::optional<Patch> match_grouped(const Graph& g, const Node& n) {
  const Node* norm = sole_producer_of(g, n.inputs[0], "InstanceNormalization");
  const Node* grouped = norm ? producer_of(g, norm->inputs[0], "Reshape") : nullptr;
  const auto channels = grouped ? channels_of(g, grouped->inputs[0]) : std::nullopt;
  if (!channels || !is_float32(g, n.outputs[0]) || !same_shape(g, grouped->inputs[0], n.outputs[0]))
    return std::nullopt;
  const Shape &x = *shape_of(g, grouped->inputs[0]), *images = shape_of(g, norm->inputs[0]);
  const auto scale = float_content(g, norm->inputs[1]), bias = float_content(g, norm->inputs[2]);
  if (!images || images->rank() < 3 || (*images)[0] != x[0] || scale.empty() || (*images)[1] != int64_t(scale.size()) ||
      bias.size() != scale.size() || *channels % int64_t(scale.size()) != 0)
    return std::nullopt;
  Attributes attributes = norm->attributes;
  attributes.set("num_groups", int64_t(scale.size()));
  Patch p(g);
  const ValueId scales = vector(p, of_channels(scale, size_t(*channels)), "scale"),
                biases = vector(p, of_channels(bias, size_t(*channels)), "bias");
  p.replace(n.outputs[0], p.add({.type = "GroupNormalization",
                                 .inputs = {grouped->inputs[0], scales, biases},
                                 .attributes = std::move(attributes)}));
  p.covers({grouped->id, norm->id, n.id});
  return p;
}

/// The normalisation whose only use is input `side` of `n`, if its parameters are constant.
const Node* norm_at(const Graph& g, const Node& n, size_t side) {
  const Node* norm = sole_producer_of(g, n.inputs[side], "GroupNormalization");
  if (!norm) norm = sole_producer_of(g, n.inputs[side], "InstanceNormalization");
  if (!norm || !channels_of(g, norm->inputs[0]) || !same_shape(g, n.inputs[side], n.outputs[0])) return nullptr;
  return g.constant(norm->inputs[1]) && g.constant(norm->inputs[2]) ? norm : nullptr;
}

std::optional<Patch> with_constant(const Graph& g, const Node& n, bool scales) {
  for (size_t side = 0; side < 2; ++side) {
    const Node* norm = norm_at(g, n, side);
    if (!norm || !is_float32(g, norm->inputs[0])) continue;
    std::vector<float> scale = float_content(g, norm->inputs[1]), bias = float_content(g, norm->inputs[2]);
    const auto c = per_channel(g, n.inputs[1 - side], scale.size(), shape_of(g, norm->inputs[0])->rank());
    if (c.empty()) continue;
    for (size_t i = 0; i < c.size(); ++i) {
      if (scales) scale[i] *= c[i];
      bias[i] = scales ? bias[i] * c[i] : bias[i] + c[i];
    }
    Patch p(g);
    const ValueId scaled = vector(p, scale, "scale"), shifted = vector(p, bias, "bias");
    p.replace(
        n.outputs[0],
        p.add({.type = norm->type, .inputs = {norm->inputs[0], scaled, shifted}, .attributes = norm->attributes}));
    p.covers({norm->id, n.id});
    return p;
  }
  return std::nullopt;
}

std::optional<Patch> match_norm_scale(const Graph& g, const Node& n) { return with_constant(g, n, true); }
std::optional<Patch> match_norm_shift(const Graph& g, const Node& n) { return with_constant(g, n, false); }

constexpr Rule kGroupNormRules[] = {
    {"group_norm", "Div", match_standardized, {RuleStage::idioms}},
    {"group_norm_reshape", "Reshape", match_grouped, {RuleStage::idioms}},
    {"group_norm_scale", "Mul", match_norm_scale, {RuleStage::idioms}},
    {"group_norm_shift", "Add", match_norm_shift, {RuleStage::idioms}},
};

}  // namespace

extern const Rules rules_group_norm;
constinit const Rules rules_group_norm{kGroupNormRules};

}  // namespace retort
