// Part of onnxruntime_cxx_api.h: options of runs and of providers, and what options refer to.
#pragma once
#include "env.h"

namespace Ort {

struct TensorRTProviderOptions : detail::Base<OrtTensorRTProviderOptionsV2> {
  TensorRTProviderOptions(std::nullptr_t) {}
  TensorRTProviderOptions() { ThrowOnError(GetApi().CreateTensorRTProviderOptions(&p_)); }

  void Update(const std::unordered_map<std::string, std::string>& options) {
    const detail::Pairs pairs(options);
    ThrowOnError(GetApi().UpdateTensorRTProviderOptions(p_, pairs.keys.data(), pairs.values.data(), pairs.size()));
  }
  void UpdateWithValue(const char* key, void* value) {
    ThrowOnError(GetApi().UpdateTensorRTProviderOptionsWithValue(p_, key, value));
  }
  void* GetOptionByName(const char* name) const {
    return detail::Fetch<void*>(GetApi().GetTensorRTProviderOptionsByName, p_, name);
  }
  std::string GetTensorRTProviderOptionsAsString() const {
    AllocatorWithDefaultOptions allocator;
    return detail::FetchAllocated(allocator, GetApi().GetTensorRTProviderOptionsAsString, p_, allocator).get();
  }
};

struct CUDAProviderOptions : detail::Base<OrtCUDAProviderOptionsV2> {
  CUDAProviderOptions(std::nullptr_t) {}
  CUDAProviderOptions() { ThrowOnError(GetApi().CreateCUDAProviderOptions(&p_)); }

  void Update(const std::unordered_map<std::string, std::string>& options) {
    const detail::Pairs pairs(options);
    ThrowOnError(GetApi().UpdateCUDAProviderOptions(p_, pairs.keys.data(), pairs.values.data(), pairs.size()));
  }
  std::string GetCUDAProviderOptionsAsString() const {
    AllocatorWithDefaultOptions allocator;
    return detail::FetchAllocated(allocator, GetApi().GetCUDAProviderOptionsAsString, p_, allocator).get();
  }
  void UpdateWithValue(const char* key, void* value) {
    ThrowOnError(GetApi().UpdateCUDAProviderOptionsWithValue(p_, key, value));
  }
  void* GetOptionByName(const char* name) const {
    return detail::Fetch<void*>(GetApi().GetCUDAProviderOptionsByName, p_, name);
  }
};

// Packed weights that several sessions share. It must outlive them.
struct PrepackedWeightsContainer : detail::Base<OrtPrepackedWeightsContainer> {
  using Base = detail::Base<OrtPrepackedWeightsContainer>;
  explicit PrepackedWeightsContainer(std::nullptr_t) {}
  explicit PrepackedWeightsContainer(OrtPrepackedWeightsContainer* p) : Base(p) {}
  PrepackedWeightsContainer() { ThrowOnError(GetApi().CreatePrepackedWeightsContainer(&p_)); }
};

namespace detail {
template <typename T>
struct ConstExternalInitializerInfoImpl : Base<T> {
  using B = Base<T>;
  using B::B;

  const std::basic_string<ORTCHAR_T> GetFilePath() const {
    return GetApi().ExternalInitializerInfo_GetFilePath(this->p_);
  }
  int64_t GetFileOffset() const { return GetApi().ExternalInitializerInfo_GetFileOffset(this->p_); }
  size_t GetByteSize() const { return GetApi().ExternalInitializerInfo_GetByteSize(this->p_); }
};
}  // namespace detail

using ConstExternalInitializerInfo =
    detail::ConstExternalInitializerInfoImpl<detail::Unowned<const OrtExternalInitializerInfo>>;

// Where the bytes of a weight lie in a file.
struct ExternalInitializerInfo : detail::ConstExternalInitializerInfoImpl<OrtExternalInitializerInfo> {
  using Base = detail::ConstExternalInitializerInfoImpl<OrtExternalInitializerInfo>;
  using Base::Base;
  explicit ExternalInitializerInfo(std::nullptr_t) {}
  explicit ExternalInitializerInfo(OrtExternalInitializerInfo* p) : Base(p) {}
  ExternalInitializerInfo(const ORTCHAR_T* filepath, int64_t file_offset, size_t byte_size) {
    ThrowOnError(GetApi().CreateExternalInitializerInfo(filepath, file_offset, byte_size, &p_));
  }

  ConstExternalInitializerInfo GetConst() const { return ConstExternalInitializerInfo{this->p_}; }

  // The constructor above, for callers that must not throw. `out` changes on success only.
  static Status Create(const ORTCHAR_T* filepath, int64_t file_offset, size_t byte_size, ExternalInitializerInfo& out) {
    OrtExternalInitializerInfo* made = nullptr;
    ORT_CXX_RETURN_ON_API_FAIL(GetApi().CreateExternalInitializerInfo(filepath, file_offset, byte_size, &made));
    out = ExternalInitializerInfo(made);
    return Status();
  }
};

// Custom operators of one domain. It must outlive the sessions that use them, as must the operators.
struct CustomOpDomain : detail::Base<OrtCustomOpDomain> {
  using Base = detail::Base<OrtCustomOpDomain>;
  using Base::Base;
  explicit CustomOpDomain(std::nullptr_t) {}
  explicit CustomOpDomain(const char* domain) { ThrowOnError(GetApi().CreateCustomOpDomain(domain, &p_)); }

  void Add(const OrtCustomOp* op) { ThrowOnError(GetApi().CustomOpDomain_Add(p_, op)); }
};

struct LoraAdapter : detail::Base<OrtLoraAdapter> {
  using Base = detail::Base<OrtLoraAdapter>;
  using Base::Base;
  explicit LoraAdapter(std::nullptr_t) {}

  // `allocator` is that of a device to which the weights are copied, or null.
  static LoraAdapter CreateLoraAdapter(const std::basic_string<ORTCHAR_T>& adapter_path, OrtAllocator* allocator) {
    return LoraAdapter{detail::Fetch<OrtLoraAdapter*>(GetApi().CreateLoraAdapter, adapter_path.c_str(), allocator)};
  }
  static LoraAdapter CreateLoraAdapterFromArray(const void* bytes, size_t num_bytes, OrtAllocator* allocator) {
    return LoraAdapter{
        detail::Fetch<OrtLoraAdapter*>(GetApi().CreateLoraAdapterFromArray, bytes, num_bytes, allocator)};
  }
};

struct RunOptions : detail::Base<OrtRunOptions> {
  explicit RunOptions(std::nullptr_t) {}
  RunOptions() { ThrowOnError(GetApi().CreateRunOptions(&p_)); }

  RunOptions& SetRunLogVerbosityLevel(int level) { return Set(GetApi().RunOptionsSetRunLogVerbosityLevel, level); }
  int GetRunLogVerbosityLevel() const { return detail::Fetch<int>(GetApi().RunOptionsGetRunLogVerbosityLevel, p_); }
  RunOptions& SetRunLogSeverityLevel(int level) { return Set(GetApi().RunOptionsSetRunLogSeverityLevel, level); }
  int GetRunLogSeverityLevel() const { return detail::Fetch<int>(GetApi().RunOptionsGetRunLogSeverityLevel, p_); }
  RunOptions& SetRunTag(const char* run_tag) { return Set(GetApi().RunOptionsSetRunTag, run_tag); }
  const char* GetRunTag() const { return detail::Fetch<const char*>(GetApi().RunOptionsGetRunTag, p_); }

  // Keys: onnxruntime_run_options_config_keys.h.
  RunOptions& AddConfigEntry(const char* config_key, const char* config_value) {
    return Set(GetApi().AddRunConfigEntry, config_key, config_value);
  }
  // Null if the key was not set.
  const char* GetConfigEntry(const char* config_key) { return GetApi().GetRunConfigEntry(p_, config_key); }

  // Ends all runs with these options, from any thread; and allows new ones again.
  RunOptions& SetTerminate() { return Set(GetApi().RunOptionsSetTerminate); }
  RunOptions& UnsetTerminate() { return Set(GetApi().RunOptionsUnsetTerminate); }

  RunOptions& AddActiveLoraAdapter(const LoraAdapter& adapter) {
    return Set(GetApi().RunOptionsAddActiveLoraAdapter, static_cast<const OrtLoraAdapter*>(adapter));
  }
  // Runs with these options use this stream of a device.
  RunOptions& SetSyncStream(OrtSyncStream* stream) {
    GetApi().RunOptionsSetSyncStream(p_, stream);
    return *this;
  }
  RunOptions& EnableProfiling(const ORTCHAR_T* profile_file_prefix) {
    return Set(GetApi().RunOptionsEnableProfiling, profile_file_prefix);
  }
  RunOptions& DisableProfiling() { return Set(GetApi().RunOptionsDisableProfiling); }

 private:
  template <typename Function, typename... Arguments>
  RunOptions& Set(Function* function, Arguments... arguments) {
    ThrowOnError(function(p_, arguments...));
    return *this;
  }
};

namespace detail {
inline std::string MakeCustomOpConfigEntryKey(const char* custom_op_name, const char* config) {
  return std::string("custom_op.") + custom_op_name + "." + config;
}
}  // namespace detail

// Session entries for custom operators, each of which reads those with its name.
struct CustomOpConfigs {
  CustomOpConfigs& AddConfig(const char* custom_op_name, const char* config_key, const char* config_value) {
    flat_configs_[detail::MakeCustomOpConfigEntryKey(custom_op_name, config_key)] = config_value;
    return *this;
  }
  // By the keys that session entries have.
  const std::unordered_map<std::string, std::string>& GetFlattenedConfigs() const { return flat_configs_; }

 private:
  std::unordered_map<std::string, std::string> flat_configs_;
};

}  // namespace Ort
