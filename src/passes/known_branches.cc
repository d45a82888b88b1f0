// Puts the branch of an If whose condition is known in its place: exporters write If nodes that ask for ranks and for
// settings. Its values then have shapes, other passes see its nodes, and nothing is copied out of a body.
#include <algorithm>
#include <set>

#include "base/loading.h"
#include "passes/known_values.h"
#include "passes/passes.h"

namespace retort {
namespace {

bool is_if(const Node& n) { return n.op && n.is("If"); }

/// The condition, if it is known before the model runs.
std::optional<bool> condition(const Graph& graph, const Node& n) {
  const Tensor* constant = graph.constant(n.inputs[0]);
  const std::optional<Tensor> known = constant ? *constant : known_content(graph.value(n.inputs[0]));
  if (!known || known->dtype() != DType::boolean || known->count() != 1) return std::nullopt;
  return *known->data<bool>();
}

class KnownBranches {
 public:
  KnownBranches(Graph& graph, PassContext& context) : graph_(graph), context_(context) {
    for (size_t i = 0; i < graph.value_count(); ++i) names_.insert(graph.value(ValueId(i)).name);
  }

  /// Infers the node, since its condition may follow from shapes that the branches before it have made known.
  void visit(NodeId id) {
    check_loading();
    if (graph_.node(id).dead || !graph_.node(id).op) return;
    infer_types(graph_, graph_.node(id));
    if (const std::shared_ptr<Graph> branch = known_branch(graph_.node(id))) {
      for (const NodeId inner : inlined(id, *branch)) visit(inner);
    }
  }

 private:
  std::shared_ptr<Graph> known_branch(const Node& n) const {
    const std::optional<bool> taken = is_if(n) ? condition(graph_, n) : std::nullopt;
    if (!taken) return nullptr;
    const auto body = std::ranges::find(n.bodies, *taken ? "then_branch" : "else_branch", &Body::attribute);
    if (body == n.bodies.end() || body->graph->outputs.size() < n.outputs.size()) return nullptr;
    return body->graph;
  }

  /// Replaces the If by the nodes of the branch, which are returned in order.
  std::vector<NodeId> inlined(NodeId id, const Graph& branch) {
    const std::vector<ValueId> outputs = graph_.node(id).outputs;
    const std::vector<ValueId> outer = outer_values(graph_.node(id), branch);
    const auto mapped = [&](std::vector<ValueId> values) {
      for (ValueId& v : values) v = v == ValueId::none ? v : outer[size_t(v)];
      return values;
    };
    std::vector<NodeId> added;
    for (const NodeId inner : branch.order()) {
      Node n = branch.node(inner);
      n.inputs = mapped(std::move(n.inputs));
      n.outputs = mapped(std::move(n.outputs));
      n.position = graph_.node(id).position;
      added.push_back(graph_.add_node(std::move(n)));
    }
    for (size_t i = 0; i < outputs.size(); ++i) {
      if (outputs[i] != ValueId::none) graph_.replace_uses(outputs[i], outer[size_t(branch.outputs[i])]);
    }
    remove_dead(graph_, id);
    context_.count("If");
    return added;
  }

  /// For each value of the branch, that of the graph that takes its place: what is captured, or a new one.
  std::vector<ValueId> outer_values(const Node& n, const Graph& branch) {
    std::vector<ValueId> outer(branch.value_count(), ValueId::none);
    for (size_t i = 0; i < branch.inputs.size(); ++i)
      outer[size_t(branch.inputs[i])] = n.inputs[n.inputs.size() - branch.inputs.size() + i];
    for (size_t i = 0; i < outer.size(); ++i) {
      const GraphValue& v = branch.value(ValueId(i));
      if (outer[i] != ValueId::none) continue;
      std::string name = v.name;
      while (!names_.insert(name).second) name = graph_.unique_name(v.name);
      outer[i] = v.is_constant() ? graph_.add_constant(name, v.constant) : graph_.add_value(name, v.type);
    }
    return outer;
  }

  Graph& graph_;
  PassContext& context_;
  std::set<std::string> names_;
};

void choose_known_branches(Graph& graph, PassContext& context) {
  const std::span<const NodeId> order = graph.order();
  if (std::ranges::none_of(order, [&](NodeId id) { return is_if(graph.node(id)); })) return;
  KnownBranches branches(graph, context);
  for (const NodeId id : std::vector<NodeId>(order.begin(), order.end())) branches.visit(id);
}

}  // namespace

constinit const Pass pass_known_branches{"known_branches", 1, choose_known_branches};

}  // namespace retort
