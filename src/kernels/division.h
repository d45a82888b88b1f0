// How many blocks a kernel makes of its work. The division depends on sizes alone, never on the number of threads.
#pragma once
#include <algorithm>
#include <cstddef>

#include "base/checked.h"

namespace retort::kernels {

/// Divides `units` into equal blocks, at least `least` and at most `most`, each of which is `cuts` tasks of the same
/// length. Returns the units of a block, such that 2, 4 and 8 workers finish as nearly together as possible, each with
/// consecutive tasks; an odd number of blocks leaves one of two workers waiting. Of divisions that are as good, the one
/// with the fewest blocks.
inline size_t even_block(size_t units, size_t cuts, size_t least, size_t most) {
  if (units == 0) return 1;
  size_t best = 0, best_delay = 0;
  most = std::clamp<size_t>(most, 1, units);
  for (size_t n = std::clamp<size_t>(least, 1, most); n <= most; ++n) {
    const size_t size = ceil_div(units, n), tasks = ceil_div(units, size) * cuts;
    size_t delay = 0;  // how much longer the longest part is than its share: half of the weight is for two workers
    for (size_t workers = 2; workers <= 8; workers *= 2) {
      delay += std::min(ceil_div(tasks, workers) * size, units * cuts);  // shares are inversely proportional to workers
    }
    if (best == 0 || delay < best_delay) best = size, best_delay = delay;
  }
  return best;
}

}  // namespace retort::kernels
