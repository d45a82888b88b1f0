// Softmax, LogSoftmax and Hardmax before opset 13 work on the input seen as a matrix that is split at `axis` (default
// 1).
#include "lift/lift.h"

namespace retort {
namespace {

void apply(Graph& g, NodeId n) {
  const int64_t axis = g.node(n).attributes.get_or<int64_t>("axis", 1);
  const ValueId x = g.node(n).inputs[0], y = g.node(n).outputs[0];
  const ValueType& type = g.value(x).type;
  if (type.ranked && (axis == int64_t(type.rank()) - 1 || axis == -1)) {  // the last axis: the same in both forms
    g.node(n).attributes.set("axis", int64_t(-1));
    return;
  }
  const int version = 13;
  const ValueId shape = g.node(g.add({.type = "Shape", .inputs = {x}, .version = version})).outputs[0];
  const ValueId flat =
      g.node(g.add({.type = "Flatten", .inputs = {x}, .attributes = {{"axis", axis}}, .version = version})).outputs[0];
  const NodeId inner = g.add({.type = g.node(n).type,
                              .inputs = {flat},
                              .attributes = {{"axis", int64_t(-1)}},
                              .name = g.node(n).name,
                              .version = version});
  const NodeId back = g.add({.type = "Reshape",
                             .inputs = {g.node(inner).outputs[0], shape},
                             .attributes = {{"allowzero", int64_t(1)}},
                             .version = version});
  g.value(g.node(back).outputs[0]).type = g.value(y).type;
  replace_node(g, n, g.node(back).outputs[0]);
}
constexpr LiftRule kRules[] = {{"Softmax", 13, apply}, {"LogSoftmax", 13, apply}, {"Hardmax", 13, apply}};

}  // namespace

extern const LiftRules lift_softmax;
constinit const LiftRules lift_softmax{kRules, std::size(kRules)};

}  // namespace retort
