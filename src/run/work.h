// What a step takes, guessed from its shapes before it runs: good for a choice between ways to run steps, no more.
#pragma once
#include <span>

#include "plan/plan.h"

namespace retort {

struct Work {
  double alone = 0;  ///< nanoseconds on one thread
  double all = 0;    ///< likewise with all threads inside the kernel
};

/// Of a step that is laid out; within a factor of two or three on a processor with vectors of 256 bits or more.
Work guess_work(const Plan& plan, std::span<const Slot> slots, const Step& step, int threads);

}  // namespace retort
