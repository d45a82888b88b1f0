// A fork is a series of steps that consists of independent branches. The branches run at the same time with one thread
// each, where that is faster than running the steps one after the other with all threads inside each.
#pragma once
#include <span>
#include <vector>

#include "plan/plan.h"

namespace retort {

struct Fork {
  uint32_t begin = 0, end = 0;                  ///< steps [begin, end); inactive steps are in no branch
  size_t size = 0;                              ///< number of steps in branches
  std::vector<std::vector<uint32_t>> branches;  ///< the steps of each branch in order, the branch with most work first
};

/// An active step, as find_forks sees it.
struct ForkStep {
  uint32_t step = 0;
  bool fits = true;             ///< may be in a branch
  double alone = 0, all = 0;    ///< nanoseconds on one thread, and with all threads inside the step
  std::vector<uint32_t> needs;  ///< the earlier steps whose outputs it reads, by index in the list
};

/// Finds the forks among `steps` that pay with `workers` threads for branches. They are in order and do not overlap.
/// The choice is made over all ranges that begin where a value has several readers or a chain ends, and that end where
/// branches join.
std::vector<Fork> find_forks(std::span<const ForkStep> steps, int workers);

}  // namespace retort
