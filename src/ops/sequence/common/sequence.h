// What operators on sequences share.
#pragma once
#include "ops/control/common/iteration.h"
#include "ops/op.h"

namespace retort::ops {

/// The sequence in input i; throws invalid_argument when something else is there.
const Sequence& sequence_at(const RunContext& c, size_t i);
/// Input i, one integer, as a position among `n`; negative ones count from the end. Throws invalid_argument outside.
size_t position_at(const RunContext& c, size_t i, size_t n);
/// The type of the elements of input i, unknown where that is not known; throws invalid_graph when it is no sequence.
ValueType element_type(const InferContext& c, size_t i);
/// A copy in memory of its own: tensors only, other values are shared.
Value own_copy(const Value& value);
/// Elements [begin, begin + extent) of a tensor along `axis`.
Tensor part_of(const RunContext& c, size_t i, size_t axis, int64_t begin, int64_t extent);

}  // namespace retort::ops
