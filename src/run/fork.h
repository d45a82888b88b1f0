// Forks: steps in a row that fall apart into branches, none of which needs anything of another. The branches run at the
// same time, one thread each, where that is sooner than the steps one after the other with all threads inside each.
#pragma once
#include <span>
#include <vector>

#include "plan/plan.h"

namespace retort {

struct Fork {
  uint32_t begin = 0, end = 0;                  ///< steps [begin, end); those that do nothing are in no branch
  size_t size = 0;                              ///< steps in branches
  std::vector<std::vector<uint32_t>> branches;  ///< steps of each, in order; the longest branch first
};

/// A step that runs, for find_forks.
struct ForkStep {
  uint32_t step = 0;
  bool fits = true;             ///< may be in a branch
  double alone = 0, all = 0;    ///< nanoseconds on one thread; with all threads inside
  std::vector<uint32_t> needs;  ///< the steps before it, by index in the list, whose outputs it reads
};

/// The forks among `steps` that are worth it with `workers` threads for branches, in order and apart. Which they are is
/// chosen over all ranges that begin where something parts or ends and end where branches join.
std::vector<Fork> find_forks(std::span<const ForkStep> steps, int workers);

}  // namespace retort
