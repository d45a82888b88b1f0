// All passes over whole graphs. Each is defined in the file with its name.
#pragma once
#include "passes/pass.h"

namespace retort {

/// Infers the types of all resolved nodes again, in order, so that what a pass has learned reaches later nodes. The
/// captures of bodies get the types of the captured values.
void infer_types(Graph& graph);
/// The same for one resolved node and its bodies.
void infer_types(Graph& graph, Node& node);

extern const Pass pass_dead_code;
extern const Pass pass_constant_folding;
extern const Pass pass_known_branches;
extern const Pass pass_known_values;
extern const Pass pass_common_subexpressions;
extern const Pass pass_carried_invariants;
extern const Pass pass_sink_constants;
extern const Pass pass_unused_outputs;
extern const Pass pass_layout;
extern const Pass pass_widen_half;

}  // namespace retort
