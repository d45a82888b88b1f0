// OrtEnv: the one environment of the process, with the state that only the C interface has.
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
  retort::WorkHooks hooks;  ///< for thread pools of later sessions; guarded
  int references = 0;       ///< guarded by the mutex of environment.cc
};

namespace retort::abi {

/// The environment of the process; null before it is made.
OrtEnv* current_environment();
/// A log sink that calls a C function; empty if the function is null.
Logger::Sink sink_of(OrtLoggingFunction function, void* param);

}  // namespace retort::abi
