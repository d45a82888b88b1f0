// OrtValue: a value of the engine behind a handle.
#pragma once
#include "abi/values/allocators.h"
#include "abi/values/memory_info.h"
#include "tensor/tensor.h"

struct OrtValue : retort::abi::Handle<retort::abi::tag_of("valu")> {
  OrtValue() = default;
  explicit OrtValue(retort::Value v, const OrtMemoryInfo* m = nullptr) : value(std::move(v)), memory(m) {}
  retort::Value value;
  /// Interned: the name that the value's creator gave to the memory. Null: the name of the tensor's space.
  const OrtMemoryInfo* memory = nullptr;
};

namespace retort::abi {

/// The tensor of a value; throws `code` if the value is not a tensor.
const Tensor& tensor_of(const OrtValue* value, ErrorCode code = ErrorCode::invalid_argument);
Tensor& tensor_of(OrtValue* value, ErrorCode code = ErrorCode::invalid_argument);

/// Returns `tensor` if the host can read it; otherwise throws invalid_argument naming the argument `what`.
const Tensor& on_host(const Tensor& tensor, const char* what);

/// A tensor with uninitialised elements in memory of `allocator`, which must outlive it. Strings are empty.
Tensor make_tensor(OrtAllocator& allocator, DType type, std::span<const int64_t> shape);
/// A tensor in the caller's memory, which `owner` keeps alive (may be null).
Tensor wrap_tensor(const OrtMemoryInfo& info, void* data, size_t bytes, std::span<const int64_t> shape, DType type,
                   std::shared_ptr<void> owner);
/// A caller's shape; throws for negative extents and null pointers.
std::span<const int64_t> need_shape(const int64_t* shape, size_t rank);
/// A deep copy in memory of `allocator`.
Value copy_value(OrtAllocator& allocator, const Value& value);

}  // namespace retort::abi
