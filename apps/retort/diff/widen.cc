#include "diff/widen.h"

#include <algorithm>
#include <cstring>
#include <iterator>

#include "diff/proto.h"
#include "formats/formats.h"

namespace retort::cli {
namespace {

constexpr int32_t kFloat = 1, kHalf = 10, kDouble = 11, kBfloat = 16;  // TensorProto.DataType
constexpr const char* kTypeAttributes[] = {"to",           "dtype",           "stash_type",
                                           "output_dtype", "output_datatype", "softmax_precision"};

/// Inputs that only take float32, and outputs that are always float32.
struct FloatOnly {
  const char* op;
  std::vector<size_t> inputs, outputs;
};
const std::vector<FloatOnly>& float_only() {
  static const std::vector<FloatOnly> all{{"Upsample", {1}, {}},
                                          {"NonMaxSuppression", {0, 1, 3, 4}, {}},
                                          {"QuantizeLinear", {0, 1}, {}},
                                          {"DequantizeLinear", {1}, {0}},
                                          {"DynamicQuantizeLinear", {0}, {1}},
                                          {"QLinearConv", {1, 4, 6}, {}},
                                          {"QLinearMatMul", {1, 4, 6}, {}},
                                          {"TreeEnsembleRegressor", {}, {0}},
                                          {"TreeEnsembleClassifier", {}, {1}},
                                          {"TfIdfVectorizer", {}, {0}}};
  return all;
}

std::string wide_tensor(data_view bytes) {
  int64_t type = 0;
  for (protozero::pbf_reader p(bytes); p.next();) {
    if (p.tag() == kTensorType)
      type = p.get_int64();
    else
      p.skip();
  }
  if (in_doubles(int32_t(type)) == type) return bytes.to_string();
  const HostValue value = parse_pb(bytes.to_string(), ONNX_TYPE_TENSOR);
  return pb_bytes(in_doubles(value), text(bytes, kTensorName));
}

std::string wide_type(data_view type) {
  return changed(type, [](Tag tag, data_view held) -> std::optional<std::string> {
    if (tag == kTypeTensor)
      return changed(
          held, [](Tag, data_view) { return std::optional<std::string>(); },
          [](Tag field, int64_t number) -> std::optional<int64_t> {
            return field == kTypeElement ? std::optional<int64_t>(in_doubles(int32_t(number))) : std::nullopt;
          });
    if (tag != kTypeSequence && tag != kTypeOptional) return {};
    return changed(held, [](Tag, data_view element) { return std::optional(wide_type(element)); });
  });
}

/// Constant's value_float and value_floats as a tensor of float64.
std::optional<std::string> wide_constant(data_view attribute, const std::string& name) {
  if (name != "value_float" && name != "value_floats") return {};
  std::vector<double> numbers;
  for (protozero::pbf_reader p(attribute); p.next();) {
    if (p.tag() == kAttributeFloat && name == "value_float")
      numbers.push_back(double(p.get_float()));
    else if (p.tag() == kAttributeFloats && p.wire_type() == protozero::pbf_wire_type::length_delimited)
      for (const float x : p.get_packed_float()) numbers.push_back(double(x));
    else if (p.tag() == kAttributeFloats)
      numbers.push_back(double(p.get_float()));
    else
      p.skip();
  }
  HostTensor t{.type = ONNX_TENSOR_ELEMENT_DATA_TYPE_DOUBLE, .shape = {}};
  if (name == "value_floats") t.shape = {int64_t(numbers.size())};
  t.bytes.resize(numbers.size() * sizeof(double));
  if (!numbers.empty()) std::memcpy(t.bytes.data(), numbers.data(), t.bytes.size());
  std::string out;
  protozero::pbf_writer p(out);
  p.add_string(kAttributeName, "value");
  p.add_message(kAttributeTensor, pb_bytes({.kind = HostValue::Kind::tensor, .tensor = std::move(t)}, ""));
  p.add_int32(kAttributeType, kTensorAttribute);
  return out;
}

std::string wide_graph(data_view graph);

std::string wide_attribute(data_view attribute) {
  const std::string name = text(attribute, kAttributeName);
  if (const auto constant = wide_constant(attribute, name)) return *constant;
  const bool types =
      std::find(std::begin(kTypeAttributes), std::end(kTypeAttributes), name) != std::end(kTypeAttributes);
  return changed(
      attribute,
      [](Tag tag, data_view field) -> std::optional<std::string> {
        if (tag == kAttributeTensor) return wide_tensor(field);
        return tag == kAttributeGraph ? std::optional(wide_graph(field)) : std::nullopt;
      },
      [types](Tag tag, int64_t number) -> std::optional<int64_t> {
        return types && tag == kAttributeInt ? std::optional<int64_t>(in_doubles(int32_t(number))) : std::nullopt;
      });
}

std::string cast(const std::string& from, const std::string& to, int32_t type) {
  std::string node = node_of("Cast", {from}, to);
  protozero::pbf_writer(node).add_message(kNodeAttribute, int_attribute("to", type));
  return node;
}

FloatOnly rule_of(data_view node) {
  const std::string op = text(node, kNodeOperator);
  if (op == "Resize") {
    const size_t inputs = fields(node, kNodeInput).size();
    return {"Resize", {inputs == 2 ? 1u : 2u}, {}};
  }
  const auto found = std::find_if(float_only().begin(), float_only().end(), [&](const auto& f) { return op == f.op; });
  return found == float_only().end() ? FloatOnly{"", {}, {}} : *found;
}

/// The node, with casts around what only supports float32.
std::vector<std::string> wide_nodes(data_view node, size_t number) {
  const FloatOnly rule = rule_of(node);
  std::vector<std::string> before, after;
  std::map<Tag, size_t> at;
  const std::string wide = changed(node, [&](Tag tag, data_view field) -> std::optional<std::string> {
    if (tag == kNodeAttribute) return wide_attribute(field);
    if (tag != kNodeInput && tag != kNodeOutput) return {};
    const std::vector<size_t>& ports = tag == kNodeInput ? rule.inputs : rule.outputs;
    const size_t i = at[tag]++;
    if (field.empty() || std::find(ports.begin(), ports.end(), i) == ports.end()) return {};
    const std::string name = field.to_string();
    const std::string narrow =
        name + ".float" + std::to_string(number) + (tag == kNodeInput ? "i" : "o") + std::to_string(i);
    if (tag == kNodeInput)
      before.push_back(cast(name, narrow, kFloat));
    else
      after.push_back(cast(narrow, name, kDouble));
    return narrow;
  });
  before.push_back(wide);
  before.insert(before.end(), after.begin(), after.end());
  return before;
}

/// The graph or function, whose nodes have that tag, with wide nodes; `rest` changes the other fields.
std::string with_wide_nodes(data_view message, Tag node_tag, const Change& rest) {
  std::string out = without(changed(message, rest), node_tag);
  size_t number = 0;
  for (const data_view node : fields(message, node_tag)) {
    for (const std::string& wide : wide_nodes(node, number++)) protozero::pbf_writer(out).add_message(node_tag, wide);
  }
  return out;
}

std::string wide_graph(data_view graph) {
  return without(with_wide_nodes(graph, kGraphNode,
                                 [](Tag tag, data_view field) -> std::optional<std::string> {
                                   if (tag == kGraphInitializer) return wide_tensor(field);
                                   if (tag != kGraphInput && tag != kGraphOutput) return {};
                                   return changed(field, [](Tag part, data_view type) {
                                     return part == kValueType ? std::optional(wide_type(type)) : std::nullopt;
                                   });
                                 }),
                 kGraphValueInfo);
}

}  // namespace

int32_t in_doubles(int32_t type) { return type == kFloat || type == kHalf || type == kBfloat ? kDouble : type; }

HostValue in_doubles(const HostValue& value) {
  HostValue wide = value;
  for (HostValue& item : wide.items) item = in_doubles(item);
  const HostTensor& t = value.tensor;
  if (value.kind != HostValue::Kind::tensor || !is_float(t.type)) return wide;
  wide.tensor.type = ONNX_TENSOR_ELEMENT_DATA_TYPE_DOUBLE;
  wide.tensor.bytes.resize(t.count() * sizeof(double));
  for (size_t i = 0; i < t.count(); ++i) set_number(wide.tensor, i, number(t, i));
  return wide;
}

std::string in_doubles(const std::string& model) try {
  return changed(data_view(model), [](Tag tag, data_view field) -> std::optional<std::string> {
    if (tag == kModelGraph) return wide_graph(field);
    if (tag != kModelFunction) return {};
    return with_wide_nodes(field, kFunctionNode, [](Tag, data_view) { return std::optional<std::string>(); });
  });
} catch (const protozero::exception&) {
  throw Failure("the model is not an ONNX file");
}

}  // namespace retort::cli
