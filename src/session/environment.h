// What all sessions of a process share: the logger, the pools of threads, configuration.
#pragma once
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "base/log.h"
#include "base/thread_pool.h"
#include "ep/devices.h"
#include "memory/shared_blocks.h"
#include "session/options.h"

namespace retort {

struct EnvironmentOptions {
  Logger logger{LogLevel::warning, "retort"};
  std::optional<ThreadSettings> threads;  ///< of the shared pool; absent: each session has its own
  std::map<std::string, std::string> config;
};

/// Thread-safe. Sessions hold it, so it outlives the last of them.
class Environment {
 public:
  /// Throws invalid_argument when the affinity cannot be read, or RETORT_ISA asks for what the processor does not have.
  explicit Environment(EnvironmentOptions options);
  Environment(const Environment&) = delete;

  const Logger& logger() const { return options_.logger; }
  void set_log_level(LogLevel level) { options_.logger.set_level(level); }
  const std::map<std::string, std::string>& config() const { return options_.config; }
  /// The shared pool, or null when the environment was made without one.
  ThreadPool* shared_pool() const { return shared_pool_.get(); }
  /// The pool on which sessions that share threads run branches; null without shared_pool().
  ThreadPool* branch_pool() const { return branch_pool_ ? branch_pool_.get() : shared_pool(); }
  /// What sessions have in common: packed weights and constants.
  SharedBlocks& weights() { return weights_; }
  /// The memory of devices, and who makes providers of them. Sessions and tensors may outlive the environment.
  const std::shared_ptr<Devices>& devices() const { return devices_; }

 private:
  EnvironmentOptions options_;
  std::unique_ptr<ThreadPool> shared_pool_, branch_pool_;
  SharedBlocks weights_;
  std::shared_ptr<Devices> devices_ = std::make_shared<Devices>();
};

/// The pool that `settings` describe.
ThreadPoolOptions pool_options(const ThreadSettings& settings);
/// The pool for branches beside one of `inside`; null: that one serves.
std::unique_ptr<ThreadPool> make_branch_pool(const ThreadSettings& settings, ThreadPoolOptions inside);

}  // namespace retort
