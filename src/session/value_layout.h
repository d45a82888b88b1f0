// session.gqa_value_layout: the order of the axes in which callers keep the values that attention has seen.
#pragma once
#include "ir/graph.h"

namespace retort {

/// Gives the past and present values of GroupQueryAttention that are inputs and outputs of the model the order batch,
/// heads, size of a head, sequence (BNHS). Inside the model they keep the order BNSH that the operator works on, and
/// nodes transpose them. Returns how many inputs and outputs it has changed.
size_t lay_out_values_bnhs(Model& model);

}  // namespace retort
