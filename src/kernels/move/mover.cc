#include "kernels/move/mover.h"

#include <algorithm>
#include <string>
#include <type_traits>

namespace retort::kernels {
namespace {

struct Block16 {
  uint64_t words[2];
};

template <typename T>
void copy(void* to, const void* from, size_t n) {
  std::copy_n(static_cast<const T*>(from), n, static_cast<T*>(to));
}

template <typename T>
void strided(void* to, ptrdiff_t to_stride, const void* from, ptrdiff_t from_stride, size_t n) {
  T* const y = static_cast<T*>(to);
  const T* const x = static_cast<const T*>(from);
  if (from_stride == 0 && to_stride == 1) {
    std::fill_n(y, n, *x);
  } else if (from_stride == -1 && to_stride == 1) {
    for (size_t i = 0; i < n; ++i) y[i] = x[-ptrdiff_t(i)];
  } else if (to_stride == 1) {
    for (size_t i = 0; i < n; ++i) y[i] = x[ptrdiff_t(i) * from_stride];
  } else {
    for (size_t i = 0; i < n; ++i) y[ptrdiff_t(i) * to_stride] = x[ptrdiff_t(i) * from_stride];
  }
}

template <typename T>
void pick(void* to, const void* from, const int64_t* offsets, size_t n) {
  T* const y = static_cast<T*>(to);
  const T* const x = static_cast<const T*>(from);
  if constexpr (std::is_trivially_copyable_v<T>) {
#pragma GCC unroll 4
    for (size_t i = 0; i < n; ++i) y[i] = x[offsets[i]];
  } else {
    for (size_t i = 0; i < n; ++i) y[i] = x[offsets[i]];
  }
}

template <typename T>
void place(void* to, const int64_t* offsets, const void* from, size_t n) {
  T* const y = static_cast<T*>(to);
  const T* const x = static_cast<const T*>(from);
  for (size_t i = 0; i < n; ++i) y[offsets[i]] = x[i];
}

template <typename T>
constexpr Mover kMover{sizeof(T), !std::is_trivially_copyable_v<T>, &copy<T>, &strided<T>, &pick<T>, &place<T>};

}  // namespace

const Mover& byte_mover(size_t size) noexcept {
  switch (size) {
    case 1:
      return kMover<uint8_t>;
    case 2:
      return kMover<uint16_t>;
    case 4:
      return kMover<uint32_t>;
    case 8:
      return kMover<uint64_t>;
    default:
      return kMover<Block16>;
  }
}

const Mover& string_mover() noexcept { return kMover<std::string>; }

}  // namespace retort::kernels
