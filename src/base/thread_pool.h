// The pool of worker threads behind Parallel. It runs one loop of tasks at a time; a second caller that finds the pool
// busy, or a task with a loop inside, runs its tasks itself. Workers spin for a short while and then sleep on a futex,
// so an idle process uses no CPU.
#pragma once
#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include "base/function_ref.h"

namespace retort {

/// Called around the work of each worker in a loop; any may be null. `enqueue` is called on the caller's thread for
/// each worker that is to help. Its result is passed to `start` and `stop` on the worker's thread, or to `abandon` if
/// the loop ended before the worker came.
struct WorkHooks {
  void* (*enqueue)(void* context) = nullptr;
  void (*start)(void* context, void* data) = nullptr;
  void (*stop)(void* context, void* data) = nullptr;
  void (*abandon)(void* context, void* data) = nullptr;
  void* context = nullptr;
  bool any() const { return enqueue || start || stop || abandon; }
};

enum class TaskOrder {
  own_parts,  ///< each worker has a part of the tasks (task_parts.h)
  in_order    ///< each worker takes the first task that is left
};

struct ThreadPoolOptions {
  int threads = 1;                        ///< including the caller: threads - 1 workers are started
  int stands_for = 0;                     ///< threads of a larger pool whose scratch memory loops may have; 0: none
  bool spin = true;                       ///< false: workers sleep at once if there is no work
  std::chrono::microseconds linger{200};  ///< how long a worker spins after its last task
  /// Whether workers, and sessions that run on this pool, treat denormal numbers as zeros.
  bool flush_denormals = false;
  std::vector<int> affinity;  ///< processor of each worker; empty: not pinned
  /// Custom creation of threads (hooks of the C interface): starts `body` on a new thread and returns a function that
  /// joins it.
  std::function<std::function<void()>(std::function<void()> body)> create_thread;
  WorkHooks hooks;
};

/// Thread-safe. Workers are started at the first parallel loop, and again in a forked child.
class ThreadPool {
 public:
  explicit ThreadPool(ThreadPoolOptions options);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;

  int threads() const { return options_.threads; }
  /// What Parallel::workers() reports.
  int workers() const { return options_.threads > options_.stands_for ? options_.threads : options_.stands_for; }
  const ThreadPoolOptions& options() const { return options_; }
  bool flushes_denormals() const { return options_.flush_denormals; }
  /// Makes workers that wait for the next loop sleep at once. Loops in progress on other threads continue.
  void rest();
  /// See Parallel::for_each. `cancel` may be null.
  void for_each(size_t tasks, const std::atomic<bool>* cancel, FunctionRef<void(size_t, int)> body,
                TaskOrder order = TaskOrder::own_parts);

 private:
  struct Shared;
  struct Registry;
  void begin_anew();
  void start_workers();
  void work(int worker);
  void wait_for_work(int worker, uint32_t seen);
  void send_away();
  void help(int worker);
  void offer();
  void settle();
  void run_loop(size_t first, size_t tasks, TaskOrder order);
  void join();

  ThreadPoolOptions options_;
  bool crowded_ = false;  ///< whether there were more threads than processors when the workers were started
  std::unique_ptr<Shared> shared_;
};

}  // namespace retort
