// A frame: everything of a run that changes. It belongs to one run at a time; a session keeps idle ones for the next
// run. A frame remembers its last layout, so a run with the same signature (the shapes of the inputs) only puts the
// bound pointers in place and walks its steps.
#pragma once
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "memory/budget.h"
#include "run/growing.h"
#include "run/layout.h"
#include "run/request.h"

namespace retort {

/// Not thread-safe; the plan and the budget must outlive it.
class Frame {
 public:
  /// `budget`: of the workspace; null: none.
  explicit Frame(std::shared_ptr<const Plan> plan, MemoryBudget* budget = nullptr);
  ~Frame();
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
  /// kBoundEarly: what the output is a view of has memory, the view's own shape is not known yet.
  enum Bound : char { kUnbound, kBound, kBoundEarly };
  // bind.cc: what the caller gives
  void check_outputs_apart(std::span<Value* const> outputs) const;
  void bind_inputs(const RunRequest& request);
  void* bind_tensor(size_t input, const Tensor& t);
  const Tensor& brought(const RunRequest& request, size_t input, const Tensor& t);
  const MemorySpace& space_of_input(size_t input) const;
  void offer_outputs(const RunRequest& request);
  void bind_outputs(const RunRequest& request, const Segment& segment);
  void bind_output(const RunRequest& request, const Segment& segment, size_t i, const Slot& made);
  void bind_boxed_output(const RunRequest& request, size_t i);
  Tensor make_output(const RunRequest& request, size_t i, const Slot& made);
  bool bind_grown(const RunRequest& request, size_t i, Slot& made);
  Tensor take_spare(const RunRequest& request, size_t i, const Slot& made, const MemorySpace& space);
  bool lies_in_input(const Tensor& given, SlotIndex input) const;
  bool may_replace(SlotIndex input, SlotIndex output, const Tensor& given) const;
  bool overlaps_input(const Segment& segment, size_t output, const void* data, size_t bytes) const;
  std::string shape_clash(size_t output, const Tensor& bound, const Slot& made) const;

  // frame.cc: a run under a layout
  void run_segment(const RunRequest& request, Segment& segment);
  void run_stretch(const RunRequest& request, const Segment& segment, Stretch& stretch, std::span<Active> active);
  void run_fork(const RunRequest& request, Segment& segment, const Fork& fork);
  void run_active(const RunRequest& request, const Segment& segment, Active& active);
  void run_step(const RunRequest& request, Active& active);
  void check_late(const Step& step) const;
  void run_segments(const RunRequest& request);
  Tensor given_in(const RunRequest& request, SlotIndex output, const MemorySpace& space) const;
  Tensor copied_to(SlotIndex value, const MemorySpace& space) const;
  Tensor result(const RunRequest& request, size_t i, const MemorySpace& space) const;
  void let_go();
  bool is_taken(const RunRequest& request, size_t i) const;
  void finish_output(const RunRequest& request, size_t i);
  void finish_given(const RunRequest& request, size_t i, Tensor& given);

  std::shared_ptr<const Plan> plan_;
  SlotTable table_;
  Joins joins_;
  RunThreads threads_;
  Layout layout_;
  uint64_t runs_ = 0;
  std::vector<Tensor> made_;    ///< per output: memory that this run made or staged
  std::vector<Bound> bound_;    ///< per output: whether its memory is settled in this run
  std::vector<char> is_given_;  ///< per output: whether it was a value when this run began
  /// An input that was given in another memory, in that which the plan reads.
  struct Brought {
    Tensor tensor;
    Spare memory;
  };
  std::vector<Brought> brought_;  ///< per input; empty until there is one
  std::vector<Spare> spares_;     ///< per output, for callers who keep none; empty until a result of a device needs one
  DeviceRun device_run_;          ///< goes before all memory above that devices may still use
  Bodies bodies_;
  std::vector<Growing> growing_;                      ///< per cache of the plan
  std::vector<uint32_t> input_cache_, output_cache_;  ///< per input and output: its cache, or kNever
  std::vector<const Value*> input_buffer_;
  uint32_t cancellations_ = 0;  ///< when the run in progress began
};

}  // namespace retort
