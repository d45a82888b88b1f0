// A frame holds everything that changes during a run. It belongs to one run at a time; a session keeps idle frames for
// later runs. A frame remembers its last layout, so a run with the same signature (the types and shapes of the inputs)
// only binds pointers and walks the steps. The frame itself decides which step runs when, on which threads, and how a
// run ends. Its members hold the steps, the memory and the values of the caller.
#pragma once
#include <atomic>
#include <memory>
#include <span>
#include <vector>

#include "memory/budget.h"
#include "run/bodies.h"
#include "run/growing.h"
#include "run/inputs.h"
#include "run/joins.h"
#include "run/layout.h"
#include "run/outputs.h"
#include "run/request.h"
#include "run/slot_table.h"
#include "run/step_event.h"

namespace retort {

/// Not thread-safe. The plan and the budget must outlive it.
class Frame {
 public:
  /// `budget` limits the workspace; null means no limit.
  explicit Frame(std::shared_ptr<const Plan> plan, MemoryBudget* budget = nullptr);
  Frame(const Frame&) = delete;

  /// Throws Error naming the node on failure. Outputs in memory of the caller may then be partly written; empty ones
  /// stay empty.
  void run(const RunRequest& request);
  /// Bytes held between runs.
  size_t workspace_bytes() const;
  uint64_t runs() const { return runs_; }
  /// Frees memory that is more than twice as large as what the layouts since the last call needed. Not during a run.
  void trim();
  /// Frees all memory that is not needed between runs. Not during a run.
  void give_back();
  const Plan& plan() const { return *plan_; }
  /// A reusable vector for a caller's list of inputs, in plan order.
  std::vector<const Value*>& input_buffer() { return input_buffer_; }

 private:
  void run_segments(const RunRequest& request);
  void run_segment(const RunRequest& request, Segment& segment);
  void run_ranges(const RunRequest& request, Segment& segment);
  void run_stretch(const RunRequest& request, const Segment& segment, Stretch& stretch, std::span<Active> active);
  void run_fork(const RunRequest& request, Segment& segment, const Fork& fork);
  void run_active(const RunRequest& request, const Segment& segment, Active& active);
  void run_step(const RunRequest& request, Active& active);
  void check_late(const Step& step) const;
  StepMemory memory_at(const Segment& segment, uint32_t step);

  std::shared_ptr<const Plan> plan_;
  SlotTable table_;
  Joins joins_;
  GrowingCaches caches_;
  RunThreads threads_;
  Layout layout_;
  Inputs inputs_;
  Outputs outputs_;
  /// Its destructor waits for devices, before the memory above that they may still use is freed.
  DeviceRun device_run_;
  Bodies bodies_;
  std::vector<const Value*> input_buffer_;
  uint64_t runs_ = 0;
  std::atomic<size_t> peak_{0};  ///< of a profiled run: the most bytes of an arena that were in use
  uint32_t cancellations_ = 0;   ///< the number of cancellations by the caller when the run in progress began
};

}  // namespace retort
