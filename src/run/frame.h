// A frame: everything of a run that changes. It belongs to one run at a time; a session keeps idle ones for the next
// run. A frame remembers its last layout, so a run with the same signature (the shapes of the inputs) only puts the
// bound pointers in place and walks its steps. The frame itself is the walk: which step runs when, on which threads, and
// how a run ends. What it walks, in which memory and for whom are its members.
#pragma once
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

namespace retort {

/// Not thread-safe; the plan and the budget must outlive it.
class Frame {
 public:
  /// `budget`: of the workspace; null: none.
  explicit Frame(std::shared_ptr<const Plan> plan, MemoryBudget* budget = nullptr);
  Frame(const Frame&) = delete;

  /// Throws Error naming the node on failure; caller-owned outputs may then be partly written, empty ones stay empty.
  void run(const RunRequest& request);
  /// Bytes held between runs.
  size_t workspace_bytes() const;
  uint64_t runs() const { return runs_; }
  /// Gives memory back that is more than twice what the layouts since the last call asked for. Not during a run.
  void trim();
  /// Gives all memory back that is not needed between runs. Not during a run.
  void give_back();
  const Plan& plan() const { return *plan_; }
  /// Room for a caller's list of inputs, in plan order.
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

  std::shared_ptr<const Plan> plan_;
  SlotTable table_;
  Joins joins_;
  GrowingCaches caches_;
  RunThreads threads_;
  Layout layout_;
  Inputs inputs_;
  Outputs outputs_;
  DeviceRun device_run_;  ///< waits for devices when it goes, which is before all memory above that they may still use
  Bodies bodies_;
  std::vector<const Value*> input_buffer_;
  uint64_t runs_ = 0;
  uint32_t cancellations_ = 0;  ///< how often the caller had cancelled when the run in progress began
};

}  // namespace retort
