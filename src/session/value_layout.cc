#include "session/value_layout.h"

#include <algorithm>
#include <utility>

namespace retort {
namespace {

constexpr size_t kPastValue = 4, kPresentValue = 2, kRank = 4;

// Adds a value with the name of `id` and the other order; `id` gets another name.
ValueId add_swapped(Graph& graph, ValueId id) {
  ValueType type = graph.value(id).type;
  if (type.is_tensor() && type.ranked && type.shape.rank() == kRank) std::swap(type.shape[2], type.shape[3]);
  const std::string name = graph.value(id).name;
  graph.value(id).name = graph.unique_name(name);
  return graph.add_value(name, std::move(type));
}

void add_transpose(Graph& graph, int version, ValueId from, ValueId to) {
  Node n;
  n.type = "Transpose";
  n.version = version;
  n.attributes = {{"perm", std::vector<int64_t>{0, 1, 3, 2}}};
  n.inputs = {from};
  n.outputs = {to};
  graph.add_node(std::move(n));
  graph.touch();
}

bool swap_input(Graph& graph, int version, ValueId id) {
  const auto at = std::ranges::find(graph.inputs, id);
  if (at == graph.inputs.end() || graph.is_output(id) || graph.defaults.contains(id)) return false;
  *at = add_swapped(graph, id);
  add_transpose(graph, version, *at, id);
  return true;
}

bool swap_output(Graph& graph, int version, ValueId id) {
  const auto at = std::ranges::find(graph.outputs, id);
  if (at == graph.outputs.end()) return false;
  const ValueId swapped = add_swapped(graph, id);
  std::ranges::replace(graph.outputs, id, swapped);
  add_transpose(graph, version, id, swapped);
  return true;
}

}  // namespace

size_t lay_out_values_bnhs(Model& model) {
  Graph& graph = *model.graph;
  const int version = model.opsets.emplace("", 13).first->second;
  const std::vector<NodeId> order(graph.order().begin(), graph.order().end());
  size_t count = 0;
  for (const NodeId id : order) {
    if (!graph.node(id).is("GroupQueryAttention", "com.microsoft")) continue;
    const ValueId past = graph.node(id).input(kPastValue);
    const std::vector<ValueId> outputs = graph.node(id).outputs;
    if (past != ValueId::none) count += swap_input(graph, version, past);
    if (outputs.size() > kPresentValue && outputs[kPresentValue] != ValueId::none)
      count += swap_output(graph, version, outputs[kPresentValue]);
  }
  return count;
}

}  // namespace retort
