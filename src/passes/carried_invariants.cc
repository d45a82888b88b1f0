// Makes captures of the values that Loop and Scan carry unchanged from run to run of their body. Exporters of while
// loops carry everything that the body reads, weights too; as captures they are not copied, their types are known, and
// constants move into the body.
#include <algorithm>

#include "base/loading.h"
#include "passes/passes.h"

namespace retort {
namespace {

/// Where the carried values begin among the inputs (of the node and of its body alike) and the outputs of the body.
/// The outputs of the node begin with them.
struct Carried {
  size_t input = 0, output = 0, count = 0;
};

Carried carried(const Node& n) {
  const Graph& body = *n.bodies[0].graph;
  const size_t own = body.inputs.size() - body.captures;
  if (own != n.inputs.size() - n.captures) return {};  // Scan of opset 8 has another input
  if (n.is("Loop")) return {2, 1, own - 2};
  return {0, 0, own - size_t(n.attributes.get_or("num_scan_inputs", int64_t(0)))};
}

bool is_invariant(const Graph& body, ValueId input, ValueId output) {
  while (const Node* copy = body.producer(output)) {
    if (!copy->is("Identity")) return false;
    output = copy->inputs[0];
  }
  return output == input;
}

// Whether the body declares extents that are not known outside, or others.
bool declares_more(const ValueType& inside, const ValueType& outside) {
  if (!inside.ranked) return false;
  if (!outside.ranked || inside.rank() != outside.rank()) return true;
  for (size_t i = 0; i < inside.rank(); ++i) {
    if (is_known(inside.shape[i]) && inside.shape[i] != outside.shape[i]) return true;
  }
  return false;
}

// Before opset 11, a Loop must carry something.
bool must_carry(const Node& n, const Carried& all) {
  return n.is("Loop") && n.version < 11 && n.inputs.size() - n.captures == all.input + 1;
}

// In ONNX, a body may return its inputs, but no captures.
void copy_outputs(Graph& body, ValueId captured) {
  const size_t before = body.node_count();
  for (ValueId& output : body.outputs) {
    if (output == captured) output = body.node(body.add({.type = "Identity", .inputs = {captured}})).outputs[0];
  }
  resolve_new_nodes(body, before);
}

void move_to_end(Graph& graph, Node& n, size_t slot) {
  const ValueId moved = n.inputs[slot];
  for (size_t i = slot; i + 1 < n.inputs.size(); ++i) graph.set_input(n.id, i, n.inputs[i + 1]);
  graph.set_input(n.id, n.inputs.size() - 1, moved);
}

void erase_output(Graph& graph, Node& n, size_t index) {
  graph.value(n.outputs[index]).producer = NodeId::none;
  n.outputs.erase(n.outputs.begin() + ptrdiff_t(index));
  for (size_t i = index; i < n.outputs.size(); ++i) {
    if (n.outputs[i] != ValueId::none) graph.value(n.outputs[i]).producer_slot = uint32_t(i);
  }
  graph.touch();
}

void make_capture(Graph& graph, NodeId id, const Carried& from, size_t index) {
  if (index < graph.node(id).outputs.size()) {
    const ValueId result = graph.node(id).outputs[index];
    // This may add a node, which moves the others.
    if (result != ValueId::none) graph.replace_uses(result, graph.node(id).inputs[from.input + index]);
    erase_output(graph, graph.node(id), index);
  }
  Node& n = graph.node(id);
  Graph& body = *n.bodies[0].graph;
  const auto inner = body.inputs.begin() + ptrdiff_t(from.input + index);
  std::rotate(inner, inner + 1, body.inputs.end());
  ++body.captures;
  body.outputs.erase(body.outputs.begin() + ptrdiff_t(from.output + index));
  copy_outputs(body, body.inputs.back());
  body.touch();
  move_to_end(graph, n, from.input + index);
  ++n.captures;
}

void make_captures(Graph& graph, PassContext& context) {
  const std::span<const NodeId> order = graph.order();
  for (const NodeId id : std::vector<NodeId>(order.begin(), order.end())) {
    check_loading();
    if (const Node& n = graph.node(id); !n.op || !(n.is("Loop") || n.is("Scan"))) continue;
    const Carried all = carried(graph.node(id));
    for (size_t i = all.count; i-- > 0;) {
      const Node& n = graph.node(id);
      const Graph& body = *n.bodies[0].graph;
      const ValueId before = n.input(all.input + i);
      // A value of unknown type could be an optional or a sequence, whose type the body need not share.
      if (before == ValueId::none || !graph.value(before).type.is_tensor() ||
          !is_invariant(body, body.inputs[all.input + i], body.outputs[all.output + i]))
        continue;
      if (must_carry(n, all) || declares_more(body.value(body.inputs[all.input + i]).type, graph.value(before).type))
        continue;
      make_capture(graph, id, all, i);
      context.count("carried value");
    }
  }
}

}  // namespace

constinit const Pass pass_carried_invariants{"carried_invariants", 1, make_captures};

}  // namespace retort
