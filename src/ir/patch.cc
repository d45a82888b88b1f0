#include "ir/patch.h"

#include <algorithm>

#include "base/error.h"
#include "ir/describe.h"

namespace retort {

ValueId Patch::constant(Tensor tensor, std::string name_hint) {
  const ValueId id = ValueId(next_++);
  sequence_.emplace_back(true, constants_.size());
  constants_.push_back({std::move(name_hint), std::move(tensor), id});
  return id;
}

std::vector<ValueId> Patch::add_multi(NodeSpec spec) {
  std::vector<ValueId> outputs;
  for (size_t i = 0; i < spec.outputs; ++i) outputs.push_back(ValueId(next_++));
  sequence_.emplace_back(false, nodes_.size());
  nodes_.push_back({std::move(spec), outputs});
  return outputs;
}

std::vector<std::string> Patch::origins(const Graph& graph) const {
  std::vector<std::string> names;
  for (NodeId id : covered_) {
    const Node& n = graph.node(id);
    const auto& from = n.origins.empty() ? std::vector<std::string>{label(graph, n)} : n.origins;
    for (const std::string& name : from) {
      if (!name.empty() && std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
    }
  }
  return names;
}

void Patch::check_types(const Graph& graph) const {
  for (const auto& [before, after] : replacements_) {
    if (size_t(after) >= graph.value_count()) continue;  // made by this patch; inference sets its type afterwards
    const ValueType &a = graph.value(before).type, &b = graph.value(after).type;
    if (a.is_tensor() && b.is_tensor() && a.dtype != b.dtype) {
      fail(ErrorCode::invalid_graph, "a rewrite would change '{}' from {} to {}", graph.value(before).name,
           dtype_name(a.dtype), dtype_name(b.dtype));
    }
  }
}

std::vector<NodeId> Patch::apply(Graph& graph) && {
  check_types(graph);
  const std::vector<std::string> from = origins(graph);
  const uint32_t position = covered_.empty() ? 0 : graph.node(covered_[0]).position;
  for (const auto& [is_constant, index] : sequence_) {  // ids were assigned in this order when the patch was built
    if (is_constant) {
      graph.add_constant(graph.unique_name(constants_[index].name), std::move(constants_[index].tensor));
    } else {
      for (size_t i = 0; i < nodes_[index].outputs.size(); ++i) {
        const NodeSpec& spec = nodes_[index].spec;
        graph.add_value(graph.unique_name(spec.name.empty() ? spec.type : spec.name));
      }
    }
  }
  std::vector<NodeId> added;
  for (Added& a : nodes_) {
    Node n;
    n.type = std::move(a.spec.type);
    n.domain = std::move(a.spec.domain);
    n.version = a.spec.version;
    n.attributes = std::move(a.spec.attributes);
    n.inputs = std::move(a.spec.inputs);
    n.outputs = std::move(a.outputs);
    n.name = std::move(a.spec.name);
    if (n.name.empty() && !from.empty()) n.name = from.back();
    n.position = position;
    n.origins = from;
    added.push_back(graph.add_node(std::move(n)));
  }
  for (const auto& [before, after] : replacements_) {
    if (size_t(after) >= graph.value_count())
      fail(ErrorCode::invalid_graph, "a rewrite replaces a value by one that it did not add");
    GraphValue& to = graph.value(after);
    if (to.type.kind == ValueType::Kind::unknown) to.type = graph.value(before).type;
    graph.replace_uses(before, after);
  }
  return added;
}

}  // namespace retort
