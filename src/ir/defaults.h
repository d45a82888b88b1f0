#pragma once
#include "ir/graph.h"

namespace retort {

/// Inputs that have a value in the model become constants, which no run can override.
void make_defaults_constant(Graph& graph);

}  // namespace retort
