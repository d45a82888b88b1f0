// For each operator that ONNX Runtime knows, in each version: its inputs and outputs, and the types that they may have.
#pragma once
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace retort::onnx {

struct OperatorSchema {
  struct Port {
    std::string_view name;
    std::string_view parameter;          ///< the name of the type parameter; empty if the type is fixed
    std::span<const char* const> types;  ///< allowed types such as "tensor(float)"; valid forever
    // Of inputs:
    bool optional = false;
    bool repeats = false;  ///< more of the kind may follow
    bool mixed = false;    ///< those that follow may have other types
  };
  struct Parameter {
    std::string_view name;
    std::span<const char* const> types;  ///< as those of Port
  };
  int since = 0;
  std::vector<Port> inputs, outputs;
  std::vector<Parameter> parameters;
};

/// The versions in which the definition of the operator changed, the oldest first; empty if the operator is unknown.
std::vector<int> operator_versions(std::string_view domain, std::string_view type);

/// Only the inputs of operator_schema(): empty where that has no value. Costs a fraction of a microsecond.
std::vector<OperatorSchema::Port> operator_inputs(std::string_view domain, std::string_view type, int version);

/// The schema of the operator in this version of its domain; nullopt if the operator is unknown or does not exist yet.
std::optional<OperatorSchema> operator_schema(std::string_view domain, std::string_view type, int version);

}  // namespace retort::onnx
