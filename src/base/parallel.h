// Distributes the work of a kernel over threads: a loop of independent tasks. The division into tasks must depend only
// on shapes and the ISA, never on the number of threads, so that results have the same bits for any number of threads.
// Neighbouring tasks run on the same processor if possible, so tasks should be in the order of the rows that they write
// (grid_order.h): the next loop over these rows then finds them in the caches of its processor.
#pragma once
#include <atomic>
#include <cstddef>

#include "base/function_ref.h"

namespace retort {

class ThreadPool;

/// Cheap to copy. One thread at a time may use it in a for_each.
class Parallel {
 public:
  Parallel() = default;
  Parallel(ThreadPool* pool, const std::atomic<bool>* cancel) : pool_(pool), cancel_(cancel) {}

  /// Upper bound of `worker` in for_each, for the size of per-worker scratch. At least 1.
  int workers() const;

  /// True once the run has been terminated. Long kernels check it between tiles and return early; the run then fails.
  bool cancelled() const { return cancel_ && cancel_->load(std::memory_order_relaxed); }

  /// Calls body(task, worker) once for each task in [0, tasks), with worker in [0, workers()); returns when all are
  /// done. Each worker has a part of the tasks, and helps with the others' when its own is done. Tasks that have not
  /// started when the run is cancelled are skipped. If `body` throws, so are they, and one of the exceptions is thrown.
  void for_each(size_t tasks, FunctionRef<void(size_t task, int worker)> body) const;

  /// The same, but each worker takes the first task that is left: for tasks of unequal length, the longest first.
  void for_each_in_order(size_t tasks, FunctionRef<void(size_t task, int worker)> body) const;

 private:
  ThreadPool* pool_ = nullptr;
  const std::atomic<bool>* cancel_ = nullptr;
};

}  // namespace retort
