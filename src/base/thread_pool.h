// The pool of worker threads behind Parallel. One loop of tasks at a time; a second caller that finds the pool busy
// runs its tasks itself. Workers spin for a short while and then sleep on a futex, so an idle process uses no CPU.
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

/// Called around what each worker does of a loop; any may be null. `enqueue` on the caller's thread, for each worker that is to
/// help; its result goes to `start` and `stop` on the worker's, or to `abandon` where the loop was done before.
struct WorkHooks {
  void* (*enqueue)(void* context) = nullptr;
  void (*start)(void* context, void* data) = nullptr;
  void (*stop)(void* context, void* data) = nullptr;
  void (*abandon)(void* context, void* data) = nullptr;
  void* context = nullptr;
  bool any() const { return enqueue || start || stop || abandon; }
};

struct ThreadPoolOptions {
  int threads = 1;                        ///< callers included: threads - 1 workers are started
  bool spin = true;                       ///< false: workers sleep at once when there is nothing to do
  std::chrono::microseconds linger{200};  ///< how long a worker spins after its last task
  bool flush_denormals = false;           ///< workers and sessions that run here take denormal numbers for zeros
  std::vector<int> affinity;              ///< processor of each worker; empty: not pinned
  /// Custom creation of threads (the ABI's hooks): starts `body` on a new thread and returns a function that joins it.
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
  bool flushes_denormals() const { return options_.flush_denormals; }
  /// Workers that look for the next loop sleep at once. Loops that others run meanwhile go on.
  void rest();
  void for_each(size_t tasks, const std::atomic<bool>* cancel, FunctionRef<void(size_t, int)> body);

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
  void join();

  ThreadPoolOptions options_;
  std::unique_ptr<Shared> shared_;
};

}  // namespace retort
