#include "session/threads.h"

#include <algorithm>

namespace retort {
namespace {

void set_spinning(ThreadPoolOptions& pool, bool allowed, std::optional<size_t> microseconds) {
  constexpr size_t kLongest = 60'000'000;  // one minute; much longer times would overflow
  pool.spin &= allowed;
  if (microseconds) pool.linger = std::chrono::microseconds(std::min(*microseconds, kLongest));
}

ThreadPoolOptions own_pool_options(const SessionOptions& options) {
  ThreadSettings threads = options.threads;
  const std::string& affinity = options.config_entry("session.intra_op_thread_affinities");
  if (!affinity.empty()) threads.affinity = affinity;
  ThreadPoolOptions pool = pool_options(threads);
  set_spinning(pool, options.config_on("session.intra_op.allow_spinning", true),
               options.config_number("session.intra_op.spin_duration_us"));
  pool.flush_denormals |= options.config_on("session.set_denormal_as_zero");
  return pool;
}

// The options of the threads for branches, beside a pool with the options `inside`.
ThreadPoolOptions branch_pool_options(const SessionOptions& options, ThreadPoolOptions inside) {
  const ThreadPoolOptions standard;
  inside.spin = options.threads.spin;
  inside.linger = standard.linger;
  set_spinning(inside, options.config_on("session.inter_op.allow_spinning", true),
               options.config_number("session.inter_op.spin_duration_us"));
  return inside;
}

// A pool in place of `all`. Frames have scratch memory for as many workers as that has.
std::unique_ptr<ThreadPool> make_few(const ThreadPool& all, const ThreadPool* branches) {
  ThreadPoolOptions few = all.options();
  few.stands_for = std::max(all.workers(), branches ? branches->workers() : 0);
  few.threads = std::max(1, few.threads / 2);
  few.spin = false;
  return std::make_unique<ThreadPool>(std::move(few));
}

}  // namespace

SessionThreads::SessionThreads(const SessionOptions& options, const Environment& environment)
    : inside_(options.own_threads ? nullptr : environment.shared_pool()),
      stops_spinning_(options.config_on("session.force_spinning_stop")) {
  if (inside_) {
    if (options.parallel_execution) branches_ = environment.branch_pool();
    return;
  }
  const ThreadPoolOptions inside = own_pool_options(options);
  own_ = std::make_unique<ThreadPool>(inside);
  inside_ = own_.get();
  if (!options.parallel_execution) return;
  own_branches_ = make_branch_pool(options.threads, branch_pool_options(options, inside));
  branches_ = own_branches_ ? own_branches_.get() : inside_;
}

void SessionThreads::set_efficient(bool on) {
  const std::lock_guard lock(mutex_);
  if (on && !own_few_) own_few_ = make_few(*inside_, branches_);
  few_.store(on ? own_few_.get() : nullptr, std::memory_order_release);
  if (on && own_) own_->rest();
  if (on && own_branches_) own_branches_->rest();
}

}  // namespace retort
