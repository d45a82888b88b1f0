// Shared by operators on sequences.
#pragma once
#include "ops/control/common/iteration.h"
#include "ops/op.h"

namespace retort::ops {

/// The sequence in input i; throws invalid_argument if the input is not a sequence.
const Sequence& sequence_at(const RunContext& c, size_t i);
/// Input i, one integer, as a position among `n`; negative ones count from the end. Throws invalid_argument if it is
/// out of range.
size_t position_at(const RunContext& c, size_t i, size_t n);
/// The type of the elements of input i, or unknown if it is not known; throws invalid_graph if the input is not a
/// sequence.
ValueType element_type(const InferContext& c, size_t i);
/// Copies a tensor to memory of its own; other values are shared.
Value own_copy(const Value& value);
/// Elements [begin, begin + extent) of a tensor along `axis`.
Tensor part_of(const RunContext& c, size_t i, size_t axis, int64_t begin, int64_t extent);

}  // namespace retort::ops
