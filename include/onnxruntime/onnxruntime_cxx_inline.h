// Included by onnxruntime_cxx_api.h, which programs include: functions whose bodies need types that are declared after
// them.
#pragma once
#include "onnxruntime_cxx/binding.h"
#include "onnxruntime_cxx/session.h"

namespace Ort {

inline Allocator::Allocator(const Session& session, const OrtMemoryInfo* mem_info) {
  ThrowOnError(GetApi().CreateAllocator(session, mem_info, &p_));
}

namespace detail {

template <typename T>
void SessionImpl<T>::Run(const RunOptions& run_options, const IoBinding& io_binding) {
  ThrowOnError(GetApi().RunWithBinding(this->p_, run_options, io_binding));
}

#if !defined(ORT_MINIMAL_BUILD)
template <typename T>
std::vector<ValueInfo> ConstSessionImpl<T>::GetInputs() const {
  const std::vector<std::string> names = GetInputNames();
  std::vector<ValueInfo> inputs;
  inputs.reserve(names.size());
  for (size_t i = 0; i < names.size(); ++i) inputs.emplace_back(names[i], GetInputTypeInfo(i).GetConst());
  return inputs;
}

template <typename T>
std::vector<ValueInfo> ConstSessionImpl<T>::GetOutputs() const {
  const std::vector<std::string> names = GetOutputNames();
  std::vector<ValueInfo> outputs;
  outputs.reserve(names.size());
  for (size_t i = 0; i < names.size(); ++i) outputs.emplace_back(names[i], GetOutputTypeInfo(i).GetConst());
  return outputs;
}
#endif

}  // namespace detail

}  // namespace Ort
