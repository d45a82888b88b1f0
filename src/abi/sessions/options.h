// OrtSessionOptions and OrtRunOptions: the engine's options, and those that only the C interface has.
#pragma once
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "abi/handle.h"
#include "abi/sessions/threads.h"
#include "session/options.h"

struct OrtCustomOpDomain : retort::abi::Handle<retort::abi::tag_of("cdom")> {
  std::string name;
  std::vector<const OrtCustomOp*> ops;  ///< the caller's; they must outlive the sessions that use them
};

struct OrtEpContextConfig : retort::abi::Handle<retort::abi::tag_of("epcc")> {
  OrtReadNamedBufferFunc read = nullptr;
  void* read_state = nullptr;
  OrtWriteNamedBufferFunc write = nullptr;
  void* write_state = nullptr;
};

struct OrtSessionOptions : retort::abi::Handle<retort::abi::tag_of("seso")> {
  retort::SessionOptions options;
  retort::abi::CustomThreads custom_threads;
  std::vector<OrtCustomOpDomain*> domains;                 ///< the caller's
  std::vector<std::shared_ptr<void>> custom_op_libraries;  ///< closed with the last copy of the options
  /// For each call of AppendExecutionProvider_V2, the devices, all of one provider; they live as long as their
  /// environment.
  std::vector<std::vector<const OrtEpDevice*>> devices;
  std::optional<OrtExecutionProviderDevicePolicy> policy;  ///< empty: none was set
  EpSelectionDelegate delegate = nullptr;                  ///< replaces the policy
  void* delegate_state = nullptr;
  const void* weightless_source = nullptr;  ///< the caller's
  size_t weightless_source_size = 0;
  OrtEpContextConfig ep_context;
};

struct OrtRunOptions : retort::abi::Handle<retort::abi::tag_of("runo")> {
  OrtRunOptions() { options.outward = this; }
  OrtRunOptions(const OrtRunOptions&) = delete;
  retort::RunOptions options;
  std::vector<const OrtLoraAdapter*> adapters;  ///< the caller's
};
