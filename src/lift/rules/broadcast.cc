// Arithmetic and comparison before opset 7: broadcasting had to be asked for, and the smaller shape could begin at
// `axis`.
#include "base/error.h"
#include "lift/lift.h"

namespace retort {
namespace {

void apply(Graph& g, NodeId n) {
  Node& node = g.node(n);
  const auto axis = node.attributes.get_or<int64_t>("axis", -1);
  const bool placed = node.attributes.has("axis") && axis >= 0;
  for (const char* name : {"axis", "broadcast", "consumed_inputs"}) node.attributes.erase(name);
  if (!placed) return;
  const ValueType a = g.value(node.inputs[0]).type, b = g.value(node.inputs[1]).type;
  require(a.ranked && b.ranked, ErrorCode::invalid_graph, "opset 6 broadcasting by axis needs inputs of known rank");
  const int64_t trailing = int64_t(a.rank()) - axis - int64_t(b.rank());
  require(trailing >= 0, ErrorCode::invalid_graph, "axis {} leaves no room for the second input's rank {}", axis,
          b.rank());
  if (trailing == 0) return;
  std::vector<int64_t> axes;
  for (int64_t i = 0; i < trailing; ++i) axes.push_back(int64_t(b.rank()) + i);
  const ValueId list = g.add_constant(g.unique_name("axes"), Tensor::of<int64_t>({trailing}, axes));
  const NodeId unsqueeze = g.add({.type = "Unsqueeze", .inputs = {g.node(n).inputs[1], list}, .version = 13});
  g.node(unsqueeze).position = g.node(n).position;
  g.set_input(n, 1, g.node(unsqueeze).outputs[0]);
}
constexpr LiftRule kRules[] = {{"Add", 7, apply},     {"Sub", 7, apply},  {"Mul", 7, apply},  {"Div", 7, apply},
                               {"Pow", 7, apply},     {"And", 7, apply},  {"Or", 7, apply},   {"Xor", 7, apply},
                               {"Greater", 7, apply}, {"Less", 7, apply}, {"Equal", 7, apply}};

}  // namespace

extern const LiftRules lift_broadcast;
constinit const LiftRules lift_broadcast{kRules, std::size(kRules)};

}  // namespace retort
