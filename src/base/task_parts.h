// Which worker of a pool runs which task of a loop: a part of the tasks belongs to each worker, the same part whenever
// loops have as many tasks. Data that a processor wrote in one loop is therefore read by the same processor in the
// next, unless a worker is late.
#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace retort {

/// The tasks of one loop, in consecutive parts. A worker takes the tasks of its own part first, in order; then it takes
/// those of other parts, from their ends, so that a worker that has lost its processor does not delay the loop by more
/// than the task that it has begun. Taking a task of the own part touches only a cache line that no other worker uses
/// at the time.
class TaskParts {
 public:
  static constexpr size_t kMostTasks = size_t(1) << 31;

  /// For up to `workers` parts; not while a loop runs.
  void resize(size_t workers) { parts_ = std::vector<Part>(workers); }

  /// Begins a loop of at most kMostTasks tasks: at most `parts` parts, none of which is empty unless all are. With one
  /// part, all workers take tasks in order. No worker may be taking tasks.
  void begin(size_t tasks, size_t parts);

  /// Takes tasks for one worker, for the duration of one loop.
  class Taker {
   public:
    Taker(TaskParts& all, size_t worker) : all_(all), at_(worker % all.count_) {}
    /// Sets `task` to one that no other worker gets. False: none is left.
    bool take(size_t& task);

   private:
    TaskParts& all_;
    size_t at_;
    size_t empty_ = 0;  ///< parts that were found empty, and therefore stay so; the first is the worker's own
  };

 private:
  static constexpr size_t kLine = 128;  ///< two cache lines, because the adjacent line is prefetched too
  struct alignas(kLine) Part {
    std::atomic<uint64_t> left{0};  ///< the tasks [low half, high half)
    bool take_first(size_t& task);
    bool take_last(size_t& task);
  };

  std::vector<Part> parts_;
  size_t count_ = 1;  ///< the parts in use
};

}  // namespace retort
