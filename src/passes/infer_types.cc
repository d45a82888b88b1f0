#include "base/loading.h"
#include "passes/passes.h"

namespace retort {

void infer_types(Graph& graph, Node& n) {
  for (Body& b : n.bodies) {
    const size_t formal = b.graph->inputs.size() - n.captures, own = n.inputs.size() - n.captures;
    for (size_t i = 0; i < n.captures; ++i) {
      const GraphValue& outer = graph.value(n.inputs[own + i]);
      GraphValue& inner = b.graph->value(b.graph->inputs[formal + i]);
      inner.type = outer.type;
      inner.known = outer.known;
      inner.has_known = outer.has_known;
    }
    infer_types(*b.graph);
  }
  infer_node(graph, n);
}

void infer_types(Graph& graph) {
  for (NodeId id : graph.order()) {
    check_loading();
    Node& n = graph.node(id);
    if (n.op) infer_types(graph, n);
  }
}

}  // namespace retort
