// Split: the sizes became an input in opset 13; equal parts must say how many they are since 18.
#include "lift/lift.h"

namespace retort {
namespace {

void sizes(Graph& g, NodeId n) { attribute_to_input(g, n, "split", 1); }
void parts(Graph& g, NodeId n) {
  Node& node = g.node(n);
  if (node.input(1) == ValueId::none) node.attributes.set("num_outputs", int64_t(node.outputs.size()));
}
constexpr LiftRule kRules[] = {{"Split", 13, sizes}, {"Split", 18, parts}};

}  // namespace

extern const LiftRules lift_split;
constinit const LiftRules lift_split{kRules, std::size(kRules)};

}  // namespace retort
