// Activations that optimised models of ONNX Runtime have as an attribute of a convolution.
#pragma once
#include <string>
#include <vector>

#include "lift/rewriter.h"

namespace retort {

/// `x` after the activation `name` ("": none) with its activation_params, as nodes of its own. Throws invalid_graph where
/// parameters are missing, not_implemented for other activations.
ValueId activated(Rewriter& r, ValueId x, const std::string& name, const std::vector<float>& parameters);

}  // namespace retort
