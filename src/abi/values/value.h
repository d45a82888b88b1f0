// OrtValue: a value of the engine behind a handle.
#pragma once
#include "abi/values/allocators.h"
#include "abi/values/memory_info.h"
#include "tensor/tensor.h"

struct OrtValue : retort::abi::Handle<retort::abi::tag_of("valu")> {
  OrtValue() = default;
  explicit OrtValue(retort::Value v, const OrtMemoryInfo* m = nullptr) : value(std::move(v)), memory(m) {}
  retort::Value value;
  const OrtMemoryInfo* memory = nullptr;  ///< interned: what the maker called its memory; null: by the tensor's space
};

namespace retort::abi {

/// The tensor of a value; `code` unless it holds one.
const Tensor& tensor_of(const OrtValue* value, ErrorCode code = ErrorCode::invalid_argument);
Tensor& tensor_of(OrtValue* value, ErrorCode code = ErrorCode::invalid_argument);

/// `tensor` if the host can read it; invalid_argument naming the argument `what` where it lies on a device.
const Tensor& on_host(const Tensor& tensor, const char* what);

/// Uninitialised elements in memory of `allocator`, which must outlive them. Strings are made empty.
Tensor make_tensor(OrtAllocator& allocator, DType type, std::span<const int64_t> shape);
/// Elements in the caller's memory, kept alive by `owner` (may be null).
Tensor wrap_tensor(const OrtMemoryInfo& info, void* data, size_t bytes, std::span<const int64_t> shape, DType type,
                   std::shared_ptr<void> owner);
/// A shape from outside: negative extents and null pointers are errors.
std::span<const int64_t> need_shape(const int64_t* shape, size_t rank);
/// A deep copy in memory of `allocator`.
Value copy_value(OrtAllocator& allocator, const Value& value);

}  // namespace retort::abi
