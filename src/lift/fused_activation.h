// Activations that models which ONNX Runtime has optimised name in an attribute of a convolution.
#pragma once
#include <string>
#include <vector>

#include "lift/rewriter.h"

namespace retort {

/// Adds nodes that apply the activation `name` ("": none) with its activation_params to `x`, and returns their result.
/// Throws invalid_graph if parameters are missing, and not_implemented for other activations.
ValueId activated(Rewriter& r, ValueId x, const std::string& name, const std::vector<float>& parameters);

}  // namespace retort
