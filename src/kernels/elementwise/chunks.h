// The division of elementwise work: chunks of one fixed size, whatever the number of threads.
#pragma once
#include <algorithm>
#include <cstddef>

#include "base/checked.h"
#include "base/parallel.h"

namespace retort::kernels {

/// Elements of one task: 64 KiB of floats, a few microseconds of work, well above the cost of claiming a task (0.1 µs).
inline constexpr size_t kChunk = 16 * 1024;

/// Calls f(begin, end) for consecutive ranges that cover [0, n); from several threads at once if there is more than
/// one.
template <typename F>
void for_chunks(const Parallel& par, size_t n, const F& f, size_t chunk = kChunk) {
  if (n <= chunk) {
    if (n > 0) f(size_t(0), n);
    return;
  }
  par.for_each(ceil_div(n, chunk), [&](size_t task, int) { f(task * chunk, std::min(n, (task + 1) * chunk)); });
}

}  // namespace retort::kernels
