// Part of onnxruntime_cxx_api.h: models that are ready to run, their metadata, and models that are compiled.
#pragma once
#include "graph.h"
#include "session_options.h"

namespace Ort {

struct IoBinding;

// Texts lie in memory of the allocator that the caller passes.
struct ModelMetadata : detail::Base<OrtModelMetadata> {
  using Base = detail::Base<OrtModelMetadata>;
  using Base::Base;
  explicit ModelMetadata(std::nullptr_t) {}

  AllocatedStringPtr GetProducerNameAllocated(OrtAllocator* allocator) const {
    return detail::FetchAllocated(allocator, GetApi().ModelMetadataGetProducerName, p_, allocator);
  }
  AllocatedStringPtr GetGraphNameAllocated(OrtAllocator* allocator) const {
    return detail::FetchAllocated(allocator, GetApi().ModelMetadataGetGraphName, p_, allocator);
  }
  AllocatedStringPtr GetDomainAllocated(OrtAllocator* allocator) const {
    return detail::FetchAllocated(allocator, GetApi().ModelMetadataGetDomain, p_, allocator);
  }
  AllocatedStringPtr GetDescriptionAllocated(OrtAllocator* allocator) const {
    return detail::FetchAllocated(allocator, GetApi().ModelMetadataGetDescription, p_, allocator);
  }
  AllocatedStringPtr GetGraphDescriptionAllocated(OrtAllocator* allocator) const {
    return detail::FetchAllocated(allocator, GetApi().ModelMetadataGetGraphDescription, p_, allocator);
  }
  std::vector<AllocatedStringPtr> GetCustomMetadataMapKeysAllocated(OrtAllocator* allocator) const {
    char** keys = nullptr;
    int64_t count = 0;
    ThrowOnError(GetApi().ModelMetadataGetCustomMetadataMapKeys(p_, allocator, &keys, &count));
    const std::unique_ptr<void, detail::AllocatedFree> owner(keys, detail::AllocatedFree(allocator));
    std::vector<AllocatedStringPtr> list;
    for (int64_t i = 0; i < count; ++i) list.emplace_back(keys[i], detail::AllocatedFree(allocator));
    return list;
  }
  // Null if there is no such key.
  AllocatedStringPtr LookupCustomMetadataMapAllocated(const char* key, OrtAllocator* allocator) const {
    return detail::FetchAllocated(allocator, GetApi().ModelMetadataLookupCustomMetadataMap, p_, allocator, key);
  }
  int64_t GetVersion() const { return detail::Fetch<int64_t>(GetApi().ModelMetadataGetVersion, p_); }
};

namespace detail {

template <typename T>
ModelMetadata ConstGraphImpl<T>::GetModelMetadata() const {
  return ModelMetadata{Fetch<OrtModelMetadata*>(GetApi().Graph_GetModelMetadata, this->p_)};
}

template <typename T>
struct EpAssignedNodeImpl : Ort::detail::Base<T> {
  using B = Ort::detail::Base<T>;
  using B::B;

  std::string GetName() const { return FetchView(GetApi().EpAssignedNode_GetName, this->p_); }
  std::string GetDomain() const { return FetchView(GetApi().EpAssignedNode_GetDomain, this->p_); }
  std::string GetOperatorType() const { return FetchView(GetApi().EpAssignedNode_GetOperatorType, this->p_); }
};

}  // namespace detail

using ConstEpAssignedNode = detail::EpAssignedNodeImpl<Ort::detail::Unowned<const OrtEpAssignedNode>>;

namespace detail {

template <typename T>
struct EpAssignedSubgraphImpl : Ort::detail::Base<T> {
  using B = Ort::detail::Base<T>;
  using B::B;

  std::string GetEpName() const { return FetchView(GetApi().EpAssignedSubgraph_GetEpName, this->p_); }
  std::vector<ConstEpAssignedNode> GetNodes() const {
    const OrtEpAssignedNode* const* nodes = nullptr;
    size_t count = 0;
    ThrowOnError(GetApi().EpAssignedSubgraph_GetNodes(this->p_, &nodes, &count));
    return ListOf<ConstEpAssignedNode>(nodes, count);
  }
};

}  // namespace detail

using ConstEpAssignedSubgraph = detail::EpAssignedSubgraphImpl<Ort::detail::Unowned<const OrtEpAssignedSubgraph>>;

namespace detail {

template <typename T>
struct ConstSessionImpl : Base<T> {
  using B = Base<T>;
  using B::B;

  size_t GetInputCount() const { return Fetch<size_t>(GetApi().SessionGetInputCount, this->p_); }
  size_t GetOutputCount() const { return Fetch<size_t>(GetApi().SessionGetOutputCount, this->p_); }
  size_t GetOverridableInitializerCount() const {
    return Fetch<size_t>(GetApi().SessionGetOverridableInitializerCount, this->p_);
  }

  std::vector<std::string> GetInputNames() const { return Names(GetInputCount(), GetApi().SessionGetInputName); }
  std::vector<std::string> GetOutputNames() const { return Names(GetOutputCount(), GetApi().SessionGetOutputName); }
  std::vector<std::string> GetOverridableInitializerNames() const {
    return Names(GetOverridableInitializerCount(), GetApi().SessionGetOverridableInitializerName);
  }
  AllocatedStringPtr GetInputNameAllocated(size_t index, OrtAllocator* allocator) const {
    return FetchAllocated(allocator, GetApi().SessionGetInputName, this->p_, index, allocator);
  }
  AllocatedStringPtr GetOutputNameAllocated(size_t index, OrtAllocator* allocator) const {
    return FetchAllocated(allocator, GetApi().SessionGetOutputName, this->p_, index, allocator);
  }
  AllocatedStringPtr GetOverridableInitializerNameAllocated(size_t index, OrtAllocator* allocator) const {
    return FetchAllocated(allocator, GetApi().SessionGetOverridableInitializerName, this->p_, index, allocator);
  }

  TypeInfo GetInputTypeInfo(size_t index) const {
    return TypeInfo{Fetch<OrtTypeInfo*>(GetApi().SessionGetInputTypeInfo, this->p_, index)};
  }
  TypeInfo GetOutputTypeInfo(size_t index) const {
    return TypeInfo{Fetch<OrtTypeInfo*>(GetApi().SessionGetOutputTypeInfo, this->p_, index)};
  }
  TypeInfo GetOverridableInitializerTypeInfo(size_t index) const {
    return TypeInfo{Fetch<OrtTypeInfo*>(GetApi().SessionGetOverridableInitializerTypeInfo, this->p_, index)};
  }
#if !defined(ORT_MINIMAL_BUILD)
  // Names and types, to build a model on top of this one. The version of a domain's operators that the model imports.
  std::vector<ValueInfo> GetInputs() const;
  std::vector<ValueInfo> GetOutputs() const;
  int GetOpset(const std::string& domain) const {
    return Fetch<int>(GetModelEditorApi().SessionGetOpsetForDomain, this->p_, domain.c_str());
  }
#endif

  // Where the session reads and writes; a device is empty if no provider's device is known for the value.
  std::vector<ConstMemoryInfo> GetMemoryInfoForInputs() const {
    return FetchList<ConstMemoryInfo>(GetInputCount(), GetApi().SessionGetMemoryInfoForInputs, Handle());
  }
  std::vector<ConstMemoryInfo> GetMemoryInfoForOutputs() const {
    return FetchList<ConstMemoryInfo>(GetOutputCount(), GetApi().SessionGetMemoryInfoForOutputs, Handle());
  }
  std::vector<ConstEpDevice> GetEpDeviceForInputs() const {
    return FetchList<ConstEpDevice>(GetInputCount(), GetApi().SessionGetEpDeviceForInputs, Handle());
  }
  std::vector<ConstEpDevice> GetEpDeviceForOutputs() const {
    return FetchList<ConstEpDevice>(GetOutputCount(), GetApi().SessionGetEpDeviceForOutputs, Handle());
  }
  // Which provider runs which nodes, for sessions made with session.record_ep_graph_assignment_info.
  std::vector<ConstEpAssignedSubgraph> GetEpGraphAssignmentInfo() const {
    const OrtEpAssignedSubgraph* const* subgraphs = nullptr;
    size_t count = 0;
    ThrowOnError(GetApi().Session_GetEpGraphAssignmentInfo(this->p_, &subgraphs, &count));
    return ListOf<ConstEpAssignedSubgraph>(subgraphs, count);
  }

  uint64_t GetProfilingStartTimeNs() const {
    return Fetch<uint64_t>(GetApi().SessionGetProfilingStartTimeNs, this->p_);
  }
  ModelMetadata GetModelMetadata() const {
    return ModelMetadata{Fetch<OrtModelMetadata*>(GetApi().SessionGetModelMetadata, this->p_)};
  }

 private:
  const OrtSession* Handle() const { return this->p_; }

  template <typename Function>
  std::vector<std::string> Names(size_t count, Function* function) const {
    AllocatorWithDefaultOptions allocator;
    std::vector<std::string> names;
    names.reserve(count);
    for (size_t i = 0; i < count; ++i) {
      names.emplace_back(FetchAllocated(allocator, function, this->p_, i, allocator).get());
    }
    return names;
  }
};

template <typename T>
struct SessionImpl : ConstSessionImpl<T> {
  using B = ConstSessionImpl<T>;
  using B::B;

  // The library allocates the outputs.
  std::vector<Value> Run(const RunOptions& run_options, const char* const* input_names, const Value* input_values,
                         size_t input_count, const char* const* output_names, size_t output_count) {
    std::vector<Value> outputs;
    outputs.reserve(output_count);
    for (size_t i = 0; i < output_count; ++i) outputs.emplace_back(nullptr);
    Run(run_options, input_names, input_values, input_count, output_names, outputs.data(), output_count);
    return outputs;
  }
  // Outputs are written into the values that are there already; the library allocates those that are empty.
  void Run(const RunOptions& run_options, const char* const* input_names, const Value* input_values, size_t input_count,
           const char* const* output_names, Value* output_values, size_t output_count) {
    ThrowOnError(GetApi().Run(this->p_, run_options, input_names, HandlesOf(input_values), input_count, output_names,
                              output_count, HandlesOf(output_values)));
  }
  void Run(const RunOptions& run_options, const IoBinding& io_binding);
  // Returns at once; `callback` is called on another thread. Arguments must stay until then.
  void RunAsync(const RunOptions& run_options, const char* const* input_names, const Value* input_values,
                size_t input_count, const char* const* output_names, Value* output_values, size_t output_count,
                RunAsyncCallbackFn callback, void* user_data) {
    ThrowOnError(GetApi().RunAsync(this->p_, run_options, input_names, HandlesOf(input_values), input_count,
                                   output_names, output_count, HandlesOf(output_values), callback, user_data));
  }

  // The name of the file that was written.
  AllocatedStringPtr EndProfilingAllocated(OrtAllocator* allocator) {
    return FetchAllocated(allocator, GetApi().SessionEndProfiling, this->p_, allocator);
  }
  void SetEpDynamicOptions(const char* const* keys, const char* const* values, size_t kv_len) {
    ThrowOnError(GetApi().SetEpDynamicOptions(this->p_, keys, values, kv_len));
  }
  // Gives up the record of runs with the annotation `graph_annotation_id`.
  void ReleaseCapturedGraph(int graph_annotation_id) {
    ThrowOnError(GetApi().SessionReleaseCapturedGraph(this->p_, graph_annotation_id));
  }
#if !defined(ORT_MINIMAL_BUILD)
  // Adds a model to a session of CreateModelEditorSession, and makes it ready to run.
  void FinalizeModelEditorSession(const Model& model, const SessionOptions& options,
                                  OrtPrepackedWeightsContainer* prepacked_weights_container = nullptr) {
    // The C function takes the model as not const, but does not change it.
    OrtModel* handle = model;
    ThrowOnError(GetModelEditorApi().ApplyModelToModelEditorSession(this->p_, handle));
    ThrowOnError(GetModelEditorApi().FinalizeModelEditorSession(this->p_, options, prepacked_weights_container));
  }
#endif
};

}  // namespace detail

using ConstSession = detail::ConstSessionImpl<detail::Unowned<const OrtSession>>;
using UnownedSession = detail::SessionImpl<detail::Unowned<OrtSession>>;

// A model that is ready to run. It may run from several threads at once.
struct Session : detail::SessionImpl<OrtSession> {
  explicit Session(std::nullptr_t) {}
  explicit Session(OrtSession* p) : SessionImpl(p) {}
  Session(const Env& env, const ORTCHAR_T* model_path, const SessionOptions& options) {
    ThrowOnError(GetApi().CreateSession(env, model_path, options, &p_));
  }
  Session(const Env& env, const ORTCHAR_T* model_path, const SessionOptions& options,
          OrtPrepackedWeightsContainer* prepacked_weights_container) {
    ThrowOnError(GetApi().CreateSessionWithPrepackedWeightsContainer(env, model_path, options,
                                                                     prepacked_weights_container, &p_));
  }
  Session(const Env& env, const void* model_data, size_t model_data_length, const SessionOptions& options) {
    ThrowOnError(GetApi().CreateSessionFromArray(env, model_data, model_data_length, options, &p_));
  }
  Session(const Env& env, const void* model_data, size_t model_data_length, const SessionOptions& options,
          OrtPrepackedWeightsContainer* prepacked_weights_container) {
    ThrowOnError(GetApi().CreateSessionFromArrayWithPrepackedWeightsContainer(
        env, model_data, model_data_length, options, prepacked_weights_container, &p_));
  }
#if !defined(ORT_MINIMAL_BUILD)
  Session(const Env& env, const Model& model, const SessionOptions& options) {
    ThrowOnError(GetModelEditorApi().CreateSessionFromModel(env, model, options, &p_));
  }
  // Models to which FinalizeModelEditorSession adds nodes.
  static Session CreateModelEditorSession(const Env& env, const ORTCHAR_T* model_path, const SessionOptions& options) {
    return Session{detail::Fetch<OrtSession*>(GetModelEditorApi().CreateModelEditorSession, env, model_path, options)};
  }
  static Session CreateModelEditorSession(const Env& env, const void* model_data, size_t model_data_length,
                                          const SessionOptions& options) {
    return Session{detail::Fetch<OrtSession*>(GetModelEditorApi().CreateModelEditorSessionFromArray, env, model_data,
                                              model_data_length, options)};
  }
#endif

  ConstSession GetConst() const { return ConstSession{this->p_}; }
  UnownedSession GetUnowned() const { return UnownedSession{this->p_}; }
};

}  // namespace Ort
