#include <unordered_map>

#include "base/advice.h"
#include "base/error.h"
#include "ir/describe.h"
#include "lift/gradient.h"

namespace retort {
namespace {

using Names = std::unordered_map<std::string, ValueId>;
using Strings = std::vector<std::string>;

Names names_of(const Graph& graph) {
  Names names;
  for (size_t i = 0; i < graph.value_count(); ++i) names.emplace(graph.value(ValueId(i)).name, ValueId(i));
  return names;
}

ValueId value_named(const Names& names, const std::string& name) {
  const auto found = names.find(name);
  if (found != names.end() && !name.empty()) return found->second;
  std::vector<std::string_view> all;
  for (const auto& [known, id] : names) all.push_back(known);
  fail(ErrorCode::invalid_graph, "there is no value '{}' in the graph of this node; {}", name, use_one_of(name, all));
}

void append_named(Graph& graph, NodeId id, const Names& names) {
  const Attributes& a = graph.node(id).attributes;
  const auto *xs = a.get<Strings>("xs"), *zs = a.get<Strings>("zs");
  const auto* y = a.get<std::string>("y");
  require(xs && y, ErrorCode::invalid_graph, "attributes xs and y are required; set them");
  std::vector<ValueId> values{value_named(names, *y)};
  for (const Strings* list : {xs, zs}) {
    for (size_t i = 0; list && i < list->size(); ++i) values.push_back(value_named(names, (*list)[i]));
  }
  const size_t given = graph.node(id).inputs.size(), wanted = values.size() - 1;
  if (given == 2 * wanted + 1) return;
  require(given == wanted, ErrorCode::invalid_graph, "has {} inputs, but xs and zs name {}; give one for each", given,
          wanted);
  graph.resize_inputs(id, given + values.size());
  for (size_t i = 0; i < values.size(); ++i) graph.set_input(id, given + i, values[i]);
}

}  // namespace

void name_gradients(Graph& graph) {
  std::vector<NodeId> nodes;
  for (const NodeId id : graph.order()) {
    const Node& n = graph.node(id);
    if (!n.op && n.is("Gradient", "ai.onnx.preview.training")) nodes.push_back(id);
  }
  if (nodes.empty()) return;
  const Names names = names_of(graph);
  for (const NodeId id : nodes) {
    const std::string name = describe(graph, graph.node(id));
    try {
      append_named(graph, id, names);
    } catch (Error& e) {
      e.add_context(name);
      throw;
    }
  }
}

}  // namespace retort
