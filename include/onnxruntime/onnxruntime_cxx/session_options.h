// Part of onnxruntime_cxx_api.h: options of sessions, and of models that are compiled.
#pragma once
#include "options.h"

namespace Ort {

struct SessionOptions;

namespace detail {

template <typename T>
struct ConstSessionOptionsImpl : Base<T> {
  using B = Base<T>;
  using B::B;

  SessionOptions Clone() const;
  // Keys: onnxruntime_session_options_config_keys.h. The entry must be set.
  std::string GetConfigEntry(const char* config_key) const {
    return FetchText(GetApi().GetSessionConfigEntry, this->p_, config_key);
  }
  bool HasConfigEntry(const char* config_key) const {
    return FetchFlag(GetApi().HasSessionConfigEntry, this->p_, config_key);
  }
  std::string GetConfigEntryOrDefault(const char* config_key, const std::string& def) const {
    return HasConfigEntry(config_key) ? GetConfigEntry(config_key) : def;
  }
  KeyValuePairs GetConfigEntries() const {
    return KeyValuePairs{Fetch<OrtKeyValuePairs*>(GetApi().GetSessionOptionsConfigEntries, this->p_)};
  }
  bool GetMemPatternEnabled() const { return FetchFlag(GetApi().GetMemPatternEnabled, this->p_); }
  ExecutionMode GetExecutionMode() const { return Fetch<ExecutionMode>(GetApi().GetSessionExecutionMode, this->p_); }
};

// What every setter of session options does: it calls the C interface and returns the object, so that calls can follow
// one another. The setters stand in classes by subject, each of which inherits the one before; Self is the last.
template <typename T, typename Self>
struct SessionOptionsSetters : ConstSessionOptionsImpl<T> {
  using B = ConstSessionOptionsImpl<T>;
  using B::B;
  using Map = std::unordered_map<std::string, std::string>;

 protected:
  template <typename Function, typename... Arguments>
  Self& Set(Function* function, Arguments&&... arguments) {
    ThrowOnError(function(this->p_, std::forward<Arguments>(arguments)...));
    return static_cast<Self&>(*this);
  }
  template <typename Function>
  Self& SetPairs(Function* function, const Map& map) {
    const Pairs pairs(map);
    return Set(function, pairs.keys.data(), pairs.values.data(), pairs.size());
  }
};

// Threads, optimisation, memory, logs and profiles.
template <typename T, typename Self>
struct SessionOptionsSettings : SessionOptionsSetters<T, Self> {
  using B = SessionOptionsSetters<T, Self>;
  using B::B;

  // 0: as many threads as there are processors.
  Self& SetIntraOpNumThreads(int intra_op_num_threads) {
    return this->Set(GetApi().SetIntraOpNumThreads, intra_op_num_threads);
  }
  Self& SetInterOpNumThreads(int inter_op_num_threads) {
    return this->Set(GetApi().SetInterOpNumThreads, inter_op_num_threads);
  }
  Self& SetGraphOptimizationLevel(GraphOptimizationLevel graph_optimization_level) {
    return this->Set(GetApi().SetSessionGraphOptimizationLevel, graph_optimization_level);
  }
  Self& SetDeterministicCompute(bool value) { return this->Set(GetApi().SetDeterministicCompute, value); }
  Self& EnableCpuMemArena() { return this->Set(GetApi().EnableCpuMemArena); }
  Self& DisableCpuMemArena() { return this->Set(GetApi().DisableCpuMemArena); }
  Self& SetOptimizedModelFilePath(const ORTCHAR_T* optimized_model_file) {
    return this->Set(GetApi().SetOptimizedModelFilePath, optimized_model_file);
  }
  Self& EnableProfiling(const ORTCHAR_T* profile_file_prefix) {
    return this->Set(GetApi().EnableProfiling, profile_file_prefix);
  }
  Self& DisableProfiling() { return this->Set(GetApi().DisableProfiling); }
  Self& EnableOrtCustomOps() { return this->Set(GetApi().EnableOrtCustomOps); }
  Self& EnableMemPattern() { return this->Set(GetApi().EnableMemPattern); }
  Self& DisableMemPattern() { return this->Set(GetApi().DisableMemPattern); }
  Self& SetExecutionMode(ExecutionMode execution_mode) {
    return this->Set(GetApi().SetSessionExecutionMode, execution_mode);
  }
  // true, from another thread, ends the creation of sessions with these options.
  Self& SetLoadCancellationFlag(bool value) { return this->Set(GetApi().SessionOptionsSetLoadCancellationFlag, value); }
  Self& SetLogId(const char* logid) { return this->Set(GetApi().SetSessionLogId, logid); }
  Self& SetLogSeverityLevel(int level) { return this->Set(GetApi().SetSessionLogSeverityLevel, level); }
  // Sessions use the threads of the environment.
  Self& DisablePerSessionThreads() { return this->Set(GetApi().DisablePerSessionThreads); }
  Self& SetCustomCreateThreadFn(OrtCustomCreateThreadFn ort_custom_create_thread_fn) {
    return this->Set(GetApi().SessionOptionsSetCustomCreateThreadFn, ort_custom_create_thread_fn);
  }
  Self& SetCustomThreadCreationOptions(void* ort_custom_thread_creation_options) {
    return this->Set(GetApi().SessionOptionsSetCustomThreadCreationOptions, ort_custom_thread_creation_options);
  }
  Self& SetCustomJoinThreadFn(OrtCustomJoinThreadFn ort_custom_join_thread_fn) {
    return this->Set(GetApi().SessionOptionsSetCustomJoinThreadFn, ort_custom_join_thread_fn);
  }
};

// Weights that do not come from the model file.
template <typename T, typename Self>
struct SessionOptionsData : SessionOptionsSettings<T, Self> {
  using B = SessionOptionsSettings<T, Self>;
  using B::B;

  // A weight in place of that in the model. Value and memory must outlive the session.
  Self& AddInitializer(const char* name, const OrtValue* ort_val) {
    return this->Set(GetApi().AddInitializer, name, ort_val);
  }
  // Weights that the model looks for in files. They are copied.
  Self& AddExternalInitializers(const std::vector<std::string>& names, const std::vector<Value>& ort_values) {
    if (names.size() != ort_values.size()) {
      ORT_CXX_API_THROW("AddExternalInitializers: there must be as many names as values", ORT_INVALID_ARGUMENT);
    }
    const std::vector<const char*> pointers = Pointers(names);
    return this->Set(GetApi().AddExternalInitializers, pointers.data(), HandlesOf(ort_values.data()),
                     ort_values.size());
  }
  // The contents of files with weights, by the names that the model has for them.
  Self& AddExternalInitializersFromFilesInMemory(
      const std::vector<std::basic_string<ORTCHAR_T>>& external_initializer_file_names,
      const std::vector<char*>& external_initializer_file_buffer_array,
      const std::vector<size_t>& external_initializer_file_lengths) {
    const size_t count = external_initializer_file_names.size();
    if (external_initializer_file_buffer_array.size() != count || external_initializer_file_lengths.size() != count) {
      ORT_CXX_API_THROW("AddExternalInitializersFromFilesInMemory: there must be as many buffers and lengths as names",
                        ORT_INVALID_ARGUMENT);
    }
    std::vector<const ORTCHAR_T*> names;
    for (const auto& name : external_initializer_file_names) names.push_back(name.c_str());
    return this->Set(GetApi().AddExternalInitializersFromFilesInMemory, names.data(),
                     external_initializer_file_buffer_array.data(), external_initializer_file_lengths.data(), count);
  }
  // A model that a compiled one without weights takes them from; the memory must outlive the session.
  Self& SetWeightlessSourceModelBuffer(const void* source_model_data, size_t source_model_data_length) {
    return this->Set(GetApi().SessionOptionsSetWeightlessSourceModelBuffer, source_model_data,
                     source_model_data_length);
  }
  Self& SetEpContextDataReadFunc(OrtReadNamedBufferFunc read_func, void* state) {
    return this->Set(GetApi().SessionOptionsSetEpContextDataReadFunc, read_func, state);
  }
};

// Providers, in the order in which they may claim nodes. Fails if the library has no such provider.
template <typename T, typename Self>
struct SessionOptionsProviders : SessionOptionsData<T, Self> {
  using B = SessionOptionsData<T, Self>;
  using B::B;
  using typename B::Map;

  Self& AppendExecutionProvider_CPU(int use_arena) {
    ThrowOnError(OrtSessionOptionsAppendExecutionProvider_CPU(this->p_, use_arena));
    return static_cast<Self&>(*this);
  }
  Self& AppendExecutionProvider_CUDA(const OrtCUDAProviderOptions& provider_options) {
    return this->Set(GetApi().SessionOptionsAppendExecutionProvider_CUDA, &provider_options);
  }
  Self& AppendExecutionProvider_CUDA_V2(const OrtCUDAProviderOptionsV2& provider_options) {
    return this->Set(GetApi().SessionOptionsAppendExecutionProvider_CUDA_V2, &provider_options);
  }
  Self& AppendExecutionProvider_ROCM(const OrtROCMProviderOptions& provider_options) {
    return this->Set(GetApi().SessionOptionsAppendExecutionProvider_ROCM, &provider_options);
  }
  Self& AppendExecutionProvider_OpenVINO(const OrtOpenVINOProviderOptions& provider_options) {
    return this->Set(GetApi().SessionOptionsAppendExecutionProvider_OpenVINO, &provider_options);
  }
  Self& AppendExecutionProvider_OpenVINO_V2(const Map& provider_options = {}) {
    return this->SetPairs(GetApi().SessionOptionsAppendExecutionProvider_OpenVINO_V2, provider_options);
  }
  Self& AppendExecutionProvider_TensorRT(const OrtTensorRTProviderOptions& provider_options) {
    return this->Set(GetApi().SessionOptionsAppendExecutionProvider_TensorRT, &provider_options);
  }
  Self& AppendExecutionProvider_TensorRT_V2(const OrtTensorRTProviderOptionsV2& provider_options) {
    return this->Set(GetApi().SessionOptionsAppendExecutionProvider_TensorRT_V2, &provider_options);
  }
  Self& AppendExecutionProvider_MIGraphX(const OrtMIGraphXProviderOptions& provider_options) {
    return this->Set(GetApi().SessionOptionsAppendExecutionProvider_MIGraphX, &provider_options);
  }
  Self& AppendExecutionProvider_CANN(const OrtCANNProviderOptions& provider_options) {
    return this->Set(GetApi().SessionOptionsAppendExecutionProvider_CANN, &provider_options);
  }
  Self& AppendExecutionProvider_Dnnl(const OrtDnnlProviderOptions& provider_options) {
    return this->Set(GetApi().SessionOptionsAppendExecutionProvider_Dnnl, &provider_options);
  }
  Self& AppendExecutionProvider_VitisAI(const Map& provider_options = {}) {
    return this->SetPairs(GetApi().SessionOptionsAppendExecutionProvider_VitisAI, provider_options);
  }
  Self& AppendExecutionProvider(const std::string& provider_name, const Map& provider_options = {}) {
    const Pairs pairs(provider_options);
    return this->Set(GetApi().SessionOptionsAppendExecutionProvider, provider_name.c_str(), pairs.keys.data(),
                     pairs.values.data(), pairs.size());
  }
  // Devices of one provider, which may be that of a registered library.
  Self& AppendExecutionProvider_V2(Env& env, const std::vector<ConstEpDevice>& ep_devices,
                                   const KeyValuePairs& ep_options) {
    std::vector<const char*> keys, values;
    ep_options.GetKeyValuePairs(keys, values);
    return this->Set(GetApi().SessionOptionsAppendExecutionProvider_V2, env, HandlesOf(ep_devices.data()),
                     ep_devices.size(), keys.data(), values.data(), keys.size());
  }
  Self& AppendExecutionProvider_V2(Env& env, const std::vector<ConstEpDevice>& ep_devices, const Map& ep_options) {
    const Pairs pairs(ep_options);
    return this->Set(GetApi().SessionOptionsAppendExecutionProvider_V2, env, HandlesOf(ep_devices.data()),
                     ep_devices.size(), pairs.keys.data(), pairs.values.data(), pairs.size());
  }
  Self& SetEpSelectionPolicy(OrtExecutionProviderDevicePolicy policy) {
    return this->Set(GetApi().SessionOptionsSetEpSelectionPolicy, policy);
  }
  Self& SetEpSelectionPolicy(EpSelectionDelegate delegate, void* state = nullptr) {
    return this->Set(GetApi().SessionOptionsSetEpSelectionPolicyDelegate, delegate, state);
  }
};

template <typename T>
struct SessionOptionsImpl : SessionOptionsProviders<T, SessionOptionsImpl<T>> {
  using B = SessionOptionsProviders<T, SessionOptionsImpl<T>>;
  using B::B;

  SessionOptionsImpl& AddConfigEntry(const char* config_key, const char* config_value) {
    return this->Set(GetApi().AddSessionConfigEntry, config_key, config_value);
  }
  SessionOptionsImpl& Add(OrtCustomOpDomain* custom_op_domain) {
    return this->Set(GetApi().AddCustomOpDomain, custom_op_domain);
  }
  // A number for the dimensions that a model leaves free, by their denotation, such as "DATA_BATCH", or by their name.
  SessionOptionsImpl& AddFreeDimensionOverride(const char* dim_denotation, int64_t dim_value) {
    return this->Set(GetApi().AddFreeDimensionOverride, dim_denotation, dim_value);
  }
  SessionOptionsImpl& AddFreeDimensionOverrideByName(const char* dim_name, int64_t dim_value) {
    return this->Set(GetApi().AddFreeDimensionOverrideByName, dim_name, dim_value);
  }

  // A library with custom operators, which exports RegisterCustomOps.
  SessionOptionsImpl& RegisterCustomOpsLibrary(const ORTCHAR_T* library_name,
                                               const CustomOpConfigs& custom_op_configs = {}) {
    for (const auto& [key, value] : custom_op_configs.GetFlattenedConfigs()) AddConfigEntry(key.c_str(), value.c_str());
    return this->Set(GetApi().RegisterCustomOpsLibrary_V2, library_name);
  }
  // The same, by the name of a function of the program.
  SessionOptionsImpl& RegisterCustomOpsUsingFunction(const char* function_name) {
    return this->Set(GetApi().RegisterCustomOpsUsingFunction, function_name);
  }
};

}  // namespace detail

using UnownedSessionOptions = detail::SessionOptionsImpl<detail::Unowned<OrtSessionOptions>>;
using ConstSessionOptions = detail::ConstSessionOptionsImpl<detail::Unowned<const OrtSessionOptions>>;

struct SessionOptions : detail::SessionOptionsImpl<OrtSessionOptions> {
  explicit SessionOptions(std::nullptr_t) {}
  explicit SessionOptions(OrtSessionOptions* p) : SessionOptionsImpl<OrtSessionOptions>(p) {}
  SessionOptions() { ThrowOnError(GetApi().CreateSessionOptions(&p_)); }

  UnownedSessionOptions GetUnowned() const { return UnownedSessionOptions{this->p_}; }
  ConstSessionOptions GetConst() const { return ConstSessionOptions{this->p_}; }
};

namespace detail {
template <typename T>
SessionOptions ConstSessionOptionsImpl<T>::Clone() const {
  return SessionOptions{Fetch<OrtSessionOptions*>(GetApi().CloneSessionOptions, this->p_)};
}
}  // namespace detail

}  // namespace Ort
