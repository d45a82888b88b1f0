// Estimates the time of a step from its shapes before it runs. The estimate is good only for a choice between ways to
// run steps.
#pragma once
#include <span>

#include "plan/plan.h"

namespace retort {

struct Work {
  double alone = 0;  ///< nanoseconds on one thread
  double all = 0;    ///< nanoseconds with all threads inside the kernel
};

/// Estimates a step that is laid out. The result is within a factor of two or three on a processor with vectors of at
/// least 256 bits.
Work guess_work(const Plan& plan, std::span<const Slot> slots, const Step& step, int threads);

}  // namespace retort
