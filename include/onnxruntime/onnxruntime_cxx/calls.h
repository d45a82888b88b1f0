// Part of onnxruntime_cxx_api.h: the forms that calls of the C interface have. The names are those of no official header.
#pragma once
#include "base.h"

namespace Ort {
namespace detail {

// What a function writes through its last parameter.
template <typename Result, typename... Parameters, typename... Arguments>
Result Fetch(OrtStatus*(ORT_API_CALL* function)(Parameters...), Arguments&&... arguments) {
  Result result{};
  ThrowOnError(function(std::forward<Arguments>(arguments)..., &result));
  return result;
}

// The same for a flag that is an int in C.
template <typename Function, typename... Arguments>
bool FetchFlag(Function* function, Arguments&&... arguments) {
  return Fetch<int>(function, std::forward<Arguments>(arguments)...) != 0;
}

// Text that a function owns; none is the empty one.
template <typename Function, typename... Arguments>
std::string FetchView(Function* function, Arguments&&... arguments) {
  const char* text = Fetch<const char*>(function, std::forward<Arguments>(arguments)...);
  return text ? text : "";
}

// Text in memory of `allocator`, the parameter before the last.
template <typename Function, typename... Arguments>
AllocatedStringPtr FetchAllocated(OrtAllocator* allocator, Function* function, Arguments&&... arguments) {
  return {Fetch<char*>(function, std::forward<Arguments>(arguments)...), AllocatedFree(allocator)};
}

// Text or numbers for which a function first tells the size, then fills a buffer of that size.
template <typename Buffer, typename Function, typename... Arguments>
Buffer FetchSized(Function* function, const Arguments&... arguments) {
  size_t size = 0;
  ThrowOnError(function(arguments..., nullptr, &size));
  Buffer buffer(size, {});
  if (size > 0) ThrowOnError(function(arguments..., buffer.data(), &size));
  return buffer;
}

// The same for text, whose size counts its end.
template <typename Function, typename... Arguments>
std::string FetchText(Function* function, const Arguments&... arguments) {
  std::string text = FetchSized<std::string>(function, arguments...);
  if (!text.empty()) text.pop_back();
  return text;
}

// Handles that a function writes into an array of `count`.
template <typename Wrapper, typename Function, typename Object>
std::vector<Wrapper> FetchList(size_t count, Function* function, const Object* object) {
  std::vector<typename Wrapper::contained_type*> handles(count);
  if (count > 0) ThrowOnError(function(object, handles.data(), count));
  std::vector<Wrapper> list;
  list.reserve(count);
  for (auto* handle : handles) list.emplace_back(handle);
  return list;
}

// Handles of an array that the callee owns.
template <typename Wrapper>
std::vector<Wrapper> ListOf(typename Wrapper::contained_type* const* handles, size_t count) {
  std::vector<Wrapper> list;
  list.reserve(count);
  for (size_t i = 0; i < count; ++i) list.emplace_back(handles[i]);
  return list;
}

// Objects one after the other, as the array of their handles: an object has nothing else.
template <typename Wrapper>
typename Wrapper::contained_type** HandlesOf(Wrapper* objects) {
  static_assert(sizeof(Wrapper) == sizeof(typename Wrapper::contained_type*), "an object is its handle");
  return reinterpret_cast<typename Wrapper::contained_type**>(objects);
}
template <typename Wrapper>
const typename Wrapper::contained_type* const* HandlesOf(const Wrapper* objects) {
  static_assert(sizeof(Wrapper) == sizeof(typename Wrapper::contained_type*), "an object is its handle");
  return reinterpret_cast<const typename Wrapper::contained_type* const*>(objects);
}

inline std::vector<const char*> Pointers(const std::vector<std::string>& texts) {
  std::vector<const char*> pointers;
  pointers.reserve(texts.size());
  for (const std::string& text : texts) pointers.push_back(text.c_str());
  return pointers;
}

// A map as the two arrays that functions take. It points into the map.
struct Pairs {
  explicit Pairs(const std::unordered_map<std::string, std::string>& map) {
    keys.reserve(map.size());
    values.reserve(map.size());
    for (const auto& [key, value] : map) {
      keys.push_back(key.c_str());
      values.push_back(value.c_str());
    }
  }
  size_t size() const { return keys.size(); }

  std::vector<const char*> keys, values;
};

}  // namespace detail

inline std::vector<std::string> GetAvailableProviders() {
  char** names = nullptr;
  int count = 0;
  ThrowOnError(GetApi().GetAvailableProviders(&names, &count));
  const std::vector<std::string> providers(names, names + count);
  ThrowOnError(GetApi().ReleaseAvailableProviders(names, count));
  return providers;
}

}  // namespace Ort
