// Index arithmetic of the gather and scatter families: indices are checked, negative ones count from the end, and each
// becomes an offset. A function processes the offsets, so that ops can scatter with their own reductions.
#pragma once
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "base/function_ref.h"

namespace retort::kernels {

/// An index outside [-extent, extent), at `position` of the index tensor. The output is then unspecified.
struct BadIndex {
  size_t position;
  int64_t index;
  int64_t extent;
};

/// Maps the index to [0, extent); -1 if it is out of range.
template <typename I>
inline int64_t wrap_index(I index, int64_t extent) {
  const int64_t i = int64_t(index) < 0 ? int64_t(index) + extent : int64_t(index);
  return i >= 0 && i < extent ? i : -1;
}

/// Slices of a tensor named by index tuples (GatherND, ScatterND): indices is [batches, tuples, depth].
struct TupleIndices {
  static constexpr size_t kMaxDepth = 16;
  size_t batches = 1;
  size_t tuples = 0;                         ///< of one batch
  size_t depth = 0;                          ///< at most kMaxDepth
  std::array<int64_t, kMaxDepth> extents{};  ///< of the indexed dimensions
  size_t slice = 1;                          ///< number of elements per tuple
};

/// Calls f(slice number, offset in elements) in order; one batch of the tensor has Π extents · slice elements.
template <typename I, typename F>
std::optional<BadIndex> for_tuples(const TupleIndices& t, const I* indices, const F& f) {
  int64_t batch_elements = int64_t(t.slice);
  for (size_t d = 0; d < t.depth; ++d) batch_elements *= t.extents[d];
  for (size_t n = 0; n < t.batches * t.tuples; ++n) {
    int64_t offset = 0;
    for (size_t d = 0; d < t.depth; ++d) {
      const int64_t i = wrap_index(indices[n * t.depth + d], t.extents[d]);
      if (i < 0) return BadIndex{n * t.depth + d, int64_t(indices[n * t.depth + d]), t.extents[d]};
      offset = offset * t.extents[d] + i;
    }
    f(n, int64_t(n / t.tuples) * batch_elements + offset * int64_t(t.slice));
  }
  return std::nullopt;
}

/// Calls f(position, offsets, n) for consecutive blocks of the index tensor (GatherElements, ScatterElements): an
/// offset is that of the same position in a tensor of shape `data`, with the coordinate along `axis` replaced by the
/// index. The ranks must be equal, and no extent of `index_shape` except that of `axis` may exceed that of `data`.
template <typename I>
std::optional<BadIndex> for_element_blocks(std::span<const int64_t> data, std::span<const int64_t> index_shape,
                                           size_t axis, const I* indices,
                                           FunctionRef<void(size_t, const int64_t*, size_t)> f) {
  constexpr size_t kBlock = 256;
  if (std::find(index_shape.begin(), index_shape.end(), 0) != index_shape.end()) return std::nullopt;
  const size_t last = data.size() - 1, width = size_t(index_shape[last]);
  const int64_t extent = data[axis];
  int64_t rows = 1, axis_stride = 1;
  for (size_t d = 0; d < last; ++d) rows *= index_shape[d];
  for (size_t d = axis + 1; d <= last; ++d) axis_stride *= data[d];
  std::array<int64_t, kBlock> offsets;
  size_t done = 0, held = 0;
  for (int64_t row = 0; row < rows; ++row) {
    int64_t base = 0, rest = row, stride = data[last];
    for (size_t d = last; d-- > 0;) {
      if (d != axis) base += rest % index_shape[d] * stride;
      rest /= index_shape[d];
      stride *= data[d];
    }
    for (size_t c = 0, n; c < width; c += n) {
      n = std::min(width - c, kBlock - held);
      const I* const from = indices + done + held;
      uint64_t bad = 0;  // its sign bit is set by an index below 0, or by one beyond the extent, after wrapping
      const auto put = [&](const auto& place) {
        for (size_t j = 0; j < n; ++j) {
          const uint64_t i = uint64_t(from[j]) + (from[j] < 0 ? uint64_t(extent) : 0);
          bad |= i | (uint64_t(extent) - 1 - i);
          offsets[held + j] = int64_t(uint64_t(base) + place(i, j));
        }
      };
      if (axis == last)
        put([](uint64_t i, size_t) { return i; });
      else
        put([&](uint64_t i, size_t j) { return i * uint64_t(axis_stride) + c + j; });
      for (size_t j = 0; j < n && int64_t(bad) < 0; ++j) {
        if (wrap_index(from[j], extent) < 0) return BadIndex{done + held + j, int64_t(from[j]), extent};
      }
      held += n;
      if (held < kBlock) continue;
      f(done, offsets.data(), held);
      done += held;
      held = 0;
    }
  }
  if (held > 0) f(done, offsets.data(), held);
  return std::nullopt;
}

}  // namespace retort::kernels
