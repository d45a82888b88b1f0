// All passes over whole graphs; each is defined in the file of its name.
#pragma once
#include "passes/pass.h"

namespace retort {

/// Types of all resolved nodes once more, in order: what a pass learned reaches the nodes behind. The captures of
/// bodies take the types of what they capture.
void infer_types(Graph& graph);

extern const Pass pass_dead_code;
extern const Pass pass_constant_folding;
extern const Pass pass_known_values;
extern const Pass pass_common_subexpressions;
extern const Pass pass_sink_constants;
extern const Pass pass_unused_outputs;
extern const Pass pass_layout;
extern const Pass pass_widen_half;

}  // namespace retort
