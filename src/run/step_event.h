// What a profile says about a step that has run.
#pragma once
#include "base/profiler.h"
#include "run/slot_table.h"

namespace retort {

/// Ends the event of the step, in the form that scripts for ONNX Runtime's profiles read: its name ends in "_kernel_time",
/// and its arguments say operator, provider, types and shapes of tensors, their sizes in bytes, and where it ran. A step
/// that computes several nodes of the model names all of them, joined by "+". `end`: when the step ended.
void end_step_event(Profiler& profiler, const Profiler::Span& span, Profiler::Clock::time_point end,
                    const SlotTable& table, uint32_t step);

}  // namespace retort
