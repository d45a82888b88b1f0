// Part of onnxruntime_cxx_api.h: for libraries of execution providers: kernels, operator schemas, profiling events.
#pragma once
#include "memory.h"

namespace Ort {

namespace detail {
template <typename T>
struct ConstKernelDefImpl : Base<T> {
  using B = Base<T>;
  using B::B;

  const char* GetOperatorType() const { return GetEpApi().KernelDef_GetOperatorType(this->p_); }
  const char* GetDomain() const { return GetEpApi().KernelDef_GetDomain(this->p_); }
  // The first and the last version.
  std::pair<int, int> GetSinceVersion() const {
    std::pair<int, int> versions{};
    ThrowOnError(GetEpApi().KernelDef_GetSinceVersion(this->p_, &versions.first, &versions.second));
    return versions;
  }
  const char* GetExecutionProvider() const { return GetEpApi().KernelDef_GetExecutionProvider(this->p_); }
  OrtMemType GetInputMemType(size_t input_index) const {
    return Fetch<OrtMemType>(GetEpApi().KernelDef_GetInputMemType, this->p_, input_index);
  }
  OrtMemType GetOutputMemType(size_t output_index) const {
    return Fetch<OrtMemType>(GetEpApi().KernelDef_GetOutputMemType, this->p_, output_index);
  }
};
}  // namespace detail

using ConstKernelDef = detail::ConstKernelDefImpl<detail::Unowned<const OrtKernelDef>>;

// Which nodes a kernel of a provider computes.
struct KernelDef : detail::ConstKernelDefImpl<OrtKernelDef> {
  using Base = detail::ConstKernelDefImpl<OrtKernelDef>;
  using Base::Base;
  explicit KernelDef(std::nullptr_t) {}
  explicit KernelDef(OrtKernelDef* p) : Base(p) {}
  ConstKernelDef GetConst() const { return ConstKernelDef{this->p_}; }
};

struct KernelDefBuilder : detail::Base<OrtKernelDefBuilder> {
  KernelDefBuilder() { ThrowOnError(GetEpApi().CreateKernelDefBuilder(&p_)); }
  explicit KernelDefBuilder(std::nullptr_t) {}
  explicit KernelDefBuilder(OrtKernelDefBuilder* ort_kernel_def_builder) : Base(ort_kernel_def_builder) {}

  KernelDefBuilder& SetOperatorType(const char* op_type) {
    return Set(GetEpApi().KernelDefBuilder_SetOperatorType, op_type);
  }
  KernelDefBuilder& SetDomain(const char* domain) { return Set(GetEpApi().KernelDefBuilder_SetDomain, domain); }
  KernelDefBuilder& SetSinceVersion(int since_version_start, int since_version_end) {
    return Set(GetEpApi().KernelDefBuilder_SetSinceVersion, since_version_start, since_version_end);
  }
  KernelDefBuilder& SetExecutionProvider(const char* ep_name) {
    return Set(GetEpApi().KernelDefBuilder_SetExecutionProvider, ep_name);
  }
  KernelDefBuilder& SetInputMemType(size_t input_index, OrtMemType mem_type) {
    return Set(GetEpApi().KernelDefBuilder_SetInputMemType, input_index, mem_type);
  }
  KernelDefBuilder& SetOutputMemType(size_t output_index, OrtMemType mem_type) {
    return Set(GetEpApi().KernelDefBuilder_SetOutputMemType, output_index, mem_type);
  }
  // `arg_name` is that of the operator's schema, such as "T".
  KernelDefBuilder& AddTypeConstraint(const char* arg_name, const OrtDataType* data_type) {
    return Set(GetEpApi().KernelDefBuilder_AddTypeConstraint, arg_name, &data_type, size_t{1});
  }
  KernelDefBuilder& AddTypeConstraint(const char* arg_name, const std::vector<const OrtDataType*>& data_types) {
    return Set(GetEpApi().KernelDefBuilder_AddTypeConstraint, arg_name, data_types.data(), data_types.size());
  }
  // An output that is always the memory of an input.
  KernelDefBuilder& AddInputOutputAlias(int input_index, int output_index) {
    return Set(GetEpApi().KernelDefBuilder_AddInputOutputAliases, &input_index, &output_index, size_t{1});
  }
  KernelDefBuilder& AddInputOutputAliases(const std::vector<int>& input_indices,
                                          const std::vector<int>& output_indices) {
    return SetAliases(GetEpApi().KernelDefBuilder_AddInputOutputAliases, input_indices, output_indices);
  }
  // An output that may be written over an input that nothing else reads.
  KernelDefBuilder& AddInputOutputMutableAlias(int input_index, int output_index) {
    return Set(GetEpApi().KernelDefBuilder_AddInputOutputMutableAliases, &input_index, &output_index, size_t{1});
  }
  KernelDefBuilder& AddInputOutputMutableAliases(const std::vector<int>& input_indices,
                                                 const std::vector<int>& output_indices) {
    return SetAliases(GetEpApi().KernelDefBuilder_AddInputOutputMutableAliases, input_indices, output_indices);
  }
  KernelDef Build() { return KernelDef{detail::Fetch<OrtKernelDef*>(GetEpApi().KernelDefBuilder_Build, p_)}; }

 private:
  template <typename Function, typename... Arguments>
  KernelDefBuilder& Set(Function* function, Arguments... arguments) {
    ThrowOnError(function(p_, arguments...));
    return *this;
  }
  template <typename Function>
  KernelDefBuilder& SetAliases(Function* function, const std::vector<int>& inputs, const std::vector<int>& outputs) {
    if (inputs.size() != outputs.size()) {
      ORT_CXX_API_THROW("aliases need as many inputs as outputs", ORT_INVALID_ARGUMENT);
    }
    return Set(function, inputs.data(), outputs.data(), inputs.size());
  }
};

// All kernels of a provider.
struct KernelRegistry : detail::Base<OrtKernelRegistry> {
  KernelRegistry() { ThrowOnError(GetEpApi().CreateKernelRegistry(&p_)); }
  explicit KernelRegistry(std::nullptr_t) {}
  explicit KernelRegistry(OrtKernelRegistry* ort_kernel_registry) : Base(ort_kernel_registry) {}

  Status AddKernel(const OrtKernelDef* kernel_def, OrtKernelCreateFunc kernel_create_func,
                   void* kernel_create_func_state) {
    return Status(GetEpApi().KernelRegistry_AddKernel(p_, kernel_def, kernel_create_func, kernel_create_func_state));
  }
};

namespace detail {
template <typename T>
struct SharedPrePackedWeightCacheImpl : Base<T> {
  using B = Base<T>;
  using B::B;

  // Takes buffers over, which were allocated with the allocator that PrePackWeight received.
  Status StoreWeightData(void** buffer_data_ptrs, size_t* buffer_data_sizes, size_t num_buffers) {
    return Status(GetEpApi().SharedPrePackedWeightCache_StoreWeightData(this->p_, buffer_data_ptrs, buffer_data_sizes,
                                                                        num_buffers));
  }
};

template <typename T>
struct OpSchemaTypeConstraintImpl : Base<T> {
  using B = Base<T>;
  using B::B;

  std::string GetTypeParamName() const {
    return FetchView(GetEpApi().OpSchemaTypeConstraint_GetTypeParamName, this->p_);
  }
  // Such as "tensor(float)".
  std::vector<std::string> GetAllowedTypes() const {
    const char* const* types = nullptr;
    size_t count = 0;
    ThrowOnError(GetEpApi().OpSchemaTypeConstraint_GetAllowedTypes(this->p_, &types, &count));
    return {types, types + count};
  }
  std::vector<size_t> GetInputIndices() const {
    const size_t* indices = nullptr;
    size_t count = 0;
    ThrowOnError(GetEpApi().OpSchemaTypeConstraint_GetInputIndices(this->p_, &indices, &count));
    return {indices, indices + count};
  }
  std::vector<size_t> GetOutputIndices() const {
    const size_t* indices = nullptr;
    size_t count = 0;
    ThrowOnError(GetEpApi().OpSchemaTypeConstraint_GetOutputIndices(this->p_, &indices, &count));
    return {indices, indices + count};
  }
};
}  // namespace detail

using UnownedSharedPrePackedWeightCache =
    detail::SharedPrePackedWeightCacheImpl<detail::Unowned<OrtSharedPrePackedWeightCache>>;
using ConstOpSchemaTypeConstraint =
    detail::OpSchemaTypeConstraintImpl<detail::Unowned<const OrtOpSchemaTypeConstraint>>;

namespace detail {
template <typename T>
struct ConstOpSchemaImpl : Base<T> {
  using B = Base<T>;
  using B::B;

  int GetSinceVersion() const { return Fetch<int>(GetEpApi().OpSchema_GetSinceVersion, this->p_); }
  size_t GetNumInputs() const { return Fetch<size_t>(GetEpApi().OpSchema_GetNumInputs, this->p_); }
  size_t GetNumOutputs() const { return Fetch<size_t>(GetEpApi().OpSchema_GetNumOutputs, this->p_); }
  std::string GetInputName(size_t index) const { return FetchView(GetEpApi().OpSchema_GetInputName, this->p_, index); }
  std::string GetOutputName(size_t index) const {
    return FetchView(GetEpApi().OpSchema_GetOutputName, this->p_, index);
  }
  // Empty for an input or output whose type the schema fixes.
  ConstOpSchemaTypeConstraint GetInputTypeConstraint(size_t index) const {
    return ConstOpSchemaTypeConstraint{
        Fetch<const OrtOpSchemaTypeConstraint*>(GetEpApi().OpSchema_GetInputTypeConstraint, this->p_, index)};
  }
  ConstOpSchemaTypeConstraint GetOutputTypeConstraint(size_t index) const {
    return ConstOpSchemaTypeConstraint{
        Fetch<const OrtOpSchemaTypeConstraint*>(GetEpApi().OpSchema_GetOutputTypeConstraint, this->p_, index)};
  }
  size_t GetTypeConstraintCount() const { return Fetch<size_t>(GetEpApi().OpSchema_GetTypeConstraintCount, this->p_); }
  ConstOpSchemaTypeConstraint GetTypeConstraint(size_t index) const {
    return ConstOpSchemaTypeConstraint{
        Fetch<const OrtOpSchemaTypeConstraint*>(GetEpApi().OpSchema_GetTypeConstraint, this->p_, index)};
  }
};
}  // namespace detail

using ConstOpSchema = detail::ConstOpSchemaImpl<detail::Unowned<const OrtOpSchema>>;

struct OpSchema : detail::ConstOpSchemaImpl<OrtOpSchema> {
  using Base = detail::ConstOpSchemaImpl<OrtOpSchema>;
  using Base::Base;
  explicit OpSchema(std::nullptr_t) {}
  explicit OpSchema(OrtOpSchema* p) : Base(p) {}
  ConstOpSchema GetConst() const { return ConstOpSchema{this->p_}; }
};

// The newest schema up to a version of the domain; empty if there is none.
inline OpSchema GetOpSchema(const char* name, int max_inclusive_version, const char* domain) {
  return OpSchema{detail::Fetch<OrtOpSchema*>(GetEpApi().GetOpSchema, name, max_inclusive_version, domain)};
}

namespace detail {
template <typename T>
struct ConstProfilingEventImpl : Base<T> {
  using B = Base<T>;
  using B::B;

  OrtProfilingEventCategory GetCategory() const {
    return Fetch<OrtProfilingEventCategory>(GetEpApi().ProfilingEvent_GetCategory, this->p_);
  }
  const char* GetName() const { return Fetch<const char*>(GetEpApi().ProfilingEvent_GetName, this->p_); }
  int64_t GetTimestampUs() const { return Fetch<int64_t>(GetEpApi().ProfilingEvent_GetTimestampUs, this->p_); }
  int64_t GetDurationUs() const { return Fetch<int64_t>(GetEpApi().ProfilingEvent_GetDurationUs, this->p_); }
  // Null if there is no such key.
  const char* GetArgValue(const char* key) const {
    return Fetch<const char*>(GetEpApi().ProfilingEvent_GetArgValue, this->p_, key);
  }
};
}  // namespace detail

using ConstProfilingEvent = detail::ConstProfilingEventImpl<detail::Unowned<const OrtProfilingEvent>>;

// Times in microseconds since profiling began. A process or thread of -1 is the one that reports the event.
struct ProfilingEvent : detail::ConstProfilingEventImpl<OrtProfilingEvent> {
  using Base = detail::ConstProfilingEventImpl<OrtProfilingEvent>;
  explicit ProfilingEvent(std::nullptr_t) {}
  explicit ProfilingEvent(OrtProfilingEvent* p) : Base(p) {}
  ProfilingEvent(OrtProfilingEventCategory category, int32_t process_id, int32_t thread_id, const char* event_name,
                 int64_t timestamp_us, int64_t duration_us,
                 const std::unordered_map<std::string, std::string>& args = {}) {
    const detail::Pairs pairs(args);
    ThrowOnError(GetEpApi().CreateProfilingEvent(category, process_id, thread_id, event_name, timestamp_us, duration_us,
                                                 pairs.keys.data(), pairs.values.data(), pairs.size(), &p_));
  }
  ProfilingEvent(OrtProfilingEventCategory category, int32_t process_id, int32_t thread_id, const char* event_name,
                 int64_t timestamp_us, int64_t duration_us, const char* const* arg_keys, const char* const* arg_values,
                 size_t num_args) {
    ThrowOnError(GetEpApi().CreateProfilingEvent(category, process_id, thread_id, event_name, timestamp_us, duration_us,
                                                 arg_keys, arg_values, num_args, &p_));
  }
  ConstProfilingEvent GetConst() const { return ConstProfilingEvent{this->p_}; }
};

namespace detail {
template <typename T>
struct ProfilingEventsContainerImpl : Base<T> {
  using B = Base<T>;
  using B::B;

  // Copies the events.
  Status AddEvents(const OrtProfilingEvent* const* events, size_t num_events) {
    return Status(GetEpApi().ProfilingEventsContainer_AddEvents(this->p_, events, num_events));
  }
  Status AddEvents(const std::vector<ProfilingEvent>& events) {
    return AddEvents(HandlesOf(events.data()), events.size());
  }
};
}  // namespace detail

using UnownedProfilingEventsContainer =
    detail::ProfilingEventsContainerImpl<detail::Unowned<OrtProfilingEventsContainer>>;

}  // namespace Ort
