#include "graph.h"

#include <algorithm>

namespace providers {
namespace {

using InfoList = std::vector<const OrtValueInfo*>;

InfoList inputs_of(const OrtNode* node) {
  size_t n = 0;
  check(api().Node_GetNumInputs(node, &n));
  InfoList list(n);
  check(api().Node_GetInputs(node, list.data(), n));
  return list;
}

InfoList outputs_of(const OrtNode* node) {
  size_t n = 0;
  check(api().Node_GetNumOutputs(node, &n));
  InfoList list(n);
  check(api().Node_GetOutputs(node, list.data(), n));
  return list;
}

InfoList implicit_of(const OrtNode* node) {
  size_t n = 0;
  check(api().Node_GetNumImplicitInputs(node, &n));
  InfoList list(n);
  check(api().Node_GetImplicitInputs(node, list.data(), n));
  return list;
}

// The name of a value; "" for an omitted input or output.
std::string name_of_info(const OrtValueInfo* info) {
  const char* name = nullptr;
  if (info) check(api().GetValueInfoName(info, &name));
  return name ? name : "";
}

std::vector<std::string> names_of(const InfoList& list) {
  std::vector<std::string> names;
  for (const OrtValueInfo* info : list) names.push_back(name_of_info(info));
  return names;
}

// If the buffer is too small, hosts return the required size.
std::string bytes_of(const Node& node, const std::string& name, OrtOpAttrType type) {
  const OrtOpAttr* attribute = node.attributes.at(name);
  OrtOpAttrType actual = ORT_OP_ATTR_UNDEFINED;
  check(api().OpAttr_GetType(attribute, &actual));
  if (actual != type)
    throw Error(text(node.who(), ": attribute '", name, "' has type ", int(actual), ", wanted ", int(type)),
                ORT_INVALID_GRAPH);
  std::string data(512, 0);
  size_t needed = 0;
  OrtStatus* status = api().ReadOpAttr(attribute, type, data.data(), data.size(), &needed);
  if (status && needed > data.size()) {
    api().ReleaseStatus(status);
    data.assign(needed, 0);
    status = api().ReadOpAttr(attribute, type, data.data(), data.size(), &needed);
  }
  check(status);
  data.resize(std::min(needed, data.size()));
  return data;
}

// An attribute of a node that is in no graph; null if it has none of this name.
template <typename T>
const T* given_as(const Node& node, const std::string& name) {
  const auto at = node.given.find(name);
  return at == node.given.end() ? nullptr : &std::get<T>(at->second);
}

template <typename T>
T scalar(const Node& node, const std::string& name, OrtOpAttrType type, T otherwise) {
  if (!node.has(name)) return otherwise;
  if (const T* const given = given_as<T>(node, name)) return *given;
  const std::string data = bytes_of(node, name, type);
  T value = otherwise;
  if (data.size() >= sizeof value) std::copy_n(data.data(), sizeof value, reinterpret_cast<char*>(&value));
  return value;
}

void read_type(const OrtValueInfo* info, Value& v) {
  const OrtTypeInfo* type = nullptr;
  check(api().GetValueInfoTypeInfo(info, &type));
  if (!type) return;
  const OrtTensorTypeAndShapeInfo* tensor = nullptr;
  check(api().CastTypeInfoToTensorInfo(type, &tensor));
  if (!tensor) return;
  check(api().GetTensorElementType(tensor, &v.type));
  size_t rank = 0;
  check(api().GetDimensionsCount(tensor, &rank));
  v.dims.assign(rank, -1);
  if (rank) check(api().GetDimensions(tensor, v.dims.data(), rank));
  for (int64_t& d : v.dims) d = d < 0 ? -1 : d;
  // In this version of the interface, an unknown shape looks like that of a scalar.
  v.has_rank = rank > 0;
}

}  // namespace

size_t size_of(ONNXTensorElementDataType type) {
  switch (type) {
    case ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT8:
    case ONNX_TENSOR_ELEMENT_DATA_TYPE_INT8:
    case ONNX_TENSOR_ELEMENT_DATA_TYPE_BOOL:
    case ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT8E4M3FN:
    case ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT8E5M2:
      return 1;
    case ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT16:
    case ONNX_TENSOR_ELEMENT_DATA_TYPE_BFLOAT16:
    case ONNX_TENSOR_ELEMENT_DATA_TYPE_INT16:
    case ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT16:
      return 2;
    case ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT:
    case ONNX_TENSOR_ELEMENT_DATA_TYPE_INT32:
    case ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT32:
      return 4;
    case ONNX_TENSOR_ELEMENT_DATA_TYPE_DOUBLE:
    case ONNX_TENSOR_ELEMENT_DATA_TYPE_INT64:
    case ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT64:
      return 8;
    default:
      return 0;
  }
}

const char* name_of(ONNXTensorElementDataType type) {
  switch (type) {
    case ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT:
      return "float32";
    case ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT16:
      return "float16";
    case ONNX_TENSOR_ELEMENT_DATA_TYPE_DOUBLE:
      return "float64";
    case ONNX_TENSOR_ELEMENT_DATA_TYPE_BFLOAT16:
      return "bfloat16";
    case ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT8E4M3FN:
      return "float8e4m3fn";
    case ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT8E5M2:
      return "float8e5m2";
    case ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT8:
      return "uint8";
    case ONNX_TENSOR_ELEMENT_DATA_TYPE_INT8:
      return "int8";
    case ONNX_TENSOR_ELEMENT_DATA_TYPE_INT32:
      return "int32";
    case ONNX_TENSOR_ELEMENT_DATA_TYPE_INT64:
      return "int64";
    default:
      return "another type";
  }
}

size_t TensorView::count() const {
  size_t n = 1;
  for (const int64_t d : dims) n *= size_t(d);
  return n;
}
size_t TensorView::bytes() const { return count() * size_of(type); }

std::vector<int64_t> TensorView::integers() const {
  std::vector<int64_t> list(count());
  if (type == ONNX_TENSOR_ELEMENT_DATA_TYPE_INT64)
    std::copy_n(static_cast<const int64_t*>(data), list.size(), list.begin());
  else if (type == ONNX_TENSOR_ELEMENT_DATA_TYPE_INT32)
    std::copy_n(static_cast<const int32_t*>(data), list.size(), list.begin());
  else
    throw Error(text("a list of integers has type ", name_of(type), "; it must be int64 or int32"), ORT_INVALID_GRAPH);
  return list;
}

TensorView view_of(const OrtValue* value) {
  TensorView v;
  OrtTensorTypeAndShapeInfo* made = nullptr;
  check(api().GetTensorTypeAndShape(value, &made));
  const Owned<OrtTensorTypeAndShapeInfo> info(made, api().ReleaseTensorTypeAndShapeInfo);
  check(api().GetTensorElementType(made, &v.type));
  size_t rank = 0;
  check(api().GetDimensionsCount(made, &rank));
  v.dims.resize(rank);
  if (rank) check(api().GetDimensions(made, v.dims.data(), rank));
  check(api().GetTensorMutableData(const_cast<OrtValue*>(value), &v.mutable_data));
  v.data = v.mutable_data;
  return v;
}

bool Value::fixed() const {
  return has_rank && std::all_of(dims.begin(), dims.end(), [](int64_t d) { return d >= 0; });
}

int64_t Node::integer(const std::string& attribute, int64_t otherwise) const {
  return scalar(*this, attribute, ORT_OP_ATTR_INT, otherwise);
}
float Node::number(const std::string& attribute, float otherwise) const {
  return scalar(*this, attribute, ORT_OP_ATTR_FLOAT, otherwise);
}
std::string Node::string(const std::string& attribute, const std::string& otherwise) const {
  if (!has(attribute)) return otherwise;
  if (const auto* const own = given_as<std::string>(*this, attribute)) return *own;
  const std::string data = bytes_of(*this, attribute, ORT_OP_ATTR_STRING);
  return data.substr(0, data.find('\0'));
}
Dims Node::integers(const std::string& attribute, const Dims& otherwise) const {
  if (!has(attribute)) return otherwise;
  if (const auto* const own = given_as<Dims>(*this, attribute)) return *own;
  const std::string data = bytes_of(*this, attribute, ORT_OP_ATTR_INTS);
  Dims list(data.size() / sizeof(int64_t));
  std::copy_n(data.data(), list.size() * sizeof(int64_t), reinterpret_cast<char*>(list.data()));
  return list;
}

std::vector<float> Node::numbers(const std::string& attribute) const {
  if (!has(attribute)) return {};
  const std::string data = bytes_of(*this, attribute, ORT_OP_ATTR_FLOATS);
  std::vector<float> list(data.size() / sizeof(float));
  std::copy_n(data.data(), list.size() * sizeof(float), reinterpret_cast<char*>(list.data()));
  return list;
}
// The host ends each with a zero.
std::vector<std::string> Node::strings(const std::string& attribute) const {
  std::vector<std::string> list;
  if (!has(attribute)) return list;
  const std::string data = bytes_of(*this, attribute, ORT_OP_ATTR_STRINGS);
  for (size_t begin = 0; begin < data.size();) {
    const size_t end = std::min(data.find('\0', begin), data.size());
    list.push_back(data.substr(begin, end - begin));
    begin = end + 1;
  }
  return list;
}

std::string Node::inputs_text() const {
  std::string s;
  for (const Value* v : in) {
    if (!v) continue;
    s += (s.empty() ? "'" : ", '") + v->name + "' " + name_of(v->type) + (v->has_rank ? shape_text(v->dims) : "[...]");
  }
  return s;
}

Graph::Graph(const OrtGraph* graph) {
  size_t n = 0;
  check(api().Graph_GetNumNodes(graph, &n));
  std::vector<const OrtNode*> handles(n);
  check(api().Graph_GetNodes(graph, handles.data(), n));
  for (const OrtNode* handle : handles) read_node(handle);
  check(api().Graph_GetNumOutputs(graph, &n));
  InfoList infos(n);
  check(api().Graph_GetOutputs(graph, infos.data(), n));
  for (const OrtValueInfo* info : infos) outputs_.push_back(value(info));
}

Value* Graph::value(const OrtValueInfo* info) {
  const std::string name = name_of_info(info);
  if (name.empty()) return nullptr;
  const auto known = by_name_.find(name);
  if (known != by_name_.end()) return known->second;
  Value& v = values_.emplace_back();
  v.name = name;
  read_type(info, v);
  bool constant = false;
  check(api().ValueInfo_IsConstantInitializer(info, &constant));
  if (constant) check(api().ValueInfo_GetInitializerValue(info, &v.constant));
  v.has_rank = v.has_rank || v.constant;
  by_name_[name] = &v;
  return &v;
}

void Graph::read_node(const OrtNode* handle) {
  Node& node = nodes_.emplace_back();
  node.handle = handle;
  const char *name = "", *type = "", *domain = "";
  check(api().Node_GetName(handle, &name));
  check(api().Node_GetOperatorType(handle, &type));
  check(api().Node_GetDomain(handle, &domain));
  check(api().Node_GetSinceVersion(handle, &node.since));
  node.name = name;
  node.type = type;
  node.domain = std::string(domain) == "ai.onnx" ? "" : domain;
  for (const OrtValueInfo* info : inputs_of(handle)) node.in.push_back(value(info));
  for (const OrtValueInfo* info : outputs_of(handle)) {
    Value* made = value(info);
    if (made) made->maker = &node;
    node.out.push_back(made);
  }
  for (const OrtValueInfo* info : implicit_of(handle)) node.implicit.push_back(value(info));
  size_t n = 0;
  check(api().Node_GetNumAttributes(handle, &n));
  std::vector<const OrtOpAttr*> list(n);
  check(api().Node_GetAttributes(handle, list.data(), n));
  for (const OrtOpAttr* attribute : list) {
    const char* key = "";
    check(api().OpAttr_GetName(attribute, &key));
    node.attributes[key] = attribute;
  }
}

std::vector<std::string> input_names(const OrtNode* node) { return names_of(inputs_of(node)); }
std::vector<std::string> output_names(const OrtNode* node) { return names_of(outputs_of(node)); }

}  // namespace providers
