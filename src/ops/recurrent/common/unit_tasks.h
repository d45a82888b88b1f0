// The division of a step into tasks. A task multiplies some rows by the weights of some units, those of all gates, and
// then computes the cells of these units while the sums are in the cache; a step therefore takes one loop over the pool.
#pragma once
#include <algorithm>
#include <cstddef>

#include "base/checked.h"
#include "base/parallel.h"

namespace retort::ops {

/// Rows (items of the batch), and units of a layer.
struct UnitBlock {
  size_t m0 = 0, m1 = 0, n0 = 0, n1 = 0;
  size_t units() const { return n1 - n0; }
};

/// Multiply-adds of a task of a step. Steps wait for each other, so with several threads even 4 µs are divided: on
/// Zen 4, handing over tasks takes a quarter of a microsecond, a few between clusters of cores. A thread alone takes
/// `most`, for which it has the fewest calls. All tasks compute a unit in the same way, so bits do not depend on their
/// number.
inline double task_macs(const Parallel& parallel, double most) { return parallel.workers() > 1 ? most / 5 : most; }

/// Requests what another thread has written, all lines at once: on Zen 4, a line comes from another core's cache after
/// 50 ns, from another cluster's after 250 ns, and a product reads them one after the other.
inline void request_written(const Parallel& parallel, const void* data, size_t bytes) {
  constexpr size_t kLine = 64, kMost = 16 << 10;
  if (parallel.workers() < 2) return;
  for (size_t i = 0; i < std::min(bytes, kMost); i += kLine) __builtin_prefetch(static_cast<const char*>(data) + i);
}

struct UnitTasks {
  static constexpr size_t kRows = 96;
  /// Weights that a processor keeps in its second-level cache from step to step, in bytes.
  static constexpr size_t kBytes = 256 << 10;
  size_t m, n, units;

  /// At least one row and one unit; `weights` in bytes. A task has whole panels, and about `macs` multiply-adds, of
  /// which a row takes `row_macs`.
  UnitTasks(size_t rows, size_t hidden, size_t panel, size_t weights, double row_macs, double macs)
      : m(rows), n(hidden) {
    const size_t panels = ceil_div(n, panel);
    const size_t wanted = std::max(weights / kBytes, size_t(double(m) * row_macs / macs)) / ceil_div(m, kRows);
    units = ceil_div(panels, std::clamp<size_t>(wanted, 1, panels)) * panel;
  }
  size_t count() const { return ceil_div(m, kRows) * ceil_div(n, units); }
  /// The task that a worker does in place of this one if it does those of its part in the opposite order. In every
  /// other step, a worker thus begins with the weights that it has used last, which are still in its cache.
  size_t mirrored(size_t task, int workers) const {
    const size_t all = count(), parts = std::min(size_t(workers), all), part = ((task + 1) * parts - 1) / all;
    return all * part / parts + all * (part + 1) / parts - 1 - task;
  }
  UnitBlock at(size_t task) const {
    const size_t across = ceil_div(n, units), m0 = task / across * kRows, n0 = task % across * units;
    return {m0, std::min(m0 + kRows, m), n0, std::min(n0 + units, n)};
  }
};

}  // namespace retort::ops
