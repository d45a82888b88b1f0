#pragma once
#include <span>

#include "ir/graph.h"

namespace retort {

/// Inputs that have a value in the model become constants, which no run can override; those of `open` stay inputs.
void make_defaults_constant(Graph& graph, std::span<const ValueId> open = {});

}  // namespace retort
