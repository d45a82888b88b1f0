// Infers types that a model does not declare, for users of its own dialect: providers, and formats that need types.
#pragma once
#include <optional>

#include "base/error.h"
#include "lift/lift.h"

namespace retort {

/// Sets types of values without a type, and of tensors without a rank, from the inputs, including bodies; declared
/// types are unchanged. Inference runs on a lifted copy, so the nodes of `graph` keep their form. It ends at an unknown
/// operator and returns that error; later values keep the types that the model declares.
std::optional<Error> infer_types(Graph& graph, const ExternalOps* external = nullptr);

}  // namespace retort
