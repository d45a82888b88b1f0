// Operators that official ONNX Runtime has no kernel for, because it expands them as functions while it reads ONNX files.
#pragma once
#include "ir/graph.h"

namespace retort::ort_format {

/// Replaces HardSwish, Mish, Swish and CastLike by what they are made of, bodies included: models in ORT format are not
/// expanded where they are loaded. Types must be known; a CastLike to a type that is not stays.
void expand_functions(Graph& graph);

}  // namespace retort::ort_format
