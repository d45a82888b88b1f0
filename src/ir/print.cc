#include "base/error.h"
#include "ir/describe.h"
#include "ir/graph.h"

namespace retort {

std::string type_text(const Graph& graph, const ValueType& type) {
  switch (type.kind) {
    case ValueType::Kind::tensor:
    case ValueType::Kind::sparse:
      return std::string(dtype_name(type.dtype)) + (type.ranked ? graph.dims().text(type.shape) : "[...]");
    case ValueType::Kind::sequence:
      return "seq(" + (type.element ? type_text(graph, *type.element) : "?") + ")";
    case ValueType::Kind::optional:
      return "optional(" + (type.element ? type_text(graph, *type.element) : "?") + ")";
    case ValueType::Kind::map:
      return "map(" + std::string(dtype_name(type.key)) + ")";
    case ValueType::Kind::opaque:
      return "opaque";
    case ValueType::Kind::unknown:
      break;
  }
  return "?";
}

std::string attribute_text(const Attribute& a) {
  if (const auto* v = std::get_if<int64_t>(&a)) return std::to_string(*v);
  if (const auto* v = std::get_if<float>(&a)) return cat("{}", *v);
  if (const auto* v = std::get_if<std::string>(&a)) return "\"" + *v + "\"";
  if (const auto* v = std::get_if<std::vector<int64_t>>(&a)) return to_string(*v);
  if (const auto* v = std::get_if<Tensor>(&a)) return std::string(dtype_name(v->dtype())) + to_string(v->shape());
  return std::string(attribute_kind(a));
}

namespace {

std::string values_text(const Graph& graph, std::span<const ValueId> ids) {
  std::string text;
  for (size_t i = 0; i < ids.size(); ++i) {
    text += i ? ", " : "";
    text += ids[i] == ValueId::none ? "_" : graph.value(ids[i]).name;
  }
  return text;
}

std::string node_text(const Graph& graph, const Node& n) {
  std::string line = "  ";
  for (size_t i = 0; i < n.outputs.size(); ++i) {
    line += i ? ", " : "";
    if (n.outputs[i] == ValueId::none) {
      line += "_";
    } else {
      const GraphValue& v = graph.value(n.outputs[i]);
      line += v.name + ": " + type_text(graph, v.type);
    }
  }
  line += " = " + (n.domain.empty() ? n.type : n.domain + "." + n.type) + "(" + values_text(graph, n.inputs) + ")";
  std::string attributes;
  for (const auto& [name, value] : n.attributes)
    attributes += (attributes.empty() ? " {" : ", ") + name + "=" + attribute_text(value);
  return line + attributes + (attributes.empty() ? "\n" : "}\n");
}

}  // namespace

std::string describe(const Node& n) {
  const std::string type = cat("({}{}{})", n.domain, n.domain.empty() ? "" : ".", n.type);
  return n.name.empty() ? "node " + type : cat("node '{}' {}", n.name, type);
}

const std::string& label(const Graph& graph, const Node& n) {
  if (!n.name.empty()) return n.name;
  for (ValueId out : n.outputs) {
    if (out != ValueId::none) return graph.value(out).name;
  }
  return n.name;
}

std::string describe(const Graph& graph, const Node& n) {
  if (!n.name.empty()) return describe(n);
  for (ValueId out : n.outputs) {
    if (out == ValueId::none || graph.value(out).name.empty()) continue;
    return cat("node of output '{}' ({}{}{})", graph.value(out).name, n.domain, n.domain.empty() ? "" : ".", n.type);
  }
  return describe(n);
}

std::string print(const Graph& graph) {
  std::string text = "graph(";
  for (size_t i = 0; i < graph.inputs.size(); ++i) {
    const GraphValue& v = graph.value(graph.inputs[i]);
    text += (i ? ", " : "") + v.name + ": " + type_text(graph, v.type);
  }
  text += ") {\n";
  for (NodeId id : graph.order()) {
    text += node_text(graph, graph.node(id));
    for (const Body& b : graph.node(id).bodies) text += "  " + b.attribute + " = " + print(*b.graph);
  }
  return text + "  return " + values_text(graph, graph.outputs) + "\n}\n";
}

}  // namespace retort
