// Finds the steps of a segment that run at the same time: the forks of the segment, their branches, and the seat of
// each step (docs/adr/0014-forks.md). The class reads slots, shapes and lifetimes. It says which memory values of
// branches may use, but places no value itself.
#pragma once
#include <span>
#include <vector>

#include "base/function_ref.h"
#include "run/arena.h"
#include "run/fork.h"
#include "run/slot_table.h"
#include "run/stretch.h"

namespace retort {

/// The branches of one segment. Not thread-safe, except that const functions may be called while branches run.
class Branches {
 public:
  struct Seat {  ///< The branch of a step.
    uint32_t fork = kNever;
    uint32_t branch = 0;       ///< numbered from 1 through all forks of the segment; 0: in no branch
    uint32_t active = kNever;  ///< its index among the active steps, for steps in branches
    size_t scratch = 0;        ///< where its scratch begins
  };
  /// Steps [begin, end), all of them laid out.
  struct Steps {
    uint32_t begin = 0, end = 0;
    const std::vector<char>& runs;  ///< per step of the plan: whether it is active
    std::span<const Stretch> stretches;
    int inside = 1, between = 1;  ///< number of threads inside a step, and for branches
  };

  /// Finds the forks. The forks of the last call are kept while the steps take about as long as they did then, because
  /// some segments are laid out in every run.
  void find(const SlotTable& table, const Steps& steps);
  /// Removes the forks: the steps run one after the other.
  void clear();
  std::span<const Fork> forks() const { return forks_; }
  bool empty() const { return forks_.empty(); }
  /// Accepts any step of the plan.
  const Seat& seat(uint32_t step) const;
  /// For a step in a branch.
  void set_active(uint32_t step, uint32_t active) { seats_[step - begin_].active = active; }

  /// Keeps values of a fork alive from its first step to its last, since the progress of other branches is unknown.
  /// Values of one branch may still share memory with each other.
  void keep(std::vector<ArenaRequest>& requests) const;
  /// Whether another branch may still read the memory of `root`, which the step could overwrite.
  bool is_read_beside(const SlotTable& table, uint32_t step, SlotIndex root) const;
  /// Gives each branch its own scratch; returns the bytes for the fork that needs most.
  size_t seat_scratch(FunctionRef<size_t(uint32_t step)> bytes_of);

 private:
  void list_steps(const SlotTable& table, const Steps& steps);
  void find_needs(const SlotTable& table);
  void take_seats();

  uint32_t begin_ = 0;
  std::vector<Fork> forks_;
  std::vector<ForkStep> weighed_;  ///< the steps for which the forks were found
  std::vector<ForkStep> listed_;   ///< the steps of the last call of find()
  std::vector<Seat> seats_;        ///< per step of the segment; empty in sessions without forks
};

}  // namespace retort
