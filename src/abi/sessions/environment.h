// OrtEnv: the one environment of the process, and what the C interface keeps beside it.
#pragma once
#include <memory>
#include <mutex>

#include "abi/devices/devices.h"
#include "abi/values/allocators.h"
#include "session/environment.h"

struct OrtLogger : retort::abi::Handle<retort::abi::tag_of("logr")> {
  explicit OrtLogger(retort::Logger l) : logger(std::move(l)) {}
  retort::Logger logger;
};

struct OrtEnv : retort::abi::Handle<retort::abi::tag_of("env ")> {
  std::shared_ptr<retort::Environment> environment;
  retort::abi::SharedAllocators allocators;
  std::shared_ptr<retort::abi::EpDevices> devices = std::make_shared<retort::abi::EpDevices>();
  mutable std::mutex hooks_mutex;
  retort::WorkHooks hooks;  ///< of pools of sessions to come; guarded
  int references = 0;       ///< guarded by the mutex of environment.cc
};

namespace retort::abi {

/// The environment of the process; null before one is made.
OrtEnv* current_environment();
/// A sink that calls a C function; empty for null.
Logger::Sink sink_of(OrtLoggingFunction function, void* param);

}  // namespace retort::abi
