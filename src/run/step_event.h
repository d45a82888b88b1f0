// What a profile says about a step that has run.
#pragma once
#include "base/profiler.h"
#include "run/slot_table.h"

namespace retort {

/// Memory of the frame, in bytes. It was planned before the step, so that no step changes what is held.
struct StepMemory {
  size_t held = 0;    ///< by all arenas and by scratch
  size_t in_use = 0;  ///< of the arena, for the values that are alive while the step runs
  size_t before = 0;  ///< the same while the step before ran
  size_t peak = 0;    ///< the most that was in use in this run so far
};

/// Ends the event of the step, in the form that scripts for ONNX Runtime's profiles read: its name ends in "_kernel_time",
/// and its arguments say operator, provider, types and shapes of tensors, their sizes in bytes, memory, and where it ran.
/// A step that computes several nodes of the model names all of them, joined by "+". `end`: when the step ended.
void end_step_event(Profiler& profiler, const Profiler::Span& span, Profiler::Clock::time_point end,
                    const SlotTable& table, uint32_t step, const StepMemory& memory);

}  // namespace retort
