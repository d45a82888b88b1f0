// Operators that only move data work by the size of an element, not by its meaning.
#pragma once
#include <cstring>
#include <string>
#include <type_traits>

#include "base/error.h"
#include "tensor/dtype.h"

namespace retort::ops {

struct Bytes16 {
  uint64_t low, high;
};

/// f(std::type_identity<E>) for the plain type E of the element's size, or std::string. Not for packed types.
template <typename F>
void by_element(DType type, F&& f) {
  if (type == DType::string) return f(std::type_identity<std::string>{});
  switch (dtype_bits(type)) {
    case 8:
      return f(std::type_identity<uint8_t>{});
    case 16:
      return f(std::type_identity<uint16_t>{});
    case 32:
      return f(std::type_identity<uint32_t>{});
    case 64:
      return f(std::type_identity<uint64_t>{});
    case 128:
      return f(std::type_identity<Bytes16>{});
    default:
      fail(ErrorCode::not_implemented, "elements of type {} cannot be moved one by one", dtype_name(type));
  }
}

/// n whole elements; regions must not overlap.
template <typename E>
void copy_elements(const E* from, E* to, size_t n) {
  if constexpr (std::is_same_v<E, std::string>)
    std::copy(from, from + n, to);
  else
    std::memcpy(to, from, n * sizeof(E));
}

/// Element `index` of packed data with `bits` (2 or 4) per element, and its replacement.
inline uint8_t get_packed(const uint8_t* data, size_t index, size_t bits) {
  const size_t bit = index * bits;
  return uint8_t(data[bit / 8] >> (bit % 8) & ((1u << bits) - 1));
}
inline void set_packed(uint8_t* data, size_t index, size_t bits, uint8_t value) {
  const size_t bit = index * bits;
  const unsigned mask = ((1u << bits) - 1) << (bit % 8);
  data[bit / 8] = uint8_t((data[bit / 8] & ~mask) | (unsigned(value) << (bit % 8) & mask));
}

}  // namespace retort::ops
