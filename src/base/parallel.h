// What a kernel uses to spread its work: a loop of independent tasks. How work is cut into tasks must depend on shapes
// and ISA alone, never on the number of threads, so that results have the same bits for any number of threads.
#pragma once
#include <atomic>
#include <cstddef>

#include "base/function_ref.h"

namespace retort {

class ThreadPool;

/// Cheap to copy; thread-safe to use from one caller at a time per for_each.
class Parallel {
 public:
  Parallel() = default;
  Parallel(ThreadPool* pool, const std::atomic<bool>* cancel) : pool_(pool), cancel_(cancel) {}

  /// Upper bound of `worker` in for_each: size per-worker scratch by it. At least 1.
  int workers() const;

  /// True once the run was terminated: long kernels check it between tiles and return early; the run then fails.
  bool cancelled() const { return cancel_ && cancel_->load(std::memory_order_relaxed); }

  /// Calls body(task, worker) once for each task in [0, tasks), worker in [0, workers()); returns when all are done.
  /// Tasks not yet started when the run is cancelled are skipped. `body` must not throw.
  void for_each(size_t tasks, FunctionRef<void(size_t task, int worker)> body) const;

 private:
  ThreadPool* pool_ = nullptr;
  const std::atomic<bool>* cancel_ = nullptr;
};

}  // namespace retort
