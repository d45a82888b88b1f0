// A frame: everything of a run that changes. It belongs to one run at a time; a session keeps idle ones for the next
// run. A frame remembers its last layout, so a run with the same signature (the shapes of the inputs) only puts the
// bound pointers in place and walks its steps.
#pragma once
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/function_ref.h"
#include "base/log.h"
#include "memory/budget.h"
#include "run/arena.h"
#include "run/fork.h"
#include "run/growing.h"
#include "run/joins.h"
#include "run/request.h"
#include "run/slot_table.h"
#include "run/stretch.h"

namespace retort {

class BodyFrames;

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
  friend class BodyFrames;
  /// kBoundEarly: what the output is a view of has memory, the view's own shape is not known yet.
  enum Bound : char { kUnbound, kBound, kBoundEarly };
  struct Active {  ///< a step that does something under the current layout
    KernelFn fn;   ///< null: through the reference
    uint32_t step;
    RunContext context;
  };
  struct Placed {
    SlotIndex root;
    uint32_t request;
  };
  struct Seat {  ///< of a step, among the forks and branches of its segment
    uint32_t fork = kNever;
    uint32_t branch = 0;       ///< from 1; 0: in none
    uint32_t active = kNever;  ///< where it is in Segment::active; of steps in branches
    size_t scratch = 0;        ///< where its scratch begins
  };
  struct Segment {  ///< steps [begin, end) that are laid out together
    uint32_t begin = 0, end = 0;
    std::vector<Active> active;
    std::vector<Stretch> stretches;
    std::vector<Fork> forks;
    std::vector<ForkStep> weighed;  ///< for which the forks were found
    std::vector<Placed> placed;
    std::vector<ArenaRequest> requests;
    std::vector<ArenaRequest> planned;  ///< what the offsets were planned for; bytes are capacities
    ArenaLayout layout;
    std::shared_ptr<void> memory;
    size_t memory_bytes = 0;
    size_t asked = 0, most_asked = 0;      ///< bytes of all requests: now, and at most since the last trim
    size_t scratch = 0, most_scratch = 0;  ///< bytes that the largest step needs, likewise
  };

  // layout.cc: which steps run, on which shapes
  bool take_signature(const RunRequest& request);
  void reset_from(uint32_t step);
  Segment& lay_out_segment(size_t index, uint32_t begin);
  bool inputs_known(const Step& step) const;
  bool infer_step(uint32_t index);
  void check_late(const Step& step) const;
  bool lay_out_step(uint32_t index);
  bool settle_content(uint32_t index);
  void settle_memory(uint32_t index);
  bool is_settled(uint32_t index) const;
  void forget_content();
  void reserve_scratch(Segment& segment);
  void activate(Segment& segment);
  void drop_memory(Segment& segment);
  void drop_scratch();
  std::shared_ptr<void> allocate(size_t bytes);

  // workspace.cc: in which memory
  std::vector<char> running(const Segment& segment) const;
  void mark_stretches(Segment& segment, const std::vector<char>& runs);
  void find_joins(const Segment& segment, const std::vector<char>& runs);
  void keep_batches(Segment& segment);
  void request_memory(Segment& segment);
  void request_block(Segment& segment, uint32_t index, SlotIndex out);
  bool reuse_input(Segment& segment, uint32_t index, SlotIndex out, size_t bytes);
  bool take_over_input(Segment& segment, uint32_t index, size_t input, SlotIndex out, size_t bytes);
  static void leave_room(Segment& segment);
  void place_segment(Segment& segment);
  std::string largest_output(const Segment& segment) const;
  void allocate_workspace(Segment& segment);

  // branches.cc: steps that run at the same time
  bool fits_branch(const Segment& segment, uint32_t index) const;
  void list_steps(const Segment& segment, std::vector<ForkStep>& list) const;
  void mark_forks(Segment& segment);
  void find_needs(std::vector<ForkStep>& list) const;
  void forget_seats(const Segment& segment);
  const Seat& seat(uint32_t step) const;
  void keep_branches(Segment& segment);
  bool is_read_beside(const Segment& segment, uint32_t step, SlotIndex root) const;
  size_t seat_scratch(const Segment& segment, FunctionRef<size_t(uint32_t)> bytes_of);
  void run_fork(const RunRequest& request, const Segment& segment, const Fork& fork);
  void guard_fork(const Segment& segment, const Fork& fork) const;

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
  void run_stretch(const RunRequest& request, const Segment& segment, Stretch& stretch, std::span<const Active> active);
  void run_active(const RunRequest& request, const Segment& segment, const Active& active);
  void guard_memory(const Segment& segment, const Active& active) const;
  void run_step(const Active& active);
  void run_segments(const RunRequest& request);
  Tensor given_in(const RunRequest& request, SlotIndex output, const MemorySpace& space) const;
  Tensor copied_to(SlotIndex value, const MemorySpace& space) const;
  Tensor result(const RunRequest& request, size_t i, const MemorySpace& space) const;
  void let_go();
  bool is_taken(const RunRequest& request, size_t i) const;
  void finish_output(const RunRequest& request, size_t i);
  void finish_given(const RunRequest& request, size_t i, Tensor& given);

  std::shared_ptr<const Plan> plan_;
  MemoryBudget* budget_;
  SlotTable table_;
  std::vector<char> settled_;         ///< per value: its content follows from shapes and is in place
  std::vector<uint32_t> request_of_;  ///< per root: its request in the segment being placed
  std::vector<uint32_t> images_of_;   ///< per value: 0, or made and used up in a stretch: images that it has room for
  Joins joins_;
  std::vector<ForkStep> listed_;  ///< room for a list
  std::vector<Seat> seats_;       ///< per step; empty in sessions without forks
  std::vector<std::unique_ptr<Segment>> segments_;
  uint64_t runs_ = 0;
  bool laid_out_ = false;  ///< the first segment is valid for the types in the input slots
  std::shared_ptr<void> scratch_;
  size_t scratch_bytes_ = 0;
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
  DeviceRun device_run_;
  std::vector<Growing> growing_;                      ///< per cache of the plan
  std::vector<uint32_t> input_cache_, output_cache_;  ///< per input and output: its cache, or kNever
  Parallel parallel_;
  Parallel alone_;  ///< of kernels in branches
  DimTable dims_;
  std::vector<std::unique_ptr<BodyFrames>> bodies_;  ///< per step; null for steps without bodies
  std::vector<const Value*> input_buffer_;
  const RunRequest* request_ = nullptr;  ///< the run in progress, for bodies
  uint32_t cancellations_ = 0;           ///< when it began
};

}  // namespace retort
