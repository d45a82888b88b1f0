// Divides a reduction that drops its axes, of an image that a convolution makes, into one that keeps them and a
// Squeeze: the first has a channels-last form, so that the image is not turned for it. Exporters write max(dim) and
// mean(dim) so (PointNet, DGCNN, convolutions over texts).
#include "passes/match.h"
#include "passes/pass.h"

namespace retort {
namespace {

// Whether a convolution makes `v`, but for operators on its elements.
bool is_convolved(const Graph& g, ValueId v) {
  constexpr int kSteps = 4;  // bias, normalization, activation
  for (int i = 0; i < kSteps; ++i) {
    const Node* n = g.producer(v);
    if (!n || !n->op || n->inputs.empty()) return false;
    if (n->is("Conv") || n->is("ConvTranspose")) return true;
    if (!n->op->has(kElementwise) && !n->is("BatchNormalization")) return false;
    v = n->inputs[0];
  }
  return false;
}

std::optional<Patch> match_reduced_image(const Graph& g, const Node& n) {
  const Shape* x = shape_of(g, n.inputs[0]);
  const auto axes = known_integers(g, n.input(1));
  if (!x || x->rank() < 3 || !axes || axes->empty() || n.attributes.get_or<int64_t>("keepdims", 1) != 0 ||
      !is_convolved(g, n.inputs[0]))
    return std::nullopt;
  Attributes attributes = n.attributes;
  attributes.set("keepdims", int64_t{1});
  Patch p(g);
  const ValueId kept = p.add({.type = n.type, .inputs = n.inputs, .attributes = attributes});
  p.replace(n.outputs[0], p.add({.type = "Squeeze", .inputs = {kept, n.inputs[1]}}));
  p.covers(n.id);
  return p;
}

constexpr Rule kReducedImageRules[] = {
    {"reduced_image_max", "ReduceMax", match_reduced_image, {RuleStage::idioms}},
    {.name = "reduced_image_mean",
     .root = "ReduceMean",
     .match = match_reduced_image,
     .stages = {RuleStage::idioms},
     .after = {"global_pool"}},
    {"reduced_image_sum", "ReduceSum", match_reduced_image, {RuleStage::idioms}},
};

}  // namespace

extern const Rules rules_reduced_image;
constinit const Rules rules_reduced_image{kReducedImageRules};

}  // namespace retort
