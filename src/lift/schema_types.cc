#include "lift/schema_types.h"

#include <algorithm>

#include "base/error.h"
#include "ir/describe.h"
#include "onnx/operator_schemas.h"

namespace retort {
namespace {

using Kind = ValueType::Kind;
using Port = onnx::OperatorSchema::Port;

std::string_view element_text(DType type) {
  if (type == DType::undefined) return "";
  return type == DType::f32 ? "float" : type == DType::f64 ? "double" : dtype_name(type);
}

/// The type as schemas have it, such as "tensor(float)"; "" if it is not known.
std::string schema_text(const ValueType& type) {
  const std::string inner(type.element ? schema_text(*type.element) : element_text(type.dtype));
  if (inner.empty()) return "";
  switch (type.kind) {
    case Kind::tensor:
      return cat("tensor({})", inner);
    case Kind::sparse:
      return cat("sparse_tensor({})", inner);
    case Kind::sequence:
      return cat("seq({})", inner);
    case Kind::optional:
      return cat("optional({})", inner);
    case Kind::map:
      return cat("map({}, {})", element_text(type.key), element_text(type.element ? type.element->dtype : type.dtype));
    default:
      return "";
  }
}

/// "float32" for "tensor(float)"; what is not a tensor stays as it is.
std::string_view shown(std::string_view type) {
  constexpr std::string_view kTensor = "tensor(";
  if (!type.starts_with(kTensor)) return type;
  type = type.substr(kTensor.size(), type.size() - kTensor.size() - 1);
  return type == "float" ? "float32" : type == "double" ? "float64" : type;
}

std::string shown(std::span<const char* const> types) {
  std::string text;
  for (const std::string_view type : types) text += cat("{}{}", text.empty() ? "" : ", ", shown(type));
  return text;
}

[[noreturn]] void fail_type(const Graph& graph, size_t i, const Port& port, const ValueType& type) {
  const bool takes_tensors = std::string_view(port.types.front()).starts_with("tensor(");
  const bool castable = takes_tensors && type.is_tensor();
  fail(ErrorCode::invalid_graph, "input {} ({}) is of type {}, but the operator takes {} there; {}", i, port.name,
       castable ? std::string(dtype_name(type.dtype)) : type_text(graph, type), shown(port.types),
       castable        ? "cast it"
       : takes_tensors ? "give such a tensor"
                       : "give such a value");
}

// True if the type is not known. A sparse initializer of the model is a dense constant here.
bool allows(const Graph& graph, ValueId value, const Port& port) {
  const ValueType& type = graph.value(value).type;
  const std::string text = schema_text(type);
  const auto has = [&](std::string_view wanted) { return std::ranges::count(port.types, wanted) > 0; };
  return text.empty() || has(text) || (type.is_tensor() && graph.constant(value) && has(cat("sparse_{}", text)));
}

// Operators take bfloat16 wherever they take float16, also in versions and definitions that do not have it.
bool takes(const Graph& graph, ValueId value, const Port& port) {
  if (allows(graph, value, port)) return true;
  const ValueType& type = graph.value(value).type;
  return type.is_tensor() && type.dtype == DType::bf16 &&
         std::ranges::count(port.types, std::string_view("tensor(float16)")) > 0;
}

}  // namespace

bool schema_allows(const Graph& graph, const Node& node, int version) {
  const std::vector<Port> ports = onnx::operator_inputs(node.domain, node.type, version);
  for (size_t i = 0; !ports.empty() && i < node.inputs.size() - node.captures; ++i) {
    const Port& port = ports[std::min(i, ports.size() - 1)];
    if (node.inputs[i] != ValueId::none && !allows(graph, node.inputs[i], port)) return false;
  }
  return true;
}

void check_schema_types(const Graph& graph, const Node& node) {
  if (node.version == 0) return;  // a node of the engine
  const std::vector<Port> ports = onnx::operator_inputs(node.domain, node.type, node.version);
  std::vector<const ValueType*> bound(ports.size());  // of type parameters, at the first port that has each
  for (size_t i = 0; !ports.empty() && i < node.inputs.size() - node.captures; ++i) {
    if (node.inputs[i] == ValueId::none) continue;
    const Port& port = ports[std::min(i, ports.size() - 1)];
    const ValueType& type = graph.value(node.inputs[i]).type;
    const std::string text = schema_text(type);
    if (text.empty()) continue;
    if (!takes(graph, node.inputs[i], port)) fail_type(graph, i, port, type);
    if (port.mixed || port.parameter.empty()) continue;
    const auto first = std::ranges::find(ports, port.parameter, &Port::parameter) - ports.begin();
    if (!bound[size_t(first)]) bound[size_t(first)] = &type;
    const std::string before = schema_text(*bound[size_t(first)]);
    require(before == text, ErrorCode::fail,
            "input {} ({}) is of type {}, but an earlier one of the same constraint {} is of type {}; cast one of them",
            i, port.name, shown(text), port.parameter, shown(before));
  }
}

}  // namespace retort
