// Pad: "paddings" became "pads" in opset 2; pads and value became inputs in opset 11.
#include "lift/lift.h"

namespace retort {
namespace {

void rename(Graph& g, NodeId n) {
  Node& node = g.node(n);
  const Attribute* old = node.attributes.find("paddings");
  if (!old) return;
  node.attributes.set("pads", *old);
  node.attributes.erase("paddings");
}

void inputs(Graph& g, NodeId n) {
  attribute_to_input(g, n, "pads", 1);
  const float value = g.node(n).attributes.get_or<float>("value", 0.0f);
  g.node(n).attributes.erase("value");
  const DType type = g.value(g.node(n).inputs[0]).type.dtype;
  if (value == 0.0f || type == DType::undefined) return;  // zero is the newer form's default
  constant_to_input(g, n, type == DType::f64 ? Tensor::of<double>({}, {double(value)}) : Tensor::of<float>({}, {value}),
                    2);
}
constexpr LiftRule kRules[] = {{"Pad", 2, rename}, {"Pad", 11, inputs}};

}  // namespace

extern const LiftRules lift_pad;
constinit const LiftRules lift_pad{kRules, std::size(kRules)};

}  // namespace retort
