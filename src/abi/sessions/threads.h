// Threads that the host program makes itself, behind the three callbacks of the C interface.
#pragma once
#include "abi/handle.h"
#include "session/options.h"

namespace retort::abi {

struct CustomThreads {
  OrtCustomCreateThreadFn create = nullptr;
  OrtCustomJoinThreadFn join = nullptr;
  void* options = nullptr;

  /// Empty without a create function; `fail` when there is one, but no way to join.
  ThreadSettings::Create hook() const;
};

}  // namespace retort::abi

struct OrtThreadingOptions : retort::abi::Handle<retort::abi::tag_of("thro")> {
  retort::ThreadSettings settings;
  retort::abi::CustomThreads custom;
};
