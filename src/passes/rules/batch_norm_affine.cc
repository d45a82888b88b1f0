// Replaces a BatchNormalization with constant parameters that was not merged into a convolution by one multiplication
// and one addition with [C, 1, …], which the layout pass can handle and activations can be merged with. Speeds up
// pre-activation networks (DenseNet) and UNets.
#include <cmath>

#include "passes/match.h"
#include "passes/pass.h"

namespace retort {
namespace {

std::optional<Patch> match_batch_norm_affine(const Graph& g, const Node& n) {
  const Shape* x = shape_of(g, n.inputs[0]);
  if (!x || x->rank() < 2 || !is_float32(g, n.inputs[0]) || n.attributes.get_or<int64_t>("training_mode", 0) != 0)
    return std::nullopt;
  const auto scale = float_content(g, n.inputs[1]), shift = float_content(g, n.inputs[2]),
             mean = float_content(g, n.inputs[3]), variance = float_content(g, n.inputs[4]);
  if (scale.empty() || shift.size() != scale.size() || mean.size() != scale.size() || variance.size() != scale.size())
    return std::nullopt;
  const double epsilon = n.attributes.get_or<float>("epsilon", 1e-5f);
  std::vector<float> factor, offset;
  for (size_t i = 0; i < scale.size(); ++i) {
    const double f = double(scale[i]) / std::sqrt(double(variance[i]) + epsilon);
    factor.push_back(float(f));
    offset.push_back(float(double(shift[i]) - double(mean[i]) * f));
  }
  Shape shape{int64_t(scale.size())};
  for (size_t i = 2; i < x->rank(); ++i) shape.push_back(1);
  Patch p(g);
  const ValueId scaled =
      p.add({.type = "Mul", .inputs = {n.inputs[0], p.constant(float_tensor(shape, factor), "scale")}});
  p.replace(n.outputs[0], p.add({.type = "Add", .inputs = {scaled, p.constant(float_tensor(shape, offset), "shift")}}));
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
