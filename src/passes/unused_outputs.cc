// Omits optional outputs that have no consumers, so that kernels skip them (statistics of a normalisation, indices of a
// pool).
#include "passes/passes.h"

namespace retort {
namespace {

bool is_optional(const OpDef& op, size_t output) {
  return output < op.info.outputs.size() && op.info.outputs[output].text().ends_with("?");
}

/// Removes omitted outputs from the end. Returns whether there were any.
bool trim(Node& n) {
  const size_t before = n.outputs.size();
  while (n.outputs.size() > 1 && n.outputs.back() == ValueId::none) n.outputs.pop_back();
  return n.outputs.size() != before;
}

void drop_unused_outputs(Graph& graph, PassContext& context) {
  for (NodeId id : graph.order()) {
    Node& n = graph.node(id);
    if (!n.op) continue;
    if (trim(n)) context.count("omitted output");  // the model listed it without a name
    if (n.op->has(kCountsOutputs)) continue;
    for (size_t i = 0; i < n.outputs.size(); ++i) {
      const ValueId out = n.outputs[i];
      if (out == ValueId::none || !is_optional(*n.op, i) || graph.use_count(out) != 0) continue;
      graph.value(out).producer = NodeId::none;
      n.outputs[i] = ValueId::none;
      context.count("output");
    }
    trim(n);
  }
}

}  // namespace

constinit const Pass pass_unused_outputs{"unused_outputs", 1, drop_unused_outputs};

}  // namespace retort
