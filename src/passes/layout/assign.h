// Which nodes work on channels-last images: the choice that moves the fewest elements.
#pragma once
#include <map>

#include "passes/layout/image_op.h"

namespace retort {

/// The nodes that take their channels-last form.
std::map<NodeId, ImageOp> assign_layouts(const Graph& graph);

}  // namespace retort
