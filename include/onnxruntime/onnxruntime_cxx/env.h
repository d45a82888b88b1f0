// Part of onnxruntime_cxx_api.h: the environment of a process, and the threads that its sessions share.
#pragma once
#include "devices.h"
#include "value.h"

namespace Ort {

struct ThreadingOptions : detail::Base<OrtThreadingOptions> {
  ThreadingOptions() { ThrowOnError(GetApi().CreateThreadingOptions(&p_)); }

  ThreadingOptions& SetGlobalIntraOpNumThreads(int intra_op_num_threads) {
    ThrowOnError(GetApi().SetGlobalIntraOpNumThreads(p_, intra_op_num_threads));
    return *this;
  }
  ThreadingOptions& SetGlobalInterOpNumThreads(int inter_op_num_threads) {
    ThrowOnError(GetApi().SetGlobalInterOpNumThreads(p_, inter_op_num_threads));
    return *this;
  }
  ThreadingOptions& SetGlobalSpinControl(int allow_spinning) {
    ThrowOnError(GetApi().SetGlobalSpinControl(p_, allow_spinning));
    return *this;
  }
  ThreadingOptions& SetGlobalDenormalAsZero() {
    ThrowOnError(GetApi().SetGlobalDenormalAsZero(p_));
    return *this;
  }
  ThreadingOptions& SetGlobalCustomCreateThreadFn(OrtCustomCreateThreadFn ort_custom_create_thread_fn) {
    ThrowOnError(GetApi().SetGlobalCustomCreateThreadFn(p_, ort_custom_create_thread_fn));
    return *this;
  }
  ThreadingOptions& SetGlobalCustomThreadCreationOptions(void* ort_custom_thread_creation_options) {
    ThrowOnError(GetApi().SetGlobalCustomThreadCreationOptions(p_, ort_custom_thread_creation_options));
    return *this;
  }
  ThreadingOptions& SetGlobalCustomJoinThreadFn(OrtCustomJoinThreadFn ort_custom_join_thread_fn) {
    ThrowOnError(GetApi().SetGlobalCustomJoinThreadFn(p_, ort_custom_join_thread_fn));
    return *this;
  }
};

// One per process: a second object refers to the environment of the first, whatever its arguments. It must outlive all
// sessions.
struct Env : detail::Base<OrtEnv> {
  explicit Env(std::nullptr_t) {}
  explicit Env(OrtEnv* p) : Base<OrtEnv>(p) {}
  Env(OrtLoggingLevel logging_level = ORT_LOGGING_LEVEL_WARNING, _In_ const char* logid = "") {
    ThrowOnError(GetApi().CreateEnv(logging_level, logid, &p_));
    NameLanguage();
  }
  Env(OrtLoggingLevel logging_level, const char* logid, OrtLoggingFunction logging_function, void* logger_param) {
    ThrowOnError(GetApi().CreateEnvWithCustomLogger(logging_function, logger_param, logging_level, logid, &p_));
    NameLanguage();
  }
  Env(const OrtThreadingOptions* tp_options, OrtLoggingLevel logging_level = ORT_LOGGING_LEVEL_WARNING,
      _In_ const char* logid = "") {
    ThrowOnError(GetApi().CreateEnvWithGlobalThreadPools(logging_level, logid, tp_options, &p_));
    NameLanguage();
  }
  Env(const OrtThreadingOptions* tp_options, OrtLoggingFunction logging_function, void* logger_param,
      OrtLoggingLevel logging_level = ORT_LOGGING_LEVEL_WARNING, _In_ const char* logid = "") {
    ThrowOnError(GetApi().CreateEnvWithCustomLoggerAndGlobalThreadPools(logging_function, logger_param, logging_level,
                                                                        logid, tp_options, &p_));
    NameLanguage();
  }
  explicit Env(const OrtEnvCreationOptions* options) {
    ThrowOnError(GetApi().CreateEnvWithOptions(options, &p_));
    NameLanguage();
  }

  Env& EnableTelemetryEvents() {
    ThrowOnError(GetApi().EnableTelemetryEvents(p_));
    return *this;
  }
  Env& DisableTelemetryEvents() {
    ThrowOnError(GetApi().DisableTelemetryEvents(p_));
    return *this;
  }
  Env& UpdateEnvWithCustomLogLevel(OrtLoggingLevel log_severity_level) {
    ThrowOnError(GetApi().UpdateEnvWithCustomLogLevel(p_, log_severity_level));
    return *this;
  }
  Env& SetPerSessionThreadPoolCallbacks(const OrtThreadPoolCallbacksConfig& config) {
    ThrowOnError(GetApi().SetPerSessionThreadPoolCallbacks(p_, &config));
    return *this;
  }

  // Allocators that sessions use where session.use_env_allocators is set.
  Env& CreateAndRegisterAllocator(const OrtMemoryInfo* mem_info, const OrtArenaCfg* arena_cfg) {
    ThrowOnError(GetApi().CreateAndRegisterAllocator(p_, mem_info, arena_cfg));
    return *this;
  }
  Env& CreateAndRegisterAllocatorV2(const std::string& provider_type, const OrtMemoryInfo* mem_info,
                                    const std::unordered_map<std::string, std::string>& options,
                                    const OrtArenaCfg* arena_cfg) {
    const detail::Pairs pairs(options);
    ThrowOnError(GetApi().CreateAndRegisterAllocatorV2(p_, provider_type.c_str(), mem_info, arena_cfg,
                                                       pairs.keys.data(), pairs.values.data(), pairs.size()));
    return *this;
  }
  Env& RegisterAllocator(OrtAllocator* allocator) {
    ThrowOnError(GetApi().RegisterAllocator(p_, allocator));
    return *this;
  }
  Env& UnregisterAllocator(const OrtMemoryInfo* mem_info) {
    ThrowOnError(GetApi().UnregisterAllocator(p_, mem_info));
    return *this;
  }

  // Allocators of devices, which belong to the environment. GetSharedAllocator: empty if there is none.
  UnownedAllocator CreateSharedAllocator(const OrtEpDevice* ep_device, OrtDeviceMemoryType mem_type,
                                         OrtAllocatorType allocator_type, const OrtKeyValuePairs* allocator_options) {
    return UnownedAllocator{detail::Fetch<OrtAllocator*>(GetApi().CreateSharedAllocator, p_, ep_device, mem_type,
                                                         allocator_type, allocator_options)};
  }
  UnownedAllocator GetSharedAllocator(const OrtMemoryInfo* mem_info) {
    return UnownedAllocator{detail::Fetch<OrtAllocator*>(GetApi().GetSharedAllocator, p_, mem_info)};
  }
  void ReleaseSharedAllocator(const OrtEpDevice* ep_device, OrtDeviceMemoryType mem_type) {
    ThrowOnError(GetApi().ReleaseSharedAllocator(p_, ep_device, mem_type));
  }

  Env& RegisterExecutionProviderLibrary(const char* registration_name, const std::basic_string<ORTCHAR_T>& path) {
    ThrowOnError(GetApi().RegisterExecutionProviderLibrary(p_, registration_name, path.c_str()));
    return *this;
  }
  Env& UnregisterExecutionProviderLibrary(const char* registration_name) {
    ThrowOnError(GetApi().UnregisterExecutionProviderLibrary(p_, registration_name));
    return *this;
  }
  std::vector<ConstEpDevice> GetEpDevices() const {
    size_t count = 0;
    const OrtEpDevice* const* devices = nullptr;
    ThrowOnError(GetApi().GetEpDevices(p_, &devices, &count));
    return detail::ListOf<ConstEpDevice>(devices, count);
  }
  size_t GetNumHardwareDevices() const { return detail::Fetch<size_t>(GetApi().GetNumHardwareDevices, p_); }
  std::vector<ConstHardwareDevice> GetHardwareDevices() const {
    return detail::FetchList<ConstHardwareDevice>(GetNumHardwareDevices(), GetApi().GetHardwareDevices,
                                                  static_cast<const OrtEnv*>(p_));
  }
  DeviceEpIncompatibilityDetails GetHardwareDeviceEpIncompatibilityDetails(const char* ep_name,
                                                                           ConstHardwareDevice hw) const {
    return DeviceEpIncompatibilityDetails{detail::Fetch<OrtDeviceEpIncompatibilityDetails*>(
        GetApi().GetHardwareDeviceEpIncompatibilityDetails, p_, ep_name, hw)};
  }

  // Copies each tensor of `src_tensors` into that of the same place of `dst_tensors`. With a stream, the call may return
  // before the copies are done; later work of that stream waits for them.
  Status CopyTensors(const std::vector<Value>& src_tensors, const std::vector<Value>& dst_tensors,
                     OrtSyncStream* stream) const {
    if (src_tensors.size() != dst_tensors.size()) {
      return Status("CopyTensors: there must be as many sources as destinations", ORT_INVALID_ARGUMENT);
    }
    if (src_tensors.empty()) return Status("CopyTensors: there are no tensors to copy", ORT_INVALID_ARGUMENT);
    // The destinations are const objects, but their handles are not.
    OrtValue* const* destinations = const_cast<OrtValue* const*>(detail::HandlesOf(dst_tensors.data()));
    return Status(
        GetApi().CopyTensors(p_, detail::HandlesOf(src_tensors.data()), destinations, stream, src_tensors.size()));
  }
  Status CopyTensor(const OrtValue* src_tensor, OrtValue* dst_tensor, OrtSyncStream* stream) const {
    return Status(GetApi().CopyTensors(p_, &src_tensor, &dst_tensor, stream, 1));
  }

 private:
  void NameLanguage() { ThrowOnError(GetApi().SetLanguageProjection(p_, ORT_PROJECTION_CPLUSPLUS)); }
};

// The entries that the environment was created with, for a provider library.
inline KeyValuePairs GetEnvConfigEntries() {
  return KeyValuePairs{detail::Fetch<OrtKeyValuePairs*>(GetEpApi().GetEnvConfigEntries)};
}

}  // namespace Ort
