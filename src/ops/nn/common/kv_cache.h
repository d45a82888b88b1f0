// The cache of keys or values of an attention whose batch entries have their own lengths: floats, or codes that count
// steps of a scale; of all tokens, or of the last ones.
#pragma once
#include <cstddef>
#include <span>

#include "base/parallel.h"
#include "tensor/dtype.h"

namespace retort::ops {

/// The form of the rows of [batch, heads, rows, size]. Codes are int8, or two of 4 bits in a uint8: the first in the
/// low bits, 8 for zero.
struct KvRows {
  DType dtype = DType::f32;
  size_t size = 0;                ///< elements of a row
  const float* scales = nullptr;  ///< of codes: one, or [heads, size]; null for floats
  bool per_channel = false;

  bool nibbles() const { return dtype == DType::u8; }
  size_t row_bytes() const { return nibbles() ? (size + 1) / 2 : size * dtype_bits(dtype) / 8; }
  /// Stores a row of `head`. Codes are rounded to even and limited to their range; NaN becomes the greatest.
  void encode(size_t head, const float* x, std::byte* to) const;
  void decode(size_t head, const std::byte* from, size_t rows, float* to) const;

 private:
  float scale(size_t head, size_t i) const { return scales[per_channel ? head * size + i : 0]; }
  int code(size_t head, size_t i, float x) const;
};

/// What a run does to one entry of the batch: it appends `fresh` rows to the `before` tokens that were there, and
/// `queries` rows see the first `total` tokens. The first row of the working rows holds token `first`.
struct KvEntry {
  size_t before = 0, fresh = 0, queries = 0, total = 0, first = 0;
  size_t rows() const { return total - first; }
};

/// A cache in a run. Rows are appended to the working rows, which are the present output unless that is a window.
struct KvCache {
  KvRows form;
  size_t heads = 0;
  size_t past_rows = 0, rows = 0, present_rows = 0;  ///< of each head, in the memory below
  const std::byte* past = nullptr;                   ///< null: no rows
  std::byte *work = nullptr, *present = nullptr;

  std::byte* row(size_t b, size_t h, size_t i) const { return at(work, rows, b * heads + h, i); }
  /// Copies the past rows of each entry to the working rows; those after the appended ones become zeros, unless past
  /// and present are in one place.
  void keep_past(std::span<const KvEntry> entries, const Parallel& parallel) const;
  /// The working rows of entry b, [heads, rows, size]: in place if they are float32, otherwise in `memory`.
  const float* floats(size_t b, size_t count, float* memory, const Parallel& parallel) const;
  /// Of each entry, copies the last rows that a cache with a window keeps to the present output.
  void keep_window(std::span<const KvEntry> entries, size_t window, const Parallel& parallel) const;

 private:
  template <typename Byte>
  Byte* at(Byte* base, size_t room, size_t head, size_t i) const {
    return base + (head * room + i) * form.row_bytes();
  }
};

/// Number of rows that a cache of `capacity` rows holds after `total` tokens, of which the last `window` are needed:
/// whenever it is full, capacity - window + 1 rows leave. 0 < window <= capacity.
size_t resident_rows(size_t total, size_t capacity, size_t window);

}  // namespace retort::ops
