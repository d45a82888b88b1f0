// Decides whether memory that a caller gives may overlap other memory of the same run. The functions read slots, joins
// and branches, and change nothing.
#pragma once
#include <span>

#include "run/branches.h"
#include "run/joins.h"
#include "run/slot_table.h"

namespace retort {

/// Throws invalid_argument if the memory given for two outputs overlaps: its content at the end would be undefined.
void check_outputs_apart(const Plan& plan, std::span<Value* const> outputs);

/// Whether a tensor that is given for an output overlaps the memory of a bound input. `in` may be kNoSlot.
bool lies_in_input(const SlotTable& table, const Tensor& given, SlotIndex in);

/// Whether the late step that makes `out` may write it to `given`, which is device memory at the address of input `in`.
/// The steps of a device run one after the other; a step that reads the input itself must support working in place.
bool may_replace(const SlotTable& table, SlotIndex in, SlotIndex out, const Tensor& given);

/// Whether writing the output `out` to `bytes` bytes at `data` would destroy an input that is still needed. It would
/// not in two cases: the step that writes the output is the last one that reads the input, can work in place, and both
/// have the same address; or the step appends to the input.
bool destroys_input(const SlotTable& table, const Joins& joins, const Branches& branches, SlotIndex out,
                    const void* data, size_t bytes);

}  // namespace retort
