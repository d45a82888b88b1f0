// Clip: the bounds became inputs of the data's type in opset 11.
#include "lift/lift.h"

namespace retort {
namespace {

Tensor bound(DType type, float value) {
  switch (type) {
    case DType::f64:
      return Tensor::of<double>({}, {double(value)});
    case DType::f16:
      return Tensor::of<float16>({}, {float16(value)});
    default:
      return Tensor::of<float>({}, {value});
  }
}

void apply(Graph& g, NodeId n) {
  const DType type = g.value(g.node(n).inputs[0]).type.dtype;
  constexpr std::pair<const char*, size_t> kBounds[] = {{"min", 1}, {"max", 2}};
  for (const auto& [name, slot] : kBounds) {
    if (const float* v = g.node(n).attributes.get<float>(name)) constant_to_input(g, n, bound(type, *v), slot);
    g.node(n).attributes.erase(name);
  }
  g.node(n).attributes.erase("consumed_inputs");
}
constexpr LiftRule kRules[] = {{"Clip", 11, apply}};

}  // namespace

extern const LiftRules lift_clip;
constinit const LiftRules lift_clip{kRules, std::size(kRules)};

}  // namespace retort
