// Part of onnxruntime_cxx_api.h: where a run reads its inputs and writes its outputs, declared once.
#pragma once
#include "session.h"

namespace Ort {

namespace detail {

namespace binding_utils {
inline std::vector<std::string> GetOutputNamesHelper(const OrtIoBinding* binding, OrtAllocator* allocator) {
  char* texts = nullptr;
  size_t* lengths = nullptr;
  size_t count = 0;
  ThrowOnError(GetApi().GetBoundOutputNames(binding, allocator, &texts, &lengths, &count));
  const std::unique_ptr<void, AllocatedFree> texts_owner(texts, AllocatedFree(allocator));
  const std::unique_ptr<void, AllocatedFree> lengths_owner(lengths, AllocatedFree(allocator));
  std::vector<std::string> names;
  for (size_t i = 0; i < count; texts += lengths[i++]) names.emplace_back(texts, lengths[i]);
  return names;
}

inline std::vector<Value> GetOutputValuesHelper(const OrtIoBinding* binding, OrtAllocator* allocator) {
  OrtValue** handles = nullptr;
  size_t count = 0;
  ThrowOnError(GetApi().GetBoundOutputValues(binding, allocator, &handles, &count));
  const std::unique_ptr<void, AllocatedFree> owner(handles, AllocatedFree(allocator));
  return ListOf<Value>(handles, count);
}
}  // namespace binding_utils

template <typename T>
struct ConstIoBindingImpl : Base<T> {
  using B = Base<T>;
  using B::B;

  // In the order in which outputs were bound.
  std::vector<std::string> GetOutputNames() const { return GetOutputNames(AllocatorWithDefaultOptions()); }
  std::vector<std::string> GetOutputNames(OrtAllocator* allocator) const {
    return binding_utils::GetOutputNamesHelper(this->p_, allocator);
  }
  std::vector<Value> GetOutputValues() const { return GetOutputValues(AllocatorWithDefaultOptions()); }
  std::vector<Value> GetOutputValues(OrtAllocator* allocator) const {
    return binding_utils::GetOutputValuesHelper(this->p_, allocator);
  }
};

template <typename T>
struct IoBindingImpl : ConstIoBindingImpl<T> {
  using B = ConstIoBindingImpl<T>;
  using B::B;

  // The memory of a value must stay until the last run with this binding; the value itself need not.
  void BindInput(const char* name, const Value& value) { ThrowOnError(GetApi().BindInput(this->p_, name, value)); }
  void BindOutput(const char* name, const Value& value) { ThrowOnError(GetApi().BindOutput(this->p_, name, value)); }
  // The library allocates the output at this location, with the shape that a run finds.
  void BindOutput(const char* name, const OrtMemoryInfo* mem_info) {
    ThrowOnError(GetApi().BindOutputToDevice(this->p_, name, mem_info));
  }
  void ClearBoundInputs() { GetApi().ClearBoundInputs(this->p_); }
  void ClearBoundOutputs() { GetApi().ClearBoundOutputs(this->p_); }
  // Wait for copies to and from devices.
  void SynchronizeInputs() { ThrowOnError(GetApi().SynchronizeBoundInputs(this->p_)); }
  void SynchronizeOutputs() { ThrowOnError(GetApi().SynchronizeBoundOutputs(this->p_)); }
};

}  // namespace detail

using ConstIoBinding = detail::ConstIoBindingImpl<detail::Unowned<const OrtIoBinding>>;
using UnownedIoBinding = detail::IoBindingImpl<detail::Unowned<OrtIoBinding>>;

// A binding of a session, which must outlive it.
struct IoBinding : detail::IoBindingImpl<OrtIoBinding> {
  explicit IoBinding(std::nullptr_t) {}
  explicit IoBinding(Session& session) { ThrowOnError(GetApi().CreateIoBinding(session, &p_)); }
  ConstIoBinding GetConst() const { return ConstIoBinding{this->p_}; }
  UnownedIoBinding GetUnowned() const { return UnownedIoBinding{this->p_}; }
};

}  // namespace Ort
