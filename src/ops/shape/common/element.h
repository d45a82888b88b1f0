// Functions for operators that only move data: they depend on the size of an element, not on its meaning.
#pragma once
#include <cstdint>

#include "kernels/move/mover.h"
#include "tensor/dtype.h"

namespace retort::ops {

/// Copies elements of the given type. Throws not_implemented for packed types.
const kernels::Mover& mover_of(DType type);

/// Reads or replaces element `index` of packed data with `bits` (2 or 4) per element.
inline uint8_t get_packed(const uint8_t* data, size_t index, size_t bits) {
  const size_t bit = index * bits;
  return uint8_t(data[bit / 8] >> (bit % 8) & ((1u << bits) - 1));
}
inline void set_packed(uint8_t* data, size_t index, size_t bits, uint8_t value) {
  const size_t bit = index * bits;
  const unsigned mask = ((1u << bits) - 1) << (bit % 8);
  data[bit / 8] = uint8_t((data[bit / 8] & ~mask) | (unsigned(value) << (bit % 8) & mask));
}

/// A zero element, or the empty string.
const void* zero(DType type);
/// Sets `count` elements to the one at `value` (null: zero or the empty string). Supports packed types.
void fill(DType type, const void* value, void* to, size_t count, const Parallel& parallel);
/// Copies `count` elements; the regions must not overlap. Packed types start at a byte.
void copy(DType type, const void* from, void* to, size_t count, const Parallel& parallel = {});

}  // namespace retort::ops
