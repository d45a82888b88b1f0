// Types that a model does not tell, for those who see it in its own dialect: providers, and formats that want them.
#pragma once
#include <optional>

#include "base/error.h"
#include "lift/lift.h"

namespace retort {

/// Gives values without a type, and tensors without a rank, what follows from the inputs, bodies included; declared types
/// stay. It is found out on a lifted copy, the nodes of `graph` keep their form. An operator that is not known ends it, and
/// is what it returns: what comes behind keeps the types that the model declares.
std::optional<Error> infer_types(Graph& graph, const ExternalOps* external = nullptr);

}  // namespace retort
