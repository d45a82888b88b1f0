// What inputs and outputs each operator that ONNX Runtime knows has in each version, and which types they may be of.
#pragma once
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace retort::onnx {

struct OperatorSchema {
  struct Port {
    std::string_view name;
    std::string_view parameter;  ///< that stands for its type; empty where the type is none of the parameters
  };
  struct Parameter {
    std::string_view name;
    std::span<const char* const> types;  ///< "tensor(float)": those that it may be; they stay for ever
  };
  int since = 0;
  std::vector<Port> inputs, outputs;
  std::vector<Parameter> parameters;
};

/// The schema that the operator has in that version of its domain; nothing for operators that are not known, or not yet.
std::optional<OperatorSchema> operator_schema(std::string_view domain, std::string_view type, int version);

}  // namespace retort::onnx
