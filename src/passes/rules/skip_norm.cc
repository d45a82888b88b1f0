// Fuses an Add with the layer or RMS normalisation that follows, with the sum as an extra result. The rule applies only
// if no Linear has taken the Add into its epilogue, which is cheaper. Speeds up the first blocks of ViT and Whisper,
// and int8 and int4 transformers.
#include "passes/match.h"
#include "passes/pass.h"

namespace retort {
namespace {

std::optional<Patch> fuse(const Graph& g, const Node& n, const std::string& type) {
  const Node* add = producer_of(g, n.inputs[0], "Add");
  const Shape* x = shape_of(g, n.inputs[0]);
  if (!add || !x || x->rank() < 2 || x->rank() > 3 || !is_float32(g, n.inputs[0])) return std::nullopt;
  const int64_t axis = n.attributes.get_or<int64_t>("axis", -1);
  const bool plain = (axis == -1 || axis == int64_t(x->rank()) - 1) && n.outputs.size() == 1 &&
                     same_shape(g, add->inputs[0], add->inputs[1]);
  const Shape* gamma = shape_of(g, n.inputs[1]);
  if (!plain || !gamma || gamma->rank() != 1 || !is_float32(g, n.inputs[1])) return std::nullopt;
  if (n.input(2) != ValueId::none && (!shape_of(g, n.inputs[2]) || shape_of(g, n.inputs[2])->rank() != 1))
    return std::nullopt;
  Patch p(g);
  NodeSpec spec{.type = type,
                .inputs = {add->inputs[0], add->inputs[1], n.inputs[1]},
                .attributes = {},
                .domain = "com.microsoft",
                .outputs = 4};
  if (n.input(2) != ValueId::none) spec.inputs.push_back(n.inputs[2]);
  spec.attributes.set("epsilon", n.attributes.get_or<float>("epsilon", 1e-5f));
  const std::vector<ValueId> outputs = p.add_multi(std::move(spec));
  p.replace(n.outputs[0], outputs[0]);
  p.replace(add->outputs[0], outputs[3]);
  p.covers({n.id, add->id});
  return p;
}

std::optional<Patch> match_skip_layer(const Graph& g, const Node& n) { return fuse(g, n, "SkipLayerNormalization"); }
std::optional<Patch> match_skip_rms(const Graph& g, const Node& n) {
  return fuse(g, n, "SkipSimplifiedLayerNormalization");
}

constexpr Rule kSkipNormRules[] = {
    {"skip_layer_norm", "LayerNormalization", match_skip_layer, {RuleStage::skip_norms}},
    {"skip_rms_norm", "RMSNormalization", match_skip_rms, {RuleStage::skip_norms}},
};

}  // namespace

extern const Rules rules_skip_norm;
constinit const Rules rules_skip_norm{kSkipNormRules};

}  // namespace retort
