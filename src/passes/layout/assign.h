// Chooses the nodes that work on channels-last images so that the fewest elements are moved.
#pragma once
#include <map>

#include "passes/layout/image_op.h"

namespace retort {

/// Returns the nodes that take their channels-last form. `bf16_products` as in PassOptions.
std::map<NodeId, ImageOp> assign_layouts(const Graph& graph, bool bf16_products);

}  // namespace retort
