#include "lift/schema_types.h"

#include <algorithm>
#include <array>

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

/// The last port may be variadic.
const Port& port_of(std::span<const Port> ports, size_t i) { return ports[std::min(i, ports.size() - 1)]; }

/// The schema_text() of tensors, which nearly all values are.
const std::string& tensor_text(DType type) {
  static const auto* const kTexts = [] {
    auto* texts = new std::array<std::string, kDTypeCount>;
    for (int t = 1; t < kDTypeCount; ++t) (*texts)[size_t(t)] = schema_text(ValueType::tensor(DType(t)));
    return texts;
  }();
  return (*kTexts)[size_t(type)];
}

/// Whether the port allows the type of the value, as far as it is known.
bool allows(const Graph& graph, ValueId id, const Port& port) {
  const ValueType& type = graph.value(id).type;
  const auto has = [&](std::string_view wanted) { return std::ranges::find(port.types, wanted) != port.types.end(); };
  if (!type.is_tensor()) {
    const std::string text = schema_text(type);
    return text.empty() || has(text);
  }
  const std::string& text = tensor_text(type.dtype);
  // A sparse initializer of the model is a dense constant here.
  return text.empty() || has(text) || (graph.constant(id) && has(cat("sparse_{}", text)));
}

/// Operators take bfloat16 wherever they take float16, also in versions and definitions that do not have it.
bool takes(const Graph& graph, ValueId id, const Port& port) {
  if (allows(graph, id, port)) return true;
  const ValueType& type = graph.value(id).type;
  return type.is_tensor() && type.dtype == DType::bf16 &&
         std::ranges::count(port.types, std::string_view("tensor(float16)")) > 0;
}

bool is_known(const ValueType& type) {
  return type.is_tensor() ? type.dtype != DType::undefined : !schema_text(type).empty();
}

bool same(const ValueType& a, const ValueType& b) {
  return a.is_tensor() && b.is_tensor() ? a.dtype == b.dtype : schema_text(a) == schema_text(b);
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

}  // namespace

int version_for_types(const Graph& graph, const Node& node, int version) {
  const auto fits = [&](int candidate) {
    const std::vector<Port> ports = onnx::operator_inputs(node.domain, node.type, candidate);
    for (size_t i = 0; !ports.empty() && i < node.inputs.size() - node.captures; ++i) {
      if (node.inputs[i] != ValueId::none && !allows(graph, node.inputs[i], port_of(ports, i))) return false;
    }
    return true;
  };
  if (fits(version)) return version;
  for (const int newer : onnx::operator_versions(node.domain, node.type)) {
    if (newer > version && fits(newer)) return newer;
  }
  return version;
}

const std::vector<Port>& SchemaTypes::inputs_of(const Node& node) {
  for (const Known& k : known_) {
    if (k.type == node.type && k.version == node.version && k.domain == node.domain) return k.inputs;
  }
  known_.push_back({node.domain, node.type, node.version, onnx::operator_inputs(node.domain, node.type, node.version)});
  return known_.back().inputs;
}

void SchemaTypes::check(const Graph& graph, const Node& node) {
  if (node.version == 0) return;  // a node of the engine
  const std::vector<Port>& ports = inputs_of(node);
  bound_.assign(ports.size(), nullptr);
  for (size_t i = 0; !ports.empty() && i < node.inputs.size() - node.captures; ++i) {
    if (node.inputs[i] == ValueId::none) continue;
    const Port& port = port_of(ports, i);
    const ValueType& type = graph.value(node.inputs[i]).type;
    if (!takes(graph, node.inputs[i], port)) fail_type(graph, i, port, type);
    if (port.mixed || port.parameter.empty() || !is_known(type)) continue;
    const ValueType*& first =
        bound_[size_t(std::ranges::find(ports, port.parameter, &Port::parameter) - ports.begin())];
    if (!first) first = &type;
    if (!same(*first, type))
      fail(ErrorCode::fail,
           "input {} ({}) is of type {}, but an earlier one of the same constraint {} is of type {}; cast one of them",
           i, port.name, shown(schema_text(type)), port.parameter, shown(schema_text(*first)));
  }
}

}  // namespace retort
