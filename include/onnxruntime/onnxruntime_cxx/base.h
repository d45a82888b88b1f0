// Part of onnxruntime_cxx_api.h: errors, the tables of functions, and the owners of handles that all else derives from.
#pragma once
// Also those that programs get from the official header without asking.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <functional>
#include <iterator>
#include <limits>
#include <memory>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

#include "../onnxruntime_c_api.h"

#ifdef ORT_NO_EXCEPTIONS
#include <iostream>
#endif

namespace Ort {

struct Exception : std::exception {
  Exception(const std::string& string, OrtErrorCode code) : message_(string), code_(code) {}
  Exception(std::string&& string, OrtErrorCode code) : message_(std::move(string)), code_(code) {}

  OrtErrorCode GetOrtErrorCode() const { return code_; }
  const char* what() const noexcept override { return message_.c_str(); }

 private:
  std::string message_;
  OrtErrorCode code_;
};

#ifndef ORT_CXX_API_THROW
#ifdef ORT_NO_EXCEPTIONS
#define ORT_CXX_API_THROW(string, code)                                \
  do {                                                                 \
    std::cerr << Ort::Exception((string), (code)).what() << std::endl; \
    std::abort();                                                      \
  } while (false)
#else
#define ORT_CXX_API_THROW(string, code) throw Ort::Exception((string), (code))
#endif
#endif

// The table of functions in use. A template, because its member may be defined in a header in every version of C++.
template <typename T>
struct Global {
  static const OrtApi* api_;
};

namespace detail {
// The table of the library that the program is linked with. Ends the program if that library is older than this header.
inline const OrtApi* LinkedApi() noexcept {
  const OrtApiBase* base = OrtGetApiBase();
  const OrtApi* api = base->GetApi(ORT_API_VERSION);
  if (!api) {
    std::fprintf(stderr, "onnxruntime_cxx_api.h: the library has version %s, and this program needs 1.%d or newer\n",
                 base->GetVersionString(), ORT_API_VERSION);
    std::abort();
  }
  return api;
}
}  // namespace detail

#ifdef ORT_API_MANUAL_INIT
template <typename T>
const OrtApi* Global<T>::api_{};
inline void InitApi() noexcept { Global<void>::api_ = detail::LinkedApi(); }
inline void InitApi(const OrtApi* api) noexcept { Global<void>::api_ = api; }
inline const OrtApi& GetApi() noexcept { return *Global<void>::api_; }
#else
template <typename T>
const OrtApi* Global<T>::api_ = detail::LinkedApi();
// Constructors of other global objects may run before the table above is initialised.
inline const OrtApi& GetApi() noexcept {
  if (!Global<void>::api_) Global<void>::api_ = detail::LinkedApi();
  return *Global<void>::api_;
}
#endif

namespace detail {
// A table that a build of the library may lack.
template <typename Table>
const Table& TableOr(const Table* table, const char* name) {
  if (!table) ORT_CXX_API_THROW(std::string(name) + " is not part of this build of the library", ORT_FAIL);
  return *table;
}
}  // namespace detail

inline const OrtModelEditorApi& GetModelEditorApi() {
  return detail::TableOr(GetApi().GetModelEditorApi(), "OrtModelEditorApi");
}
inline const OrtCompileApi& GetCompileApi() { return detail::TableOr(GetApi().GetCompileApi(), "OrtCompileApi"); }
inline const OrtEpApi& GetEpApi() { return detail::TableOr(GetApi().GetEpApi(), "OrtEpApi"); }
inline const OrtInteropApi& GetInteropApi() { return detail::TableOr(GetApi().GetInteropApi(), "OrtInteropApi"); }
inline const OrtModelPackageApi& GetModelPackageApi() {
  return detail::TableOr(GetApi().GetModelPackageApi(), "OrtModelPackageApi");
}

namespace detail {

#define RETORT_ORT_RELEASE(NAME, TABLE) \
  inline void OrtRelease(Ort##NAME* handle) { TABLE().Release##NAME(handle); }
RETORT_ORT_RELEASE(Allocator, GetApi)
RETORT_ORT_RELEASE(ArenaCfg, GetApi)
RETORT_ORT_RELEASE(CustomOpDomain, GetApi)
RETORT_ORT_RELEASE(DeviceEpIncompatibilityDetails, GetApi)
RETORT_ORT_RELEASE(Env, GetApi)
RETORT_ORT_RELEASE(ExternalInitializerInfo, GetApi)
RETORT_ORT_RELEASE(Graph, GetApi)
RETORT_ORT_RELEASE(IoBinding, GetApi)
RETORT_ORT_RELEASE(KernelInfo, GetApi)
RETORT_ORT_RELEASE(KeyValuePairs, GetApi)
RETORT_ORT_RELEASE(LoraAdapter, GetApi)
RETORT_ORT_RELEASE(MapTypeInfo, GetApi)
RETORT_ORT_RELEASE(MemoryInfo, GetApi)
RETORT_ORT_RELEASE(Model, GetApi)
RETORT_ORT_RELEASE(ModelMetadata, GetApi)
RETORT_ORT_RELEASE(Node, GetApi)
RETORT_ORT_RELEASE(Op, GetApi)
RETORT_ORT_RELEASE(OpAttr, GetApi)
RETORT_ORT_RELEASE(PrepackedWeightsContainer, GetApi)
RETORT_ORT_RELEASE(RunOptions, GetApi)
RETORT_ORT_RELEASE(SequenceTypeInfo, GetApi)
RETORT_ORT_RELEASE(Session, GetApi)
RETORT_ORT_RELEASE(SessionOptions, GetApi)
RETORT_ORT_RELEASE(Status, GetApi)
RETORT_ORT_RELEASE(SyncStream, GetApi)
RETORT_ORT_RELEASE(TensorTypeAndShapeInfo, GetApi)
RETORT_ORT_RELEASE(ThreadingOptions, GetApi)
RETORT_ORT_RELEASE(TypeInfo, GetApi)
RETORT_ORT_RELEASE(Value, GetApi)
RETORT_ORT_RELEASE(ValueInfo, GetApi)
RETORT_ORT_RELEASE(ModelCompilationOptions, GetCompileApi)
RETORT_ORT_RELEASE(EpContextConfig, GetEpApi)
RETORT_ORT_RELEASE(EpDevice, GetEpApi)
RETORT_ORT_RELEASE(HardwareDevice, GetEpApi)
RETORT_ORT_RELEASE(KernelDef, GetEpApi)
RETORT_ORT_RELEASE(KernelDefBuilder, GetEpApi)
RETORT_ORT_RELEASE(KernelImpl, GetEpApi)
RETORT_ORT_RELEASE(KernelRegistry, GetEpApi)
RETORT_ORT_RELEASE(OpSchema, GetEpApi)
RETORT_ORT_RELEASE(ProfilingEvent, GetEpApi)
RETORT_ORT_RELEASE(ExternalMemoryHandle, GetInteropApi)
RETORT_ORT_RELEASE(ExternalResourceImporter, GetInteropApi)
RETORT_ORT_RELEASE(ExternalSemaphoreHandle, GetInteropApi)
RETORT_ORT_RELEASE(ModelPackageComponentContext, GetModelPackageApi)
RETORT_ORT_RELEASE(ModelPackageContext, GetModelPackageApi)
RETORT_ORT_RELEASE(ModelPackageOptions, GetModelPackageApi)
#undef RETORT_ORT_RELEASE
inline void OrtRelease(OrtCUDAProviderOptionsV2* handle) { GetApi().ReleaseCUDAProviderOptions(handle); }
inline void OrtRelease(OrtTensorRTProviderOptionsV2* handle) { GetApi().ReleaseTensorRTProviderOptions(handle); }

// Base<Unowned<T>> refers to a handle without owning it.
template <typename T>
struct Unowned {
  using Type = T;
};

// Owns a handle of the C interface, or is empty.
template <typename T>
struct Base {
  using contained_type = T;

  constexpr Base() = default;
  constexpr explicit Base(contained_type* p) noexcept : p_(p) {}
  Base(const Base&) = delete;
  Base& operator=(const Base&) = delete;
  Base(Base&& other) noexcept : p_(other.release()) {}
  Base& operator=(Base&& other) noexcept {
    contained_type* taken = other.release();
    if (p_) OrtRelease(p_);
    p_ = taken;
    return *this;
  }
  ~Base() {
    if (p_) OrtRelease(p_);
  }

  constexpr operator contained_type*() const noexcept { return p_; }
  constexpr contained_type& operator*() const noexcept { return *p_; }

  // Gives up the handle: the caller releases it.
  contained_type* release() { return std::exchange(p_, nullptr); }

 protected:
  contained_type* p_{};
};

// A const handle cannot be released: only Unowned<const T> refers to one.
template <typename T>
struct Base<const T>;

template <typename T>
struct Base<Unowned<T>> {
  using contained_type = typename Unowned<T>::Type;

  constexpr Base() = default;
  constexpr explicit Base(contained_type* p) noexcept : p_(p) {}
  Base(const Base&) = default;
  Base& operator=(const Base&) = default;
  Base(Base&& other) noexcept : p_(std::exchange(other.p_, nullptr)) {}
  Base& operator=(Base&& other) noexcept {
    contained_type* taken = std::exchange(other.p_, nullptr);
    p_ = taken;
    return *this;
  }
  ~Base() = default;

  constexpr operator contained_type*() const noexcept { return p_; }
  constexpr contained_type& operator*() const noexcept { return *p_; }

 protected:
  contained_type* p_{};
};

// Frees memory of an allocator, as the deleter of a std::unique_ptr.
struct AllocatedFree {
  OrtAllocator* allocator_;
  explicit AllocatedFree(OrtAllocator* allocator) : allocator_(allocator) {}
  void operator()(void* ptr) const {
    if (ptr) allocator_->Free(allocator_, ptr);
  }
};

}  // namespace detail

// Text in memory of an allocator, which must outlive it.
using AllocatedStringPtr = std::unique_ptr<char, detail::AllocatedFree>;

// Success (empty), or an error with a code and a message.
struct Status : detail::Base<OrtStatus> {
  Status() = default;
  explicit Status(std::nullptr_t) noexcept {}
  explicit Status(OrtStatus* status) noexcept : detail::Base<OrtStatus>(status) {}
  explicit Status(const Exception& e) { p_ = GetApi().CreateStatus(e.GetOrtErrorCode(), e.what()); }
  explicit Status(const std::exception& e) { p_ = GetApi().CreateStatus(ORT_FAIL, e.what()); }
  Status(const char* message, OrtErrorCode code) { p_ = GetApi().CreateStatus(code, message); }

  // The message and the code of an error; of success, the empty text and ORT_OK.
  std::string GetErrorMessage() const { return p_ ? GetApi().GetErrorMessage(p_) : std::string(); }
  OrtErrorCode GetErrorCode() const { return p_ ? GetApi().GetErrorCode(p_) : ORT_OK; }
  bool IsOK() const noexcept { return p_ == nullptr; }
};

namespace detail {
inline void ThrowStatus(const Status& status) { ORT_CXX_API_THROW(status.GetErrorMessage(), status.GetErrorCode()); }
}  // namespace detail

inline void ThrowOnError(const Status& status) {
  if (!status.IsOK()) detail::ThrowStatus(status);
}
// Takes the status over.
inline void ThrowOnError(OrtStatus* status) {
  if (status) detail::ThrowStatus(Status(status));
}

#define ORT_CXX_RETURN_ON_API_FAIL(expression)                                  \
  {                                                                             \
    if (OrtStatus* ort_status_ = (expression)) return Ort::Status(ort_status_); \
  }

std::string GetVersionString();
std::string GetBuildInfoString();
std::vector<std::string> GetAvailableProviders();

inline std::string GetVersionString() { return OrtGetApiBase()->GetVersionString(); }
inline std::string GetBuildInfoString() { return GetApi().GetBuildInfoString(); }

}  // namespace Ort

#include "calls.h"
