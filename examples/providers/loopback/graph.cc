#include "graph.h"

#include "control_flow.h"

namespace loopback {
namespace {

std::string text(const char* s) { return s ? s : ""; }

ONNXTensorElementDataType element_type(const Host& host, const OrtValueInfo* value) {
  const OrtTypeInfo* type = nullptr;
  const OrtTensorTypeAndShapeInfo* tensor = nullptr;
  ONNXTensorElementDataType element = ONNX_TENSOR_ELEMENT_DATA_TYPE_UNDEFINED;
  check(host, host.api->GetValueInfoTypeInfo(value, &type));
  if (type) check(host, host.api->CastTypeInfoToTensorInfo(type, &tensor));
  if (tensor) check(host, host.api->GetTensorElementType(tensor, &element));
  return element;
}

bool names(const std::string& list, const std::string& type) {
  return list == "*" || ("," + list + ",").find("," + type + ",") != std::string::npos;
}

const OrtOpAttr* attribute_of(const Host& host, const OrtNode* node, const char* name) {
  const OrtOpAttr* found = nullptr;
  if (OrtStatus* missing = host.api->Node_GetAttributeByName(node, name, &found)) host.api->ReleaseStatus(missing);
  return found;
}

std::vector<int64_t> integers(const Host& host, const OrtValue* value) {
  const Tensor t = tensor_of(host, value);
  const auto* data = static_cast<const int64_t*>(t.data);
  return {data, data + t.elements()};
}

}  // namespace

std::string name_of(const Host& host, const OrtValueInfo* value) {
  const char* name = nullptr;
  if (value) check(host, host.api->GetValueInfoName(value, &name));
  return text(name);
}
std::string name_of(const Host& host, const OrtNode* node) {
  const char* name = nullptr;
  check(host, host.api->Node_GetName(node, &name));
  return text(name);
}
std::string type_of(const Host& host, const OrtNode* node) {
  const char* type = nullptr;
  check(host, host.api->Node_GetOperatorType(node, &type));
  return text(type);
}
std::string domain_of(const Host& host, const OrtNode* node) {
  const char* domain = nullptr;
  check(host, host.api->Node_GetDomain(node, &domain));
  return text(domain);
}

std::vector<const OrtNode*> nodes_of(const Host& host, const OrtGraph* graph) {
  size_t n = 0;
  check(host, host.api->Graph_GetNumNodes(graph, &n));
  std::vector<const OrtNode*> nodes(n);
  check(host, host.api->Graph_GetNodes(graph, nodes.data(), n));
  return nodes;
}
std::vector<const OrtValueInfo*> inputs_of(const Host& host, const OrtNode* node) {
  size_t n = 0;
  check(host, host.api->Node_GetNumInputs(node, &n));
  std::vector<const OrtValueInfo*> values(n);
  check(host, host.api->Node_GetInputs(node, values.data(), n));
  return values;
}
std::vector<const OrtValueInfo*> outputs_of(const Host& host, const OrtNode* node) {
  size_t n = 0;
  check(host, host.api->Node_GetNumOutputs(node, &n));
  std::vector<const OrtValueInfo*> values(n);
  check(host, host.api->Node_GetOutputs(node, values.data(), n));
  return values;
}
std::vector<std::string> names_of(const Host& host, const std::vector<const OrtValueInfo*>& values) {
  std::vector<std::string> names;
  for (const OrtValueInfo* v : values) names.push_back(name_of(host, v));
  return names;
}

std::vector<std::string> read_by(const Host& host, const OrtNode* node) {
  auto values = inputs_of(host, node);
  size_t n = 0;
  check(host, host.api->Node_GetNumImplicitInputs(node, &n));
  std::vector<const OrtValueInfo*> implicit(n);
  check(host, host.api->Node_GetImplicitInputs(node, implicit.data(), n));
  values.insert(values.end(), implicit.begin(), implicit.end());
  return names_of(host, values);
}

const OrtValue* constant_of(const Host& host, const OrtValueInfo* value) {
  bool constant = false;
  const OrtValue* data = nullptr;
  if (value) check(host, host.api->ValueInfo_IsConstantInitializer(value, &constant));
  if (constant) check(host, host.api->ValueInfo_GetInitializerValue(value, &data));
  return data;
}

std::string text_of(const Host& host, const OrtNode* node, const char* attribute) {
  size_t size = 0;
  const OrtOpAttr* found = attribute_of(host, node, attribute);
  if (!found) return {};
  // The first call returns the size, and an error because there is no buffer.
  host.api->ReleaseStatus(host.api->ReadOpAttr(found, ORT_OP_ATTR_STRING, nullptr, 0, &size));
  std::string value(size, '\0');
  if (size) check(host, host.api->ReadOpAttr(found, ORT_OP_ATTR_STRING, value.data(), size, &size));
  return value;
}

int64_t number_of(const Host& host, const OrtNode* node, const char* attribute, int64_t otherwise) {
  size_t size = 0;
  int64_t value = otherwise;
  if (const OrtOpAttr* found = attribute_of(host, node, attribute))
    check(host, host.api->ReadOpAttr(found, ORT_OP_ATTR_INT, &value, sizeof value, &size));
  return value;
}

/// The key of a node's operator in operators(); "" for other domains.
std::string operator_name(const Host& host, const OrtNode* node) {
  const std::string type = type_of(host, node), domain = domain_of(host, node);
  if (domain == kChannelsLastDomain) return kChannelsLast + type;
  return domain.empty() || domain == "ai.onnx" ? type : "";
}

bool can_do(const Host& host, const OrtNode* node, const std::string& claim) {
  const auto known = operators().find(operator_name(host, node));
  if (known == operators().end() || !names(claim, type_of(host, node))) return false;
  const Operator& op = known->second;
  int since = 0;
  check(host, host.api->Node_GetSinceVersion(node, &since));
  const auto inputs = inputs_of(host, node);
  if (since < op.since || since > op.until || inputs.size() < op.least || inputs.size() > op.most) return false;
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (name_of(host, inputs[i]).empty()) return false;
    const bool constant = op.constant_input && i == op.constant_input;
    if (constant && !constant_of(host, inputs[i])) return false;
    const auto wanted = constant ? ONNX_TENSOR_ELEMENT_DATA_TYPE_INT64 : ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT;
    if (element_type(host, inputs[i]) != wanted) return false;
  }
  return true;
}

bool is_control_flow(const Host& host, const OrtNode* node, const std::string& claim) {
  const std::string type = type_of(host, node), domain = domain_of(host, node);
  return control_flow().count(type) && (domain.empty() || domain == "ai.onnx") && names(claim, type);
}

Operation operation_of(const Host& host, const OrtNode* node) {
  Operation op;
  op.type = operator_name(host, node);
  size_t n = 0, size = 0;
  check(host, host.api->Node_GetNumAttributes(node, &n));
  std::vector<const OrtOpAttr*> attributes(n);
  check(host, host.api->Node_GetAttributes(node, attributes.data(), n));
  for (const OrtOpAttr* a : attributes) {
    OrtOpAttrType type = ORT_OP_ATTR_UNDEFINED;
    const char* name = nullptr;
    float real = 0;
    int64_t whole = 0;
    check(host, host.api->OpAttr_GetType(a, &type));
    check(host, host.api->OpAttr_GetName(a, &name));
    if (type == ORT_OP_ATTR_FLOAT) {
      check(host, host.api->ReadOpAttr(a, type, &real, sizeof real, &size));
      op.numbers[name] = double(real);
    } else if (type == ORT_OP_ATTR_INT) {
      check(host, host.api->ReadOpAttr(a, type, &whole, sizeof whole, &size));
      op.numbers[name] = double(whole);
    }
  }
  const size_t constant = operator_of(op.type).constant_input;
  const auto inputs = inputs_of(host, node);
  if (constant && constant < inputs.size())
    op.constants[constant] = integers(host, constant_of(host, inputs[constant]));
  return op;
}

}  // namespace loopback
