// What the sessions of a process share: the logger, the pools of threads, packed weights, and devices.
#pragma once
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "base/log.h"
#include "base/thread_pool.h"
#include "ep/devices.h"
#include "memory/counted.h"
#include "memory/shared_blocks.h"
#include "session/options.h"

namespace retort {

struct EnvironmentOptions {
  Logger logger{LogLevel::warning, "retort"};
  std::optional<ThreadSettings> threads;  ///< of the shared pool; nothing: each session has its own threads
  std::map<std::string, std::string> config;
};

/// Thread-safe. Sessions own it together, so it outlives the last of them.
class Environment {
 public:
  /// Throws invalid_argument if the affinity cannot be read, or if RETORT_ISA names instructions that the processor
  /// lacks.
  explicit Environment(EnvironmentOptions options);
  Environment(const Environment&) = delete;
  /// Waits for what cancelled loads left behind: the program may unload the library then.
  ~Environment();

  const Logger& logger() const { return options_.logger; }
  void set_log_level(LogLevel level) { options_.logger.set_level(level); }
  const std::map<std::string, std::string>& config() const { return options_.config; }
  /// The shared pool; null: the environment was made without one.
  ThreadPool* shared_pool() const { return shared_pool_.get(); }
  /// The pool for branches of sessions that share threads; null without shared_pool().
  ThreadPool* branch_pool() const { return branch_pool_ ? branch_pool_.get() : shared_pool(); }
  /// Packed weights and constants that are equal in several sessions.
  SharedBlocks& weights() { return weights_; }
  /// The host memory of sessions that ask for it (session.use_env_allocators); null: each has its own.
  std::shared_ptr<CountedMemory> shared_memory() const {
    const std::lock_guard lock(mutex_);
    return shared_memory_;
  }
  void share_memory(std::shared_ptr<CountedMemory> memory) {
    const std::lock_guard lock(mutex_);
    shared_memory_ = std::move(memory);
  }
  /// The memory of devices, and the factories of their providers. Tensors may outlive the environment, and keep this.
  const std::shared_ptr<Devices>& devices() const { return devices_; }

 private:
  EnvironmentOptions options_;
  std::unique_ptr<ThreadPool> shared_pool_, branch_pool_;
  SharedBlocks weights_;
  std::shared_ptr<Devices> devices_ = std::make_shared<Devices>();
  mutable std::mutex mutex_;
  std::shared_ptr<CountedMemory> shared_memory_;  ///< guarded by mutex_
};

/// The options of the pool that `settings` describe. Throws invalid_argument if the affinity cannot be read.
ThreadPoolOptions pool_options(const ThreadSettings& settings);
/// A pool for branches beside a pool with the options `inside`; null: that pool serves for branches, too.
std::unique_ptr<ThreadPool> make_branch_pool(const ThreadSettings& settings, ThreadPoolOptions inside);

}  // namespace retort
