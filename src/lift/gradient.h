// The operator Gradient of ai.onnx.preview.training: it is replaced by nodes that compute partial derivatives.
#pragma once
#include "ir/graph.h"

namespace retort {

/// Gradient names the values of its function in attributes: y, xs and zs. This appends those values to its inputs, in
/// this order, so that all nodes of the function are lifted before it and the lift may replace them. Does nothing to
/// nodes that were treated before. Throws invalid_graph if there is no value of that name.
void name_gradients(Graph& graph);

}  // namespace retort
