// Dropout does nothing at inference: its first output is its input. A mask that is asked for is all true.
#include "lift/lift.h"

namespace retort {
namespace {

constexpr int kAlways = 1 << 20;

bool mask_is_used(const Graph& g, const Node& node) {
  return node.outputs.size() > 1 && node.outputs[1] != ValueId::none && g.use_count(node.outputs[1]) > 0;
}

void apply(Graph& g, NodeId n) {
  if (mask_is_used(g, g.node(n))) {
    const ValueId shape = g.node(g.add({.type = "Shape", .inputs = {g.node(n).inputs[0]}})).outputs[0];
    Tensor one(DType::boolean, {1});
    *one.mutable_data<bool>() = true;
    const ValueId mask =
        g.node(g.add({.type = "ConstantOfShape", .inputs = {shape}, .attributes = {{"value", std::move(one)}}}))
            .outputs[0];
    g.replace_uses(g.node(n).outputs[1], mask);
  }
  replace_node(g, n, g.node(n).inputs[0]);
}
constexpr LiftRule kRules[] = {{"Dropout", kAlways, apply}};

}  // namespace

extern const LiftRules lift_dropout;
constinit const LiftRules lift_dropout{kRules, std::size(kRules)};

}  // namespace retort
