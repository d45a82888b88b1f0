// Checks a node against the definition of its operator before rules replace it, so that errors name the operator that
// the model has.
#pragma once
#include "ir/graph.h"

namespace retort {

/// Throws invalid_graph if a required input or attribute is missing, if there are more inputs than the operator takes, or
/// if an attribute has another kind; the same for attributes of Microsoft's operators that no definition has. Does
/// nothing if the operator is not defined anywhere. schema_types.h checks the types of inputs.
void check_form(const Node& node);

}  // namespace retort
