// The threads that the runs of a session use: pools of its own, or those of the environment. Reads options.
#pragma once
#include <atomic>
#include <memory>
#include <mutex>

#include "base/thread_pool.h"
#include "session/environment.h"
#include "session/options.h"

namespace retort {

/// Thread-safe. The environment must outlive it.
class SessionThreads {
 public:
  /// Throws invalid_argument if an affinity cannot be read.
  SessionThreads(const SessionOptions& options, const Environment& environment);
  SessionThreads(const SessionThreads&) = delete;

  /// The threads inside operators.
  ThreadPool& inside() const {
    ThreadPool* const few = few_.load(std::memory_order_acquire);
    return few ? *few : *inside_;
  }
  /// The threads that run branches; null: branches run one after another.
  ThreadPool* branches() const { return branches_ ? (is_efficient() ? &inside() : branches_) : nullptr; }
  bool are_shared() const { return !own_; }
  /// Runs that begin from now on use half of the threads, at least one, which sleep as soon as there is nothing to do.
  /// Results have the same bits. False: all threads again.
  void set_efficient(bool on);
  bool is_efficient() const { return few_.load(std::memory_order_relaxed) != nullptr; }

  /// Lives as long as a run. When the last run ends, workers that wait for the next one go to sleep, if
  /// session.force_spinning_stop asks for that.
  class Use {
   public:
    explicit Use(SessionThreads& threads) : threads_(threads) {
      if (threads.stops_spinning_) threads.running_.fetch_add(1);
    }
    Use(const Use&) = delete;
    ~Use() {
      if (threads_.stops_spinning_ && threads_.running_.fetch_sub(1) == 1) threads_.inside().rest();
    }

   private:
    SessionThreads& threads_;
  };

 private:
  std::unique_ptr<ThreadPool> own_, own_branches_;
  std::mutex mutex_;
  std::unique_ptr<ThreadPool> own_few_;    ///< made on first use and then kept; guarded by mutex_
  std::atomic<ThreadPool*> few_{nullptr};  ///< null: not efficient
  ThreadPool* inside_ = nullptr;
  ThreadPool* branches_ = nullptr;
  const bool stops_spinning_;
  std::atomic<int> running_{0};  ///< runs in progress; counted only if stops_spinning_
};

}  // namespace retort
