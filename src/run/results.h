// Where the result of a run lies that is asked for in some memory: where its step made it, or where the run has it as
// well. Looks at slots, plan and inputs, and copies nothing.
#pragma once
#include "run/inputs.h"
#include "run/request.h"
#include "run/slot_table.h"

namespace retort {

/// What the run made of output i, in `space` if it lies there, too. Does not own memory of the frame.
Tensor result_of(const SlotTable& table, const Inputs& inputs, const RunRequest& request, size_t i,
                 const MemorySpace& space);

}  // namespace retort
