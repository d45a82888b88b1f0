// Which memory that a caller gives may lie over other memory of the same run. Looks at slots, joins and branches, and
// changes nothing.
#pragma once
#include <span>

#include "run/branches.h"
#include "run/joins.h"
#include "run/slot_table.h"

namespace retort {

/// Throws invalid_argument where two outputs are given memory that overlaps: which of them it holds at the end, no caller
/// could know.
void check_outputs_apart(const Plan& plan, std::span<Value* const> outputs);

/// Whether a tensor that is given for an output overlaps the memory of an input that is bound. `in` may be kNoSlot.
bool lies_in_input(const SlotTable& table, const Tensor& given, SlotIndex in);

/// Whether the late step that makes `out` may write it to `given`, memory of a device where input `in` lies, at the same
/// place. Steps of the device come one after the other; one that reads the input itself must be able to work so.
bool may_replace(const SlotTable& table, SlotIndex in, SlotIndex out, const Tensor& given);

/// Whether writing the output `out` to `bytes` at `data` would destroy an input that is still needed. It would not when
/// one step that can work in place reads that input last, writes the output, and both lie at the same place; or adds to
/// the input what comes behind.
bool destroys_input(const SlotTable& table, const Joins& joins, const Branches& branches, SlotIndex out,
                    const void* data, size_t bytes);

}  // namespace retort
