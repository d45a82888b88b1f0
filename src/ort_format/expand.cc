#include "ort_format/expand.h"

#include <vector>

namespace retort::ort_format {
namespace {

/// Builds the nodes that replace one node; values have the type of the node's output.
class Expansion {
 public:
  Expansion(Graph& graph, NodeId node) : graph_(graph), node_(node) {}

  ValueId add(const char* type, std::vector<ValueId> inputs, Attributes attributes = {}) {
    const Node& n = graph_.node(node_);
    const NodeId made = graph_.add({.type = type,
                                    .inputs = std::move(inputs),
                                    .attributes = std::move(attributes),
                                    .name = n.name,
                                    .version = n.version,
                                    .position = n.position});
    const ValueId out = graph_.node(made).outputs[0];
    graph_.value(out).type = graph_.value(graph_.node(node_).outputs[0]).type;
    return out;
  }
  void become(ValueId result) {
    graph_.replace_uses(graph_.node(node_).outputs[0], result);
    graph_.remove(node_);
  }

 private:
  Graph& graph_;
  NodeId node_;
};

void expand(Graph& graph, NodeId id) {
  const Node& n = graph.node(id);
  const ValueId x = n.input(0), like = n.input(1);
  const float alpha = n.attributes.get_or<float>("alpha", 1);
  Expansion to(graph, id);
  if (n.is("HardSwish")) {
    to.become(to.add("Mul", {x, to.add("HardSigmoid", {x}, {{"alpha", 1.0f / 6}, {"beta", 0.5f}})}));
  } else if (n.is("Mish")) {
    to.become(to.add("Mul", {x, to.add("Tanh", {to.add("Softplus", {x})})}));
  } else if (n.is("Swish") && alpha == 1) {
    to.become(to.add("Mul", {x, to.add("Sigmoid", {x})}));
  } else if (n.is("CastLike") && graph.value(like).type.dtype != DType::undefined) {
    Attributes attributes = n.attributes;
    attributes.set("to", int64_t(graph.value(like).type.dtype));
    to.become(to.add("Cast", {x}, std::move(attributes)));
  }
}

}  // namespace

void expand_functions(Graph& graph) {
  const std::span<const NodeId> order = graph.order();
  for (const NodeId id : std::vector<NodeId>(order.begin(), order.end())) {
    for (const Body& b : graph.node(id).bodies) expand_functions(*b.graph);
    expand(graph, id);
  }
}

}  // namespace retort::ort_format
