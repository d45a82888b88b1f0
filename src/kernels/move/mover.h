// Copies of elements of a tensor. Kernels that only move data know shapes and indices; a Mover knows the elements, so
// strings share all index logic with numbers.
#pragma once
#include <cstddef>
#include <cstdint>

#include "base/parallel.h"

namespace retort::kernels {

/// Immutable. Strides and offsets count elements. Source and destination must not overlap.
struct Mover {
  size_t size;  ///< bytes of one element
  /// Copying allocates (strings): kernels then use only the calling thread, and std::bad_alloc may be thrown.
  bool may_throw;
  /// to[i] = from[i]
  void (*copy)(void* to, const void* from, size_t n);
  /// to[i · to_stride] = from[i · from_stride]; from_stride 0 fills
  void (*strided)(void* to, ptrdiff_t to_stride, const void* from, ptrdiff_t from_stride, size_t n);
  /// to[i] = from[offsets[i]]
  void (*pick)(void* to, const void* from, const int64_t* offsets, size_t n);
  /// to[offsets[i]] = from[i], in order
  void (*place)(void* to, const int64_t* offsets, const void* from, size_t n);

  void* at(void* p, ptrdiff_t elements) const { return static_cast<std::byte*>(p) + elements * ptrdiff_t(size); }
  const void* at(const void* p, ptrdiff_t elements) const {
    return static_cast<const std::byte*>(p) + elements * ptrdiff_t(size);
  }
  Parallel allowed(const Parallel& par) const { return may_throw ? Parallel() : par; }
};

/// For elements of 1, 2, 4, 8 or 16 bytes, aligned to at least min(size, 8).
const Mover& byte_mover(size_t size) noexcept;
/// For std::string. The destination must contain constructed strings.
const Mover& string_mover() noexcept;

}  // namespace retort::kernels
