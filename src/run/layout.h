// The layout is what a run walks under the current shapes: the plan's steps in segments. Each segment is laid out as
// far as shapes are known before it runs. The layout asks inference for types, finds stretches, branches and joins,
// assigns memory of the arena and scratch, and lists the steps that remain to be run. Of what the caller gives it reads
// only the types of the inputs.
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
  Parallel inside;   ///< for kernels
  Parallel alone;    ///< for kernels in branches
  Parallel between;  ///< for the branches of forks; with one thread, no forks are made
};

/// A step that does something under the current layout.
struct Active {
  KernelFn fn;  ///< null: the step runs its reference
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
  /// All of these must outlive the layout.
  struct Parts {
    SlotTable& table;
    Joins& joins;
    Bodies& bodies;
    DeviceRun& device_run;
    const RunThreads& threads;  ///< the threads of the run in progress
    MemoryBudget* budget;       ///< null: no limit
  };
  explicit Layout(const Parts& parts);

  /// Begins a run. Lays out the first segment, unless the one of an earlier run is valid for inputs of these types.
  void begin(std::span<const Value* const> inputs);
  /// Returns segment `index` of the run. The first is laid out by `begin`; any other is laid out by this call, after
  /// the segments before it have run.
  Segment& segment(size_t index);
  bool is_last(const Segment& segment) const { return segment.end == plan_.steps.size(); }

  /// Bytes of arenas and scratch.
  size_t bytes() const;
  /// Frees memory that is more than twice as large as what was needed since the last call. Not during a run.
  void trim();
  /// Frees all memory. Not during a run.
  void give_back();
  /// For AddressSanitizer: while the step runs, allows access only to the values that are alive at it and to as much
  /// scratch as it asked for.
  void guard(const Segment& segment, const Active& active) const;
  /// The same for branches: allows access to everything that they share or own.
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
  /// Per value: 0, or for a value that only a stretch uses, the number of images for which it has memory.
  std::vector<uint32_t> images_of_;
  std::vector<std::unique_ptr<Segment>> segments_;
  bool holds_ = false;  ///< whether the first segment is valid for the types in the input slots
};

}  // namespace retort
