// com.microsoft.FusedConv: a Conv, the addition of a tensor Z and an activation, from models that ONNX Runtime has
// optimised. The separate operators are fused again by this engine's passes.
#include "lift/fused_activation.h"
#include "lift/rewriter.h"

namespace retort {
namespace {

void apply_fused_conv(Rewriter& r) {
  const auto name = r.attributes().get_or<std::string>("activation", "");
  const auto parameters = r.attributes().get_or<std::vector<float>>("activation_params", {});
  const bool adds = r.has(3);
  r.erase({"activation", "activation_params"});
  std::vector<ValueId> inputs = {r.input(0), r.input(1)};
  if (r.has(2)) inputs.push_back(r.input(2));
  ValueId y = r.add({.type = "Conv", .inputs = inputs, .attributes = r.attributes()});
  if (adds) y = r.add({.type = "Add", .inputs = {y, r.input(3)}});
  r.replace_output(0, activated(r, y, name, parameters));
  r.remove();
}

constexpr LiftRule kFusedConvRules[] = {{"FusedConv", kAlways, apply_fused_conv, "com.microsoft"}};

}  // namespace

extern const LiftRules lift_fused_conv;
constinit const LiftRules lift_fused_conv{kFusedConvRules};

}  // namespace retort
