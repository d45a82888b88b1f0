// Chooses the nodes that work on channels-last images so that the fewest elements are moved.
#pragma once
#include <map>

#include "passes/layout/image_op.h"

namespace retort {

/// Returns the nodes that take their channels-last form.
std::map<NodeId, ImageOp> assign_layouts(const Graph& graph);

}  // namespace retort
