#include <string>
#include <unordered_set>

#include "base/error.h"
#include "base/loading.h"
#include "onnx/write_context.h"

namespace retort::onnx {
namespace {

MessageWriter write_node(const Graph& graph, const Names& names, const Node& n, const std::string& node_name,
                         const WriteOptions& options) {
  MessageWriter m;
  const size_t own = n.inputs.size() - n.captures;
  for (size_t i = 0; i < own; ++i) m.bytes(tag::node::input, names.of(n.inputs[i]));
  for (ValueId out : n.outputs) m.bytes(tag::node::output, names.of(out));
  m.text(tag::node::name, node_name);
  m.bytes(tag::node::op_type, n.type);
  for (const auto& [name, value] : n.attributes) {
    m.message(tag::node::attribute, write_attribute(graph.dims(), name, value));
  }
  std::vector<std::string> captured;
  for (size_t i = own; i < n.inputs.size(); ++i) captured.push_back(names.of(n.inputs[i]));
  for (const Body& b : n.bodies) {
    MessageWriter a;
    a.bytes(tag::attribute::name, b.attribute);
    a.message(tag::attribute::g, write_body(*b.graph, &names, captured, options));
    a.integer(tag::attribute::type, int64_t(AttributeKind::graph));
    m.message(tag::node::attribute, a);
  }
  m.text(tag::node::domain, n.domain);
  m.text(tag::node::overload, n.overload);
  return m;
}

}  // namespace

void write_nodes(MessageWriter& to, uint32_t field, const Graph& graph, const Names& names,
                 const WriteOptions& options) {
  // Fused nodes share the name that they inherit; in a file, names must be unique.
  std::unordered_set<std::string> taken;
  for (NodeId id : graph.order()) {
    check_loading();
    const Node& n = graph.node(id);
    std::string name = n.name;
    for (size_t i = 1; !name.empty() && !taken.insert(name).second; ++i) name = cat("{}#{}", n.name, i);
    to.message(field, write_node(graph, names, n, name, options));
  }
}

MessageWriter write_value_info(const Graph& graph, const Names& names, ValueId id) {
  MessageWriter m;
  m.bytes(tag::value_info::name, names.of(id));
  const ValueType& type = graph.value(id).type;
  if (type.kind != ValueType::Kind::unknown) m.message(tag::value_info::type, write_type(graph.dims(), type));
  return m;
}

void write_value_infos(MessageWriter& to, uint32_t field, const Graph& graph, const Names& names) {
  std::vector<bool> skip(graph.value_count());
  for (ValueId id : graph.outputs) skip[size_t(id)] = true;
  for (NodeId node : graph.order()) {
    check_loading();
    for (ValueId id : graph.node(node).outputs) {
      if (id == ValueId::none || skip[size_t(id)]) continue;
      if (graph.value(id).type.kind == ValueType::Kind::unknown) continue;
      to.message(field, write_value_info(graph, names, id));
    }
  }
}

void for_each_constant(const Graph& graph, const std::function<void(ValueId, const Tensor&)>& f) {
  std::vector<bool> returned(graph.value_count());
  for (ValueId id : graph.outputs) returned[size_t(id)] = true;
  for (size_t i = 0; i < graph.value_count(); ++i) {
    const GraphValue& v = graph.value(ValueId(i));
    if (!v.is_constant() || (!returned[i] && v.uses.empty())) continue;
    check_loading();
    f(ValueId(i), v.constant);
  }
  for (const auto& [id, tensor] : graph.defaults) f(id, tensor);
}

MessageWriter write_graph_head(const Graph& graph, const Names& names, const WriteOptions& options) {
  MessageWriter m;
  write_nodes(m, tag::graph::node, graph, names, options);
  m.bytes(tag::graph::name, graph.name.empty() ? "graph" : graph.name);
  m.text(tag::graph::doc, graph.doc);
  const size_t formal = graph.inputs.size() - graph.captures;
  for (size_t i = 0; i < formal; ++i) m.message(tag::graph::input, write_value_info(graph, names, graph.inputs[i]));
  for (ValueId id : graph.outputs) m.message(tag::graph::output, write_value_info(graph, names, id));
  write_value_infos(m, tag::graph::value_info, graph, names);
  return m;
}

MessageWriter write_body(const Graph& graph, const Names* outer, const std::vector<std::string>& captured,
                         const WriteOptions& options) {
  const Names names(graph, outer, captured);
  MessageWriter m = write_graph_head(graph, names, options);
  for_each_constant(graph, [&](ValueId id, const Tensor& tensor) {
    const auto located = write_located_tensor(tensor, names.of(id), options);
    m.message(tag::graph::initializer, located ? *located : write_tensor(tensor, names.of(id)));
  });
  return m;
}

}  // namespace retort::onnx
