// Moves captured constants into the bodies of If, Loop and Scan, where the other passes can use them.
#include "base/loading.h"
#include "passes/optimize.h"
#include "passes/passes.h"

namespace retort {
namespace {

// Removes input `slot` of the node, which is capture number `index`, after it has become a constant in every body.
void sink(Graph& graph, Node& n, size_t slot, size_t index) {
  const Tensor value = graph.value(n.inputs[slot]).constant;
  for (Body& b : n.bodies) {
    Graph& body = *b.graph;
    const size_t position = body.inputs.size() - n.captures + index;
    const ValueId inner = body.inputs[position];
    body.inputs.erase(body.inputs.begin() + ptrdiff_t(position));
    --body.captures;
    body.make_constant(inner, value);
  }
  for (size_t i = slot; i + 1 < n.inputs.size(); ++i) graph.set_input(n.id, i, n.inputs[i + 1]);
  graph.resize_inputs(n.id, n.inputs.size() - 1);
  --n.captures;
}

void sink_all(Graph& graph, PassContext& context) {
  const std::span<const NodeId> order = graph.order();
  for (NodeId id : std::vector<NodeId>(order.begin(), order.end())) {
    check_loading();
    Node& n = graph.node(id);
    if (!n.op) continue;
    for (size_t sunk = sink_constants(graph, n); sunk-- > 0;) context.count("capture");
  }
}

}  // namespace

size_t sink_constants(Graph& graph, Node& n) {
  size_t sunk = 0;
  for (size_t index = n.captures; index-- > 0;) {
    const size_t slot = n.inputs.size() - n.captures + index;
    if (!graph.constant(n.inputs[slot])) continue;
    sink(graph, n, slot, index);
    ++sunk;
  }
  return sunk;
}

constinit const Pass pass_sink_constants{"sink_constants", 1, sink_all};

}  // namespace retort
