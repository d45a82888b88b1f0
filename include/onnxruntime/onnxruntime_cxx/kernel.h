// Part of onnxruntime_cxx_api.h: what the kernel of a custom operator or of a provider sees.
#pragma once
#include "attributes.h"
#include "options.h"

// Log a message if the level of the logger is at most that of the message. NOEXCEPT: failures to log are ignored. F: with
// the format and arguments of printf.
#define ORT_CXX_LOG(logger, message_severity, message)                                                   \
  do {                                                                                                   \
    if (message_severity >= logger.GetLoggingSeverityLevel()) {                                          \
      Ort::ThrowOnError(logger.LogMessage(message_severity, ORT_FILE, __LINE__, __FUNCTION__, message)); \
    }                                                                                                    \
  } while (false)
#define ORT_CXX_LOG_NOEXCEPT(logger, message_severity, message)                                          \
  do {                                                                                                   \
    if (message_severity >= logger.GetLoggingSeverityLevel()) {                                          \
      static_cast<void>(logger.LogMessage(message_severity, ORT_FILE, __LINE__, __FUNCTION__, message)); \
    }                                                                                                    \
  } while (false)
#define ORT_CXX_LOGF(logger, message_severity, /*format,*/...)                                                        \
  do {                                                                                                                \
    if (message_severity >= logger.GetLoggingSeverityLevel()) {                                                       \
      Ort::ThrowOnError(logger.LogFormattedMessage(message_severity, ORT_FILE, __LINE__, __FUNCTION__, __VA_ARGS__)); \
    }                                                                                                                 \
  } while (false)
#define ORT_CXX_LOGF_NOEXCEPT(logger, message_severity, /*format,*/...)                                               \
  do {                                                                                                                \
    if (message_severity >= logger.GetLoggingSeverityLevel()) {                                                       \
      static_cast<void>(logger.LogFormattedMessage(message_severity, ORT_FILE, __LINE__, __FUNCTION__, __VA_ARGS__)); \
    }                                                                                                                 \
  } while (false)

namespace Ort {

// The logger of a session or environment, which must outlive it. It may be copied.
struct Logger {
  Logger() = default;
  explicit Logger(std::nullptr_t) {}
  explicit Logger(const OrtLogger* logger)
      : logger_(logger),
        cached_severity_level_(detail::Fetch<OrtLoggingLevel>(GetApi().Logger_GetLoggingSeverityLevel, logger)) {}

  // The level that the logger had when this object was made.
  OrtLoggingLevel GetLoggingSeverityLevel() const noexcept { return cached_severity_level_; }

  Status LogMessage(OrtLoggingLevel log_severity_level, const ORTCHAR_T* file_path, int line_number,
                    const char* func_name, const char* message) const noexcept {
    return Status(GetApi().Logger_LogMessage(logger_, log_severity_level, message, file_path, line_number, func_name));
  }
  template <typename... Args>
  Status LogFormattedMessage(OrtLoggingLevel log_severity_level, const ORTCHAR_T* file_path, int line_number,
                             const char* func_name, const char* format, Args&&... args) const noexcept {
#if defined(__GNUC__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
#pragma GCC diagnostic ignored "-Wformat-security"
#endif
    const int length = std::snprintf(nullptr, 0, format, args...);
    if (length < 0) return Status("the format of a message does not fit its arguments", ORT_FAIL);
    const std::unique_ptr<char[]> message(new char[static_cast<size_t>(length) + 1]);
    std::snprintf(message.get(), static_cast<size_t>(length) + 1, format, args...);
#if defined(__GNUC__)
#pragma GCC diagnostic pop
#endif
    return LogMessage(log_severity_level, file_path, line_number, func_name, message.get());
  }

 private:
  const OrtLogger* logger_{};
  OrtLoggingLevel cached_severity_level_{};
};

// One run of a kernel. Everything that it returns is valid until the run ends.
struct KernelContext {
  explicit KernelContext(OrtKernelContext* context) : ctx_(context) {}

  size_t GetInputCount() const { return detail::Fetch<size_t>(GetApi().KernelContext_GetInputCount, ctx_); }
  size_t GetOutputCount() const { return detail::Fetch<size_t>(GetApi().KernelContext_GetOutputCount, ctx_); }
  // Empty if an optional input is left out.
  ConstValue GetInput(size_t index) const {
    return ConstValue{detail::Fetch<const OrtValue*>(GetApi().KernelContext_GetInput, ctx_, index)};
  }
  // Allocates the output with this shape. Empty if an optional output is left out.
  UnownedValue GetOutput(size_t index, const int64_t* dim_values, size_t dim_count) const {
    return UnownedValue{detail::Fetch<OrtValue*>(GetApi().KernelContext_GetOutput, ctx_, index, dim_values, dim_count)};
  }
  UnownedValue GetOutput(size_t index, const std::vector<int64_t>& dims) const {
    return GetOutput(index, dims.data(), dims.size());
  }
  // The value that the caller of the run bound as an output; empty if there is none.
  UnownedValue GetPreallocatedOutput(size_t index) const {
    return UnownedValue{detail::Fetch<OrtValue*>(GetApi().KernelContext_GetPreallocatedOutput, ctx_, index)};
  }
  // The same, by the name that headers before 1.32 show.
  UnownedValue GetUserProvidedOutput(size_t index) const { return GetPreallocatedOutput(index); }

  void* GetGPUComputeStream() const { return detail::Fetch<void*>(GetApi().KernelContext_GetGPUComputeStream, ctx_); }
  // The stream of the run, owned by it; null if there is none.
  OrtSyncStream* GetSyncStream() const {
    return detail::Fetch<OrtSyncStream*>(GetApi().KernelContext_GetSyncStream, ctx_);
  }
  Logger GetLogger() const { return Logger{detail::Fetch<const OrtLogger*>(GetApi().KernelContext_GetLogger, ctx_)}; }
  // Must outlive what it allocates.
  Ort::Allocator GetAllocator(const OrtMemoryInfo& memory_info) const {
    return Ort::Allocator{detail::Fetch<OrtAllocator*>(GetApi().KernelContext_GetAllocator, ctx_, &memory_info)};
  }
  OrtKernelContext* GetOrtKernelContext() const { return ctx_; }
  // Calls fn(usr_data, i) for each i below `total` on the session's threads, in `num_batch` parts (0: as many as fit).
  void ParallelFor(void (*fn)(void*, size_t), size_t total, size_t num_batch, void* usr_data) const {
    ThrowOnError(GetApi().KernelContext_ParallelFor(ctx_, fn, total, num_batch, usr_data));
  }

 private:
  OrtKernelContext* ctx_;
};

struct KernelInfo;

namespace detail {

namespace attr_utils {
inline void GetAttr(const OrtKernelInfo* p, const char* name, float& out) {
  ThrowOnError(GetApi().KernelInfoGetAttribute_float(p, name, &out));
}
inline void GetAttr(const OrtKernelInfo* p, const char* name, int64_t& out) {
  ThrowOnError(GetApi().KernelInfoGetAttribute_int64(p, name, &out));
}
inline void GetAttr(const OrtKernelInfo* p, const char* name, std::string& out) {
  out = FetchText(GetApi().KernelInfoGetAttribute_string, p, name);
}
inline void GetAttrs(const OrtKernelInfo* p, const char* name, std::vector<float>& out) {
  out = FetchSized<std::vector<float>>(GetApi().KernelInfoGetAttributeArray_float, p, name);
}
inline void GetAttrs(const OrtKernelInfo* p, const char* name, std::vector<int64_t>& out) {
  out = FetchSized<std::vector<int64_t>>(GetApi().KernelInfoGetAttributeArray_int64, p, name);
}
inline void GetAttrs(const OrtKernelInfo* p, const char* name, std::vector<std::string>& out) {
  AllocatorWithDefaultOptions allocator;
  char** texts = nullptr;
  size_t count = 0;
  ThrowOnError(GetApi().KernelInfoGetAttributeArray_string(p, name, allocator, &texts, &count));
  const std::unique_ptr<void, AllocatedFree> owner(texts, AllocatedFree(allocator));
  out.clear();
  for (size_t i = 0; i < count; ++i) out.emplace_back(AllocatedStringPtr(texts[i], AllocatedFree(allocator)).get());
}
}  // namespace attr_utils

template <typename T>
struct KernelInfoImpl : Base<T> {
  using B = Base<T>;
  using B::B;

  KernelInfo Copy() const;

  // R is float, int64_t or std::string. Fails if the node has no such attribute.
  template <typename R>
  R GetAttribute(const char* name) const {
    R value{};
    attr_utils::GetAttr(this->p_, name, value);
    return value;
  }
  template <typename R>
  std::vector<R> GetAttributes(const char* name) const {
    std::vector<R> values;
    attr_utils::GetAttrs(this->p_, name, values);
    return values;
  }
  Value GetTensorAttribute(const char* name, OrtAllocator* allocator) const {
    return Value{Fetch<OrtValue*>(GetApi().KernelInfoGetAttribute_tensor, this->p_, name, allocator)};
  }

  size_t GetInputCount() const { return Fetch<size_t>(GetApi().KernelInfo_GetInputCount, this->p_); }
  size_t GetOutputCount() const { return Fetch<size_t>(GetApi().KernelInfo_GetOutputCount, this->p_); }
  std::string GetInputName(size_t index) const { return FetchText(GetApi().KernelInfo_GetInputName, this->p_, index); }
  std::string GetOutputName(size_t index) const {
    return FetchText(GetApi().KernelInfo_GetOutputName, this->p_, index);
  }
  TypeInfo GetInputTypeInfo(size_t index) const {
    return TypeInfo{Fetch<OrtTypeInfo*>(GetApi().KernelInfo_GetInputTypeInfo, this->p_, index)};
  }
  TypeInfo GetOutputTypeInfo(size_t index) const {
    return TypeInfo{Fetch<OrtTypeInfo*>(GetApi().KernelInfo_GetOutputTypeInfo, this->p_, index)};
  }
  // The value of a constant input; empty, with *is_constant = 0, for another.
  ConstValue GetTensorConstantInput(size_t index, int* is_constant) const {
    return ConstValue{Fetch<const OrtValue*>(GetApi().KernelInfoGetConstantInput_tensor, this->p_, index, is_constant)};
  }

  std::string GetNodeName() const { return FetchText(GetApi().KernelInfo_GetNodeName, this->p_); }
  std::string GetOperatorDomain() const { return FetchText(GetApi().KernelInfo_GetOperatorDomain, this->p_); }
  std::string GetOperatorType() const { return FetchText(GetApi().KernelInfo_GetOperatorType, this->p_); }
  int GetOperatorSinceVersion() const { return Fetch<int>(GetApi().KernelInfo_GetOperatorSinceVersion, this->p_); }
  Logger GetLogger() const { return Logger{Fetch<const OrtLogger*>(GetApi().KernelInfo_GetLogger, this->p_)}; }
  // The entries of the session.
  KeyValuePairs GetConfigEntries() const {
    return KeyValuePairs{Fetch<OrtKeyValuePairs*>(GetApi().KernelInfo_GetConfigEntries, this->p_)};
  }
  // The provider that runs the node, for its own kernels.
  const OrtEp* GetEp() const { return Fetch<const OrtEp*>(GetEpApi().KernelInfo_GetEp, this->p_); }
};

}  // namespace detail

using ConstKernelInfo = detail::KernelInfoImpl<detail::Unowned<const OrtKernelInfo>>;

// A copy of what a kernel was made from; the OrtKernelInfo that CreateKernel receives is a ConstKernelInfo.
struct KernelInfo : detail::KernelInfoImpl<OrtKernelInfo> {
  using Base = detail::KernelInfoImpl<OrtKernelInfo>;
  using Base::Base;
  explicit KernelInfo(std::nullptr_t) {}
  explicit KernelInfo(OrtKernelInfo* info) : Base(info) {}
  ConstKernelInfo GetConst() const { return ConstKernelInfo{this->p_}; }
};

namespace detail {
template <typename T>
KernelInfo KernelInfoImpl<T>::Copy() const {
  return KernelInfo{Fetch<OrtKernelInfo*>(GetApi().CopyKernelInfo, this->p_)};
}
}  // namespace detail

// An operator of the library that a kernel calls.
struct Op : detail::Base<OrtOp> {
  using Base = detail::Base<OrtOp>;
  using Base::Base;
  explicit Op(std::nullptr_t) {}
  explicit Op(OrtOp* p) : Base(p) {}

  static Op Create(const OrtKernelInfo* info, const char* op_name, const char* domain, int version,
                   const char** type_constraint_names, const ONNXTensorElementDataType* type_constraint_values,
                   size_t type_constraint_count, const OpAttr* attr_values, size_t attr_count, size_t input_count,
                   size_t output_count) {
    return Op{detail::Fetch<OrtOp*>(GetApi().CreateOp, info, op_name, domain, version, type_constraint_names,
                                    type_constraint_values, static_cast<int>(type_constraint_count),
                                    detail::HandlesOf(attr_values), static_cast<int>(attr_count),
                                    static_cast<int>(input_count), static_cast<int>(output_count))};
  }

  void Invoke(const OrtKernelContext* context, const Value* input_values, size_t input_count, Value* output_values,
              size_t output_count) {
    Invoke(context, detail::HandlesOf(input_values), input_count, detail::HandlesOf(output_values), output_count);
  }
  void Invoke(const OrtKernelContext* context, const OrtValue* const* input_values, size_t input_count,
              OrtValue* const* output_values, size_t output_count) {
    ThrowOnError(GetApi().InvokeOp(context, p_, input_values, static_cast<int>(input_count), output_values,
                                   static_cast<int>(output_count)));
  }
};

}  // namespace Ort
