// Removes nodes that nothing depends on, and constants that nothing uses.
#include "base/loading.h"
#include "passes/passes.h"

namespace retort {
namespace {

void remove_dead_code(Graph& graph, PassContext& context) {
  const std::span<const NodeId> order = graph.order();
  const std::vector<NodeId> nodes(order.rbegin(), order.rend());
  for (NodeId id : nodes) {
    check_loading();
    if (graph.node(id).dead) continue;
    remove_dead(graph, id);
    context.count("dead node", graph.node(id).dead);
  }
  for (size_t i = 0; i < graph.value_count(); ++i) {
    GraphValue& v = graph.value(ValueId(i));
    if (!v.is_constant() || graph.use_count(ValueId(i)) != 0 || graph.is_input(ValueId(i))) continue;
    v.constant = {};
    context.count("unused constant");
  }
}

}  // namespace

constinit const Pass pass_dead_code{"dead_code", 1, remove_dead_code};

}  // namespace retort
