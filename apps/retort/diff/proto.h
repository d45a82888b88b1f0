// Edits of ONNX files field by field, without parsing what stays as it is.
#pragma once
#include <functional>
#include <optional>
#include <protozero/pbf_reader.hpp>
#include <protozero/pbf_writer.hpp>
#include <string>
#include <vector>

namespace retort::cli {

using protozero::data_view;
using Tag = protozero::pbf_tag_type;

// Field numbers of onnx.proto.
constexpr Tag kModelGraph = 7, kModelFunction = 25, kGraphNode = 1, kGraphName = 2, kGraphInitializer = 5,
              kGraphInput = 11, kGraphOutput = 12, kGraphValueInfo = 13, kFunctionNode = 7, kValueName = 1,
              kValueType = 2;
constexpr Tag kNodeInput = 1, kNodeOutput = 2, kNodeOperator = 4, kNodeAttribute = 5;
constexpr Tag kAttributeName = 1, kAttributeFloat = 2, kAttributeInt = 3, kAttributeTensor = 5, kAttributeGraph = 6,
              kAttributeFloats = 7, kAttributeInts = 8, kAttributeType = 20;
constexpr Tag kTensorDims = 1, kTensorType = 2, kTensorName = 8, kTensorRaw = 9;
constexpr Tag kTypeTensor = 1, kTypeSequence = 4, kTypeOptional = 9, kTypeElement = 1, kTypeShape = 2;
constexpr int32_t kIntAttribute = 2, kTensorAttribute = 4;  // AttributeProto.INT, .TENSOR

/// The fields of that tag, in order.
std::vector<data_view> fields(data_view message, Tag tag);
/// The last field of that tag; "" if there is none.
std::string text(data_view message, Tag tag);
/// The model's graph. Throws Failure if it has none or several.
data_view find_graph(const std::string& model);

/// New bytes of a field, or nothing if it stays.
using Change = std::function<std::optional<std::string>(Tag, data_view)>;
/// A new number of a field, or nothing if it stays.
using ChangeNumber = std::function<std::optional<int64_t>(Tag, int64_t)>;
/// The message with some of its fields replaced.
std::string changed(data_view message, const Change& change, const ChangeNumber& number = nullptr);
/// The message without the fields of that tag.
std::string without(data_view message, Tag tag);

/// A NodeProto with one output and no attributes.
std::string node_of(const std::string& op, const std::vector<std::string>& inputs, const std::string& output);
/// An AttributeProto with an integer.
std::string int_attribute(const std::string& name, int64_t value);

}  // namespace retort::cli
