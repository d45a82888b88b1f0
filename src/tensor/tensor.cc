#include "tensor/tensor.h"

#include <algorithm>
#include <cstdlib>
#include <new>
#include <utility>

#include "base/error.h"
#include "base/loading.h"

namespace retort {
namespace {

constexpr size_t kAlignment = 64;

std::shared_ptr<void> allocate_strings(size_t count) {
  try {
    return std::shared_ptr<void>(new std::string[count], [](void* p) { delete[] static_cast<std::string*>(p); });
  } catch (const std::bad_alloc&) {
    fail(ErrorCode::fail, "out of memory: {} strings; free some, or give smaller inputs", count);
  }
}

// Small blocks and their reference counts are one allocation, in which the address is aligned: an aligned allocation
// takes longer, and the counts would need another one. AddressSanitizer does not detect accesses beyond such a block.
#if defined(__SANITIZE_ADDRESS__)
constexpr bool kHasSmall = false;
#else
constexpr bool kHasSmall = true;
#endif
constexpr size_t kSmall = 2048;  // in bytes

std::shared_ptr<void> allocate_small(size_t bytes) {
  const auto block = std::make_shared_for_overwrite<std::byte[]>(bytes + kAlignment - 1);
  void* at = block.get();
  size_t space = bytes + kAlignment - 1;
  return {block, std::align(kAlignment, bytes, at, space)};
}

std::shared_ptr<void> allocate_elements(DType dtype, size_t count, const Shape& shape) {
  try {
    return dtype == DType::string ? allocate_strings(count) : allocate_host(dtype_bytes(dtype, count));
  } catch (Error& e) {
    e.add_context(cat("tensor {}{}", dtype_name(dtype), to_string(shape)));
    throw;
  }
}

}  // namespace

std::shared_ptr<void> allocate_host(size_t bytes) {
  if (kHasSmall && bytes <= kSmall) return allocate_small(bytes);
  void* p = nullptr;
  // Not rounded up, so that AddressSanitizer detects accesses beyond the end.
  if (posix_memalign(&p, kAlignment, std::max<size_t>(bytes, 1)) != 0)
    fail(ErrorCode::fail, "out of memory: {} bytes; free some, or give smaller inputs", bytes);
  return std::shared_ptr<void>(p, std::free);
}

Tensor::Tensor(DType dtype, Shape shape) : dtype_(dtype), count_(element_count(shape)), shape_(std::move(shape)) {
  owner_ = allocate_elements(dtype_, count_, shape_);
  // Kernels write elements only; the unused bits after an odd number of them are zeros in any run.
  if (is_packed(dtype_) && count_ > 0) static_cast<std::byte*>(owner_.get())[dtype_bytes(dtype_, count_) - 1] = {};
  data_ = owner_.get();
}

Tensor::Tensor(DType dtype, Shape shape, void* data, std::shared_ptr<void> owner, MemorySpace space)
    : dtype_(dtype),
      count_(element_count(shape)),
      shape_(std::move(shape)),
      data_(data),
      space_(space),
      owner_(std::move(owner)) {}

Tensor::Tensor(DType dtype, Shape shape, std::shared_ptr<GrownRows> rows)
    : dtype_(dtype),
      count_(element_count(shape)),
      shape_(std::move(shape)),
      grown_(rows.get()),
      owner_(std::move(rows)) {}

bool is_aligned(DType dtype, const void* data) {
  const size_t element = std::clamp<size_t>(dtype_bits(dtype) / 8, 1, 8);  // a power of two
  return (reinterpret_cast<uintptr_t>(data) & (element - 1)) == 0;
}

Tensor aligned(const Tensor& tensor) {
  if (is_aligned(tensor.dtype(), tensor.data())) return tensor;
  Tensor copy(tensor.dtype(), tensor.shape());
  copy_in_pieces(copy.mutable_data(), tensor.data(), tensor.bytes());
  return copy;
}

Tensor Tensor::reshaped(Shape shape) const {
  Tensor t = *this;
  if (element_count(shape) != count_) {
    fail(ErrorCode::invalid_argument, "cannot reshape {} elements of shape {} to {}", count_, to_string(shape_),
         to_string(shape));
  }
  if (t.grown_) t.data_ = std::exchange(t.grown_, nullptr)->dense();
  t.shape_ = std::move(shape);
  return t;
}

}  // namespace retort
