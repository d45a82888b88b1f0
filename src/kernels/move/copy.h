// Copies of whole tensors.
#pragma once
#include <cstddef>

#include "base/parallel.h"

namespace retort::kernels {

/// memcpy() on all threads; memory that the last cache cannot hold is written past the caches.
void copy_bytes(void* to, const void* from, size_t bytes, const Parallel& par) noexcept;

/// memcpy() past the caches: for memory that they would not hold until it is read, and that a plain copy would first
/// read into them. Serial.
void stream_bytes(void* to, const void* from, size_t bytes) noexcept;

}  // namespace retort::kernels
