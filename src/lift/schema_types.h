// Checks that the inputs of a model's nodes have types that their operators take in the version that the model imports.
#pragma once
#include <string>
#include <vector>

#include "ir/graph.h"
#include "onnx/operator_schemas.h"

namespace retort {

/// Keeps the schemas of the operators that it has met: models have many nodes of few operators.
class SchemaTypes {
 public:
  /// Throws if the type of an input is not one of its schema (invalid_graph), or if inputs of one type parameter have
  /// different types (fail, as in ONNX Runtime). `node` has the form of the model. Inputs of unknown type and nodes
  /// without a schema are not checked. bfloat16 is taken wherever float16 is.
  void check(const Graph& graph, const Node& node);

 private:
  struct Known {
    std::string domain, type;
    int version;
    std::vector<onnx::OperatorSchema::Port> inputs;
  };
  const std::vector<onnx::OperatorSchema::Port>& inputs_of(const Node& node);
  std::vector<Known> known_;
  std::vector<const ValueType*> bound_;  ///< the types of parameters, at the first port that has each
};

/// The oldest version from `version` on in which the schema of the node's operator has the types of its inputs;
/// `version` if there is none.
int version_for_types(const Graph& graph, const Node& node, int version);

}  // namespace retort
