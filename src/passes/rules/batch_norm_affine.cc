// Replaces a BatchNormalization with constant parameters that was not merged into a convolution by one multiplication
// and one addition with [C, 1, …], which the layout pass can handle and activations can be merged with, or, if only a
// run knows how many channels there are, by RowAffine. Speeds up pre-activation networks (DenseNet) and UNets.
#include "passes/batch_norm.h"
#include "passes/match.h"
#include "passes/pass.h"

namespace retort {
namespace {

std::optional<Patch> match_batch_norm_affine(const Graph& g, const Node& n) {
  const Shape* x = shape_of(g, n.inputs[0]);
  if (!x || x->rank() < 2 || !is_float32(g, n.inputs[0])) return std::nullopt;
  const auto affine = channel_affine(g, n);
  if (!affine) return std::nullopt;
  Patch p(g);
  if (x->rank() > 2 && !is_known((*x)[1]) && affine->scale.size() > 1) {
    // A product and a sum stay two steps: they alone do not tell that x has as many channels.
    const auto vector = [&](const std::vector<float>& v, const char* name) {
      return p.constant(float_tensor({int64_t(v.size())}, v), name);
    };
    Attributes planes;
    planes.set("planes", int64_t(1));
    p.replace(n.outputs[0],
              p.add({.type = "RowAffine",
                     .inputs = {n.inputs[0], vector(affine->scale, "scale"), vector(affine->shift, "shift")},
                     .attributes = std::move(planes),
                     .domain = "retort"}));
    p.covers(n.id);
    return p;
  }
  Shape shape{int64_t(affine->scale.size())};
  for (size_t i = 2; i < x->rank(); ++i) shape.push_back(1);
  const ValueId scaled =
      p.add({.type = "Mul", .inputs = {n.inputs[0], p.constant(float_tensor(shape, affine->scale), "scale")}});
  p.replace(n.outputs[0],
            p.add({.type = "Add", .inputs = {scaled, p.constant(float_tensor(shape, affine->shift), "shift")}}));
  p.covers(n.id);
  return p;
}

constexpr Rule kBatchNormAffineRules[] = {
    {"batch_norm_affine", "BatchNormalization", match_batch_norm_affine, {RuleStage::affine}},
};

}  // namespace

extern const Rules rules_batch_norm_affine;
constinit const Rules rules_batch_norm_affine{kBatchNormAffineRules};

}  // namespace retort
