// Rows of weights that are packed in blocks in the formats of GGUF files. All numbers are little-endian.
#pragma once
#include <cstddef>
#include <cstdint>

namespace retort::ops {

struct PackedFormat {
  int64_t id;
  size_t block, bytes;  ///< elements of a block, and its size
  void (*decode)(const uint8_t* from, float* to);
};
/// The format of a GGUF type number, or null.
const PackedFormat* find_packed_format(int64_t id);

}  // namespace retort::ops
