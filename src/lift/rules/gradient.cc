// Gradient: the derivatives of y by xs, for y as a function of xs and zs, at the values that the node is given.
// name_gradients() has appended y, xs and zs to the inputs of the node.
#include <algorithm>

#include "base/error.h"
#include "lift/gradient/backward.h"
#include "ops/op.h"

namespace retort {
namespace {

/// The nodes that compute `y` from `leaves`, every producer before its consumers.
std::vector<NodeId> nodes_between(const Graph& graph, ValueId y, const std::set<ValueId>& leaves) {
  std::set<ValueId> seen = leaves;
  std::set<NodeId> nodes;
  std::vector<ValueId> open{y};
  while (!open.empty()) {
    const ValueId id = open.back();
    open.pop_back();
    if (id == ValueId::none || !seen.insert(id).second) continue;
    const Node* const n = graph.producer(id);
    if (!n || !nodes.insert(n->id).second) continue;
    open.insert(open.end(), n->inputs.begin(), n->inputs.end());
  }
  std::vector<NodeId> sorted;
  std::ranges::copy_if(graph.order(), std::back_inserter(sorted), [&](NodeId id) { return nodes.contains(id); });
  return sorted;
}

/// Copies the nodes; a copy reads by[x] in place of x. Adds the copies of their outputs to `by`.
std::vector<NodeId> copied(Graph& graph, const std::vector<NodeId>& nodes, std::map<ValueId, ValueId>& by) {
  std::vector<NodeId> copies;
  for (const NodeId id : nodes) {
    Node n = graph.node(id);
    n.name = graph.unique_name(n.name);
    for (Body& body : n.bodies) body.graph = body.graph->clone();
    for (ValueId& in : n.inputs) {
      if (const auto found = by.find(in); found != by.end()) in = found->second;
    }
    for (ValueId& out : n.outputs) {
      if (out == ValueId::none) continue;
      const ValueId fresh = graph.add_value(graph.unique_name(graph.value(out).name));
      by[out] = fresh;
      out = fresh;
    }
    copies.push_back(graph.add_node(std::move(n)));
    infer_node(graph, graph.node(copies.back()));
  }
  return copies;
}

struct Differentiated {
  ValueId y;
  std::vector<ValueId> xs;
  std::vector<NodeId> nodes;
};

/// The function at the values that the node is given: the nodes of the model if these are its own xs and zs, otherwise
/// copies of the nodes that read the given values.
Differentiated function_of(Rewriter& r, size_t count, size_t differentiated) {
  const std::vector<ValueId> in = r.node().inputs;
  const ValueId y = in[count];
  const std::vector<ValueId> named(in.begin() + int64_t(count) + 1, in.end());
  Differentiated f{.y = y, .xs = {in.begin(), in.begin() + int64_t(differentiated)}, .nodes = {}};
  f.nodes = nodes_between(r.graph(), y, {named.begin(), named.end()});
  std::map<ValueId, ValueId> by;
  for (size_t i = 0; i < count; ++i) {
    if (named[i] != in[i]) by[named[i]] = in[i];
  }
  for (size_t i = 0; i < differentiated; ++i) {
    const bool read = named[i] == y || std::ranges::any_of(f.nodes, [&](NodeId id) {
                        return std::ranges::count(r.graph().node(id).inputs, named[i]) > 0;
                      });
    require(read, ErrorCode::invalid_graph, "'{}' does not depend on '{}'; leave that out of xs",
            r.graph().value(y).name, r.graph().value(named[i]).name);
  }
  if (by.empty()) return f;
  f.nodes = copied(r.graph(), f.nodes, by);
  if (const auto found = by.find(y); found != by.end()) f.y = found->second;
  return f;
}

void apply_gradient(Rewriter& r) {
  const auto* const xs = r.attributes().get<std::vector<std::string>>("xs");
  require(xs && r.node().inputs.size() % 2 == 1, ErrorCode::invalid_graph, "its values were not found by name");
  const size_t count = r.node().inputs.size() / 2, differentiated = xs->size();
  const Differentiated f = function_of(r, count, differentiated);
  gradient::Backward backward(r);
  backward.run(f.y, f.xs, f.nodes);
  for (size_t i = 0; i < std::min(differentiated, r.node().outputs.size()); ++i)
    r.replace_output(i, backward.derivative(f.xs[i]));
  r.remove();
}

constexpr LiftRule kGradientRules[] = {{"Gradient", kAlways, apply_gradient, "ai.onnx.preview.training"}};

}  // namespace

extern const LiftRules lift_gradient;
constinit const LiftRules lift_gradient{kGradientRules};

}  // namespace retort
