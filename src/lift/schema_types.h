// Checks that the inputs of a model's nodes have types that their operators take in the version that the model imports.
#pragma once
#include "ir/graph.h"

namespace retort {

/// Throws if the type of an input is not one of its schema (invalid_graph), or if inputs of one type parameter have
/// different types (fail, as in ONNX Runtime). `node` has the form of the model. Inputs of unknown type and nodes
/// without a schema are not checked. bfloat16 is taken wherever float16 is.
void check_schema_types(const Graph& graph, const Node& node);

/// Whether the operator takes inputs of the node's types in this version of its domain; true if it has no schema.
bool schema_allows(const Graph& graph, const Node& node, int version);

}  // namespace retort
