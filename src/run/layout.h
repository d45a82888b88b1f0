// What a run walks under the shapes at hand: the plan's steps in segments, each laid out as far as its shapes are known
// before it runs. The layout asks inference for types, finds stretches, branches and joins, gives the values of the arena
// and scratch their memory, and lists the steps that are left to run. It never looks at what the caller gives but for the
// types of the inputs.
#pragma once
#include <memory>
#include <span>
#include <vector>

#include "memory/budget.h"
#include "run/arena_block.h"
#include "run/bodies.h"
#include "run/branches.h"
#include "run/inference.h"
#include "run/joins.h"
#include "run/memory_requests.h"
#include "run/scratch.h"
#include "run/slot_table.h"
#include "run/stretch.h"

namespace retort {

/// The threads of a run.
struct RunThreads {
  Parallel inside;   ///< kernels
  Parallel alone;    ///< kernels in branches
  Parallel between;  ///< branches; of one thread: there are none
};

/// A step that does something under the current layout.
struct Active {
  KernelFn fn;  ///< null: through the reference
  uint32_t step;
  RunContext context;
};

/// Steps [begin, end) that are laid out together.
struct Segment {
  uint32_t begin = 0, end = 0;
  std::vector<Active> active;
  std::vector<Stretch> stretches;
  Branches branches;
  MemoryRequests::List memory;
  ArenaBlock block;
  ScratchNeed scratch;
};

/// Not thread-safe.
class Layout {
 public:
  /// All of it must outlive the layout.
  struct Parts {
    SlotTable& table;
    Joins& joins;
    Bodies& bodies;
    DeviceRun& device_run;
    const RunThreads& threads;  ///< those of the run in progress
    MemoryBudget* budget;       ///< null: none
  };
  explicit Layout(const Parts& parts);

  /// A run begins: lays the first segment out unless that of an earlier run holds for inputs of these types.
  void begin(std::span<const Value* const> inputs);
  /// Segment `index` of the run. Any but the first is laid out now, after those before it have run.
  Segment& segment(size_t index);
  bool is_last(const Segment& segment) const { return segment.end == plan_.steps.size(); }

  /// Bytes of arena and scratch.
  size_t bytes() const;
  /// Gives memory back that is more than twice what was asked for since the last call. Not during a run.
  void trim();
  /// Gives all memory back. Not during a run.
  void give_back();
  /// For AddressSanitizer: only the values that live at this step, and as much scratch as it asked for, may be touched
  /// while it runs.
  void guard(const Segment& segment, const Active& active) const;
  /// The same for branches: all that they share or own.
  void guard(const Segment& segment, const Fork& fork) const;

 private:
  Segment& lay_out(size_t index, uint32_t begin);
  void settle(Segment& segment, const std::vector<char>& runs);
  void find_stretches(Segment& segment, const std::vector<char>& runs);
  void find_joins(const Segment& segment, const std::vector<char>& runs);
  void give_memory(Segment& segment);
  std::shared_ptr<void> allocate(size_t bytes) const;
  RunContext context_of(const Segment& segment, uint32_t step, void* scratch) const;
  size_t scratch_of(const Segment& segment, uint32_t step) const;
  void reserve_scratch(Segment& segment);
  void activate(Segment& segment);

  const Plan& plan_;
  Parts parts_;
  Inference inference_;
  MemoryRequests requests_;
  Scratch scratch_;
  std::vector<uint32_t> images_of_;  ///< per value: 0, or made and used up in a stretch: images that it has room for
  std::vector<std::unique_ptr<Segment>> segments_;
  bool holds_ = false;  ///< the first segment is valid for the types in the input slots
};

}  // namespace retort
