// Finds the result of a run in a requested memory: where its step made it, or a copy that the run has there. The
// function reads slots, plan and inputs, and copies nothing.
#pragma once
#include "run/inputs.h"
#include "run/request.h"
#include "run/slot_table.h"

namespace retort {

/// The result of output i, in `space` if it exists there, otherwise where it was made. Does not own memory of the
/// frame.
Tensor result_of(const SlotTable& table, const Inputs& inputs, const RunRequest& request, size_t i,
                 const MemorySpace& space);

}  // namespace retort
