#include "ep/fold.h"

#include <algorithm>
#include <set>

#include "base/error.h"
#include "base/loading.h"
#include "lift/lift.h"
#include "ops/op.h"
#include "passes/known_values.h"
#include "passes/pass.h"

namespace retort {
namespace {

/// Nodes that read only constants and results of each other.
std::vector<NodeId> find_closed(const Graph& graph, const ExternalOps* external) {
  std::set<ValueId> known;
  const auto is_known = [&](ValueId v) {
    return v == ValueId::none || graph.value(v).is_constant() || known.contains(v);
  };
  std::vector<NodeId> closed;
  for (const NodeId id : graph.order()) {
    const Node& node = graph.node(id);
    const bool ours =
        has_operator(node.domain, node.type) && !(external && external->find(node.domain, node.type, node.version));
    if (!ours || node.inputs.empty() || !node.bodies.empty() || !std::ranges::all_of(node.inputs, is_known)) continue;
    closed.push_back(id);
    known.insert(node.outputs.begin(), node.outputs.end());
  }
  return closed;
}

/// Whether the node converts a value to the type that it has, which `lifted` knows.
bool changes_nothing(const Graph& graph, const Node& node, const Graph& lifted) {
  if (node.type != "Cast" || !node.domain.empty() || node.inputs.size() != 1 || graph.is_output(node.outputs[0]))
    return false;
  const ValueType &from = lifted.value(node.inputs[0]).type, &to = lifted.value(node.outputs[0]).type;
  return from.is_tensor() && to.is_tensor() && from.dtype != DType::undefined && from.dtype == to.dtype;
}

/// Removes conversions that change nothing, and replaces integers that follow from shapes, such as the extents of an
/// input, by constants. A lifted copy of the graph knows both: values and nodes keep their ids there.
void replace_known_values(Graph& graph, const ExternalOps* external) {
  const std::shared_ptr<Graph> lifted = graph.clone();
  try {
    lift(*lifted, external);
  } catch (const Error&) {  // what comes before a node that only a provider knows is lifted
  }
  const std::vector<NodeId> order(graph.order().begin(), graph.order().end());
  for (const NodeId id : order) {
    const Node &node = graph.node(id), &twin = lifted->node(id);
    if (node.dead || node.outputs.size() != 1 || twin.dead || !twin.op || twin.op->has(kRandom)) continue;
    const ValueId out = node.outputs[0];
    if (changes_nothing(graph, node, *lifted)) {
      graph.replace_uses(out, node.inputs[0]);
      remove_dead(graph, id);
      continue;
    }
    const ValueType& type = graph.value(out).type;
    std::optional<Tensor> content = known_content(lifted->value(out));
    if (content && (!type.is_tensor() || type.dtype == content->dtype())) {
      graph.make_constant(out, std::move(*content));
      remove_dead(graph, id);
    }
  }
}

/// Makes a copy of these nodes alone, with all their results as outputs, lowered as far as folding needs.
std::shared_ptr<const Graph> lowered_alone(const Model& model, const std::vector<NodeId>& nodes,
                                           const std::vector<ValueId>& results, LowerOptions options) {
  Model alone;
  alone.opsets = model.opsets;
  alone.dims = model.dims;
  alone.graph = model.graph->clone();
  Graph& graph = *alone.graph;
  graph.inputs.clear();
  graph.outputs = results;
  const std::vector<NodeId> order(graph.order().begin(), graph.order().end());
  const std::set<NodeId> kept(nodes.begin(), nodes.end());
  for (auto id = order.rbegin(); id != order.rend(); ++id) {
    if (!kept.contains(*id)) graph.remove(*id);
  }
  options.level = 1;
  options.logger = nullptr;
  options.strict_shapes = false;
  lower_for_cpu(alone, options);
  return alone.graph;
}

}  // namespace

void fold_before_claims(Model& model, const LowerOptions& options) {
  Graph& graph = *model.graph;
  if (options.level < 1) return;
  lift_constants(graph);
  replace_known_values(graph, options.external);
  const std::vector<NodeId> closed = find_closed(graph, options.external);
  std::vector<ValueId> results;
  for (const NodeId id : closed) std::ranges::copy(graph.node(id).outputs, std::back_inserter(results));
  std::erase(results, ValueId::none);
  if (results.empty()) return;
  std::shared_ptr<const Graph> lowered;
  try {
    lowered = lowered_alone(model, closed, results, options);
  } catch (const Error&) {
    check_loading(options.parallel);
    return;  // an error is reported when the whole model is lowered
  }
  for (size_t i = 0; i < results.size(); ++i) {
    const Tensor* made = lowered->constant(lowered->outputs[i]);
    const ValueType& type = graph.value(results[i]).type;
    if (!made || (type.is_tensor() && type.dtype != made->dtype())) continue;
    graph.make_constant(results[i], *made);
  }
  const auto is_gone = [](ValueId v) { return v == ValueId::none; };
  for (const NodeId id : closed) {
    if (!graph.node(id).dead && std::ranges::all_of(graph.node(id).outputs, is_gone)) remove_dead(graph, id);
  }
}

}  // namespace retort
