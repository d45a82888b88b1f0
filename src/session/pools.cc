// The threads that the runs of a session work on.
#include <algorithm>

#include "session/session.h"

namespace retort {
namespace {

void set_spinning(ThreadPoolOptions& pool, bool allowed, std::optional<size_t> microseconds) {
  constexpr size_t kLongest = 60'000'000;  // a minute, and no overflow
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

/// Of the threads for branches, beside those of `inside`.
ThreadPoolOptions branch_pool_options(const SessionOptions& options, ThreadPoolOptions inside) {
  const ThreadPoolOptions standard;
  inside.spin = options.threads.spin;
  inside.linger = standard.linger;
  set_spinning(inside, options.config_on("session.inter_op.allow_spinning", true),
               options.config_number("session.inter_op.spin_duration_us"));
  return inside;
}

}  // namespace

void Session::take_pools() {
  pool_ = options_.own_threads ? nullptr : environment_->shared_pool();
  if (!pool_) {
    const ThreadPoolOptions inside = own_pool_options(options_);
    own_pool_ = std::make_unique<ThreadPool>(inside);
    pool_ = own_pool_.get();
    if (options_.parallel_execution) {
      own_branch_pool_ = make_branch_pool(options_.threads, branch_pool_options(options_, inside));
      branch_pool_ = own_branch_pool_ ? own_branch_pool_.get() : pool_;
    }
  } else if (options_.parallel_execution) {
    branch_pool_ = environment_->branch_pool();
  }
  rests_ = options_.config_on("session.force_spinning_stop");
}

}  // namespace retort
