#pragma once
#include <span>

#include "ir/graph.h"

namespace retort {

/// Turns inputs that have a value in the model into constants, which no run can override; those in `open` stay inputs.
void make_defaults_constant(Graph& graph, std::span<const ValueId> open = {});

}  // namespace retort
