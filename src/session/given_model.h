// A model as a session takes it: as it was read, in its own dialect, with the changes that options ask for. The same
// changes are made to a model that is read again for the second plan.
#pragma once
#include "base/log.h"
#include "ir/graph.h"
#include "session/options.h"

namespace retort {

/// Inserts what the options give: extents of inputs, initializers, and the order of values in caches. The names and
/// types of inputs and outputs are those that callers see from then on. Throws invalid_argument for an initializer of
/// another type or shape, and fail for external data that the model does not have; warns of a value for an initializer
/// that it does not have.
void apply_options(Model& model, const SessionOptions& options, const Logger& logger);

/// Removes the extents of what inputs that are sequences or optionals contain: callers may give any, as in ONNX
/// Runtime, so a plan must not rely on those that the model declares.
void forget_contents(Graph& graph);

/// Gives each extent that the model names a name of its own, also in bodies.
void forget_names(Graph& graph);

/// Removes the shape of inputs that are scalars, and those that the model declares for what its nodes make, also in
/// bodies: they would not hold for other shapes of these inputs.
void forget_scalars(Graph& graph);

/// Replaces calls of the model's functions by their nodes. Throws what inline_functions() throws.
void expand_functions(Model& model, const SessionOptions& options);

/// With session.random_seed, gives every random operator that has no attribute `seed` one that follows from this number
/// and from its place in the model, also in bodies: sessions of one model then draw the same numbers. Throws
/// invalid_argument if the entry is not a number.
void seed_random(Model& model, const SessionOptions& options);

}  // namespace retort
