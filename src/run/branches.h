// Which steps of a segment run at the same time, and where each sits: the forks of the segment, their branches, and what
// belongs to a branch alone (docs/adr/0014-forks.md). Reads slots, shapes and lifetimes; says in which memory values of
// branches may lie, and places none itself.
#pragma once
#include <span>
#include <vector>

#include "base/function_ref.h"
#include "run/arena.h"
#include "run/fork.h"
#include "run/slot_table.h"
#include "run/stretch.h"

namespace retort {

/// Of one segment. Not thread-safe; const functions are, while branches run.
class Branches {
 public:
  struct Seat {  ///< of a step
    uint32_t fork = kNever;
    uint32_t branch = 0;       ///< counts from 1 through all forks of the segment; 0: in none
    uint32_t active = kNever;  ///< its place among the steps that run; of steps in branches
    size_t scratch = 0;        ///< where its scratch begins
  };
  /// Steps [begin, end), all laid out.
  struct Steps {
    uint32_t begin = 0, end = 0;
    const std::vector<char>& runs;  ///< per step of the plan: whether it does anything
    std::span<const Stretch> stretches;
    int inside = 1, between = 1;  ///< threads inside a step, and for branches
  };

  /// Finds the forks. Those of the last call stay while the steps take about as long as when they were found: some
  /// segments are laid out in every run.
  void find(const SlotTable& table, const Steps& steps);
  /// The steps run one after the other.
  void clear();
  std::span<const Fork> forks() const { return forks_; }
  bool empty() const { return forks_.empty(); }
  /// Of any step of the plan.
  const Seat& seat(uint32_t step) const;
  /// Of a step in a branch.
  void set_active(uint32_t step, uint32_t active) { seats_[step - begin_].active = active; }

  /// Values of a fork are kept from its first step to its last, since nobody knows how far the other branches are. Those
  /// of one branch may share memory as ever.
  void keep(std::vector<ArenaRequest>& requests) const;
  /// Whether another branch may still read the memory of `root`, which the step could write over.
  bool is_read_beside(const SlotTable& table, uint32_t step, SlotIndex root) const;
  /// Gives each branch scratch of its own; bytes for those of the fork that needs most.
  size_t seat_scratch(FunctionRef<size_t(uint32_t step)> bytes_of);

 private:
  void list_steps(const SlotTable& table, const Steps& steps);
  void find_needs(const SlotTable& table);
  void take_seats();

  uint32_t begin_ = 0;
  std::vector<Fork> forks_;
  std::vector<ForkStep> weighed_;  ///< for which the forks were found
  std::vector<ForkStep> listed_;   ///< those of the last call of find()
  std::vector<Seat> seats_;        ///< per step of the segment; empty in sessions without forks
};

}  // namespace retort
