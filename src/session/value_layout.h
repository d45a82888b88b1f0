// session.gqa_value_layout: the order in which callers keep the values that attention has seen.
#pragma once
#include "ir/graph.h"

namespace retort {

/// Gives inputs and outputs of the model that are past and present values of GroupQueryAttention the order batch, heads,
/// size of a head, sequence (BNHS); inside of the model they have the order BNSH that the operator works on. Answers how
/// many there are.
size_t lay_out_values_bnhs(Model& model);

}  // namespace retort
