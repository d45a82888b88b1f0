// Expands operators that official ONNX Runtime has no kernel for, because it expands them as functions when it reads
// ONNX files.
#pragma once
#include "ir/graph.h"

namespace retort::ort_format {

/// Replaces HardSwish, Mish, Swish and CastLike by simpler operators, also in bodies: models in ORT format are not
/// expanded when they are loaded. Types must be known; a CastLike to an unknown type stays.
void expand_functions(Graph& graph);

}  // namespace retort::ort_format
