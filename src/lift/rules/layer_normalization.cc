// LayerNormalization and SimplifiedLayerNormalization: ONNX Runtime does not check the names of their attributes, and has
// forms of them in which scale and bias have another type than the input.
#include "lift/rewriter.h"

#include <algorithm>

#include "base/error.h"

namespace retort {
namespace {

void drop_unknown_attributes(Rewriter& r) {
  constexpr std::string_view kKnown[] = {"axis", "epsilon", "stash_type"};
  std::vector<std::string> unknown;
  for (const auto& [name, value] : r.attributes()) {
    if (std::ranges::count(kKnown, name) == 0) unknown.push_back(name);
  }
  for (const std::string& name : unknown) {
    r.erase({name});
    r.note(cat("attribute '{}' is unknown and has no effect; remove it", name));
  }
}

// X: T; Scale, B: V. Computes in float or double; Y has type V.
void apply_other_type(Rewriter& r) {
  if (!r.has(0) || !r.has(1) || r.type(0).dtype == r.type(1).dtype) return;
  drop_unknown_attributes(r);
  const DType type = r.type(1).dtype;
  const DType wide = r.type(0).dtype == DType::f64 || type == DType::f64 ? DType::f64 : DType::f32;
  std::vector<ValueId> inputs;
  for (size_t i = 0; i < r.node().inputs.size(); ++i)
    inputs.push_back(r.has(i) ? cast(r, r.input(i), wide) : ValueId::none);
  const std::vector<ValueId> outputs = r.node().outputs;
  std::vector<ValueId> made =
      r.add_all({.type = r.node().type, .inputs = inputs, .attributes = r.attributes(), .outputs = outputs.size()});
  made[0] = cast(r, made[0], type);
  for (size_t i = 0; i < outputs.size(); ++i)
    if (outputs[i] != ValueId::none) r.replace_output(i, made[i]);
  r.remove();
}

constexpr LiftRule kLayerNormalizationRules[] = {
    {"LayerNormalization", 17, apply_other_type},
    {"LayerNormalization", kAlways, drop_unknown_attributes},
    {"SimplifiedLayerNormalization", kAlways, drop_unknown_attributes},
    {"SimplifiedLayerNormalization", kAlways, apply_other_type},
};

}  // namespace

extern const LiftRules lift_layer_normalization;
constinit const LiftRules lift_layer_normalization{kLayerNormalizationRules};

}  // namespace retort
