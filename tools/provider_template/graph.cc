#include "graph.h"

#include <algorithm>
#include <cctype>

#include "operators.h"

namespace sample_provider {
namespace {

using Values = std::vector<const OrtValueInfo*>;

/// A list that the host gives in two calls: how many, then all of them.
template <typename Count, typename Get>
Values listed(const Host& host, const OrtNode* node, Count count, Get get) {
  size_t n = 0;
  check(host, count(node, &n));
  Values values(n);
  check(host, get(node, values.data(), n));
  return values;
}

std::vector<std::string> names(const Host& host, const Values& values) {
  std::vector<std::string> all;
  for (const OrtValueInfo* value : values) {
    const char* name = nullptr;
    if (value) check(host, host.api->GetValueInfoName(value, &name));
    all.emplace_back(name ? name : "");
  }
  return all;
}

Values inputs(const Host& host, const OrtNode* node) {
  return listed(host, node, host.api->Node_GetNumInputs, host.api->Node_GetInputs);
}

/// The type of a value in the model. Free extents may have names.
struct Type {
  bool floats = false, ranked = false;
  std::vector<int64_t> extents;
  std::vector<std::string> symbols;
};

Type type_of(const Host& host, const OrtValueInfo* value) {
  Type type;
  const OrtTypeInfo* info = nullptr;
  const OrtTensorTypeAndShapeInfo* tensor = nullptr;
  ONNXTensorElementDataType element = ONNX_TENSOR_ELEMENT_DATA_TYPE_UNDEFINED;
  if (value) check(host, host.api->GetValueInfoTypeInfo(value, &info));
  if (info) check(host, host.api->CastTypeInfoToTensorInfo(info, &tensor));
  if (!tensor) return type;
  check(host, host.api->GetTensorElementType(tensor, &element));
  type.floats = element == ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT;
  type.ranked = host.api->TensorTypeAndShape_HasShape(tensor);
  size_t rank = 0;
  check(host, host.api->GetDimensionsCount(tensor, &rank));
  type.extents.resize(rank);
  std::vector<const char*> symbols(rank);
  check(host, host.api->GetDimensions(tensor, type.extents.data(), rank));
  check(host, host.api->GetSymbolicDimensions(tensor, symbols.data(), rank));
  for (const char* s : symbols) type.symbols.emplace_back(s ? s : "");
  return type;
}

/// Whether tensors of both types have one shape in every run.
bool same_shape(const Type& a, const Type& b) {
  if (!a.ranked || !b.ranked || a.extents.size() != b.extents.size()) return false;
  for (size_t i = 0; i < a.extents.size(); ++i) {
    if (a.extents[i] != b.extents[i]) return false;
    if (a.extents[i] < 0 && (a.symbols[i].empty() || a.symbols[i] != b.symbols[i])) return false;
  }
  return true;
}

}  // namespace

std::vector<const OrtNode*> nodes_of(const Host& host, const OrtGraph* graph) {
  size_t n = 0;
  check(host, host.api->Graph_GetNumNodes(graph, &n));
  std::vector<const OrtNode*> nodes(n);
  check(host, host.api->Graph_GetNodes(graph, nodes.data(), n));
  return nodes;
}

bool is_body(const Host& host, const OrtGraph* graph) {
  const OrtNode* parent = nullptr;
  check(host, host.api->Graph_GetParentNode(graph, &parent));
  return parent != nullptr;
}

std::string type_of(const Host& host, const OrtNode* node) {
  const char* type = nullptr;
  check(host, host.api->Node_GetOperatorType(node, &type));
  return type ? type : "";
}

std::vector<std::string> inputs_of(const Host& host, const OrtNode* node) { return names(host, inputs(host, node)); }
std::vector<std::string> outputs_of(const Host& host, const OrtNode* node) {
  return names(host, listed(host, node, host.api->Node_GetNumOutputs, host.api->Node_GetOutputs));
}
std::vector<std::string> captures_of(const Host& host, const OrtNode* node) {
  return names(host, listed(host, node, host.api->Node_GetNumImplicitInputs, host.api->Node_GetImplicitInputs));
}

bool can_do(const Host& host, const OrtNode* node) {
  const char* domain = nullptr;
  int since = 0;
  check(host, host.api->Node_GetDomain(node, &domain));
  check(host, host.api->Node_GetSinceVersion(node, &since));
  const auto known = operators().find(type_of(host, node));
  if ((domain && *domain && std::string(domain) != "ai.onnx") || known == operators().end()) return false;
  const Operator& op = known->second;
  const Values values = inputs(host, node);
  if (since < op.since || since > op.until || values.size() != op.inputs) return false;
  const Type first = type_of(host, values[0]);
  // Nodes of other element types are not claimed, nor nodes that broadcast: this provider has no code for these.
  return std::all_of(values.begin(), values.end(), [&](const OrtValueInfo* value) {
    const Type type = type_of(host, value);
    return type.floats && (values.size() == 1 || same_shape(type, first));
  });
}

std::string option(const Host& host, const OrtSessionOptions* options, const std::string& name) {
  // Options of a provider come as entries of the session's, "ep.<name>.<option>", the name in small letters.
  std::string key = kName;
  std::transform(key.begin(), key.end(), key.begin(), [](unsigned char c) { return char(std::tolower(c)); });
  key = "ep." + key + "." + name;
  int has = 0;
  size_t size = 0;
  check(host, host.api->HasSessionConfigEntry(options, key.c_str(), &has));
  if (!has) return {};
  check(host, host.api->GetSessionConfigEntry(options, key.c_str(), nullptr, &size));
  std::string value(size, '\0');
  check(host, host.api->GetSessionConfigEntry(options, key.c_str(), value.data(), &size));
  return value.c_str();  // the size counts the zero at the end
}

}  // namespace sample_provider
