// Index arithmetic of the gather and scatter families: indices are checked, negative ones count from the end, and each
// becomes an offset. What happens at the offset is left to a function, so that ops can scatter with a reduction of
// their own.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace retort::kernels {

/// An index outside [-extent, extent), at `position` of the index tensor. The output is unspecified then.
struct BadIndex {
  size_t position;
  int64_t index;
  int64_t extent;
};

/// index in [0, extent), or -1 when it is out of range.
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
  size_t slice = 1;                          ///< elements behind one tuple
};

/// f(slice number, offset in elements) in order; one batch of the tensor has Π extents · slice elements.
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

/// f(position, offset) for each element of the index tensor in order (GatherElements, ScatterElements): offset is that
/// of the same position in a tensor of shape `data`, with the coordinate along `axis` replaced by the index. Equal
/// ranks; no extent of `index_shape` exceeds that of `data` off the axis.
template <typename I, typename F>
std::optional<BadIndex> for_elements(std::span<const int64_t> data, std::span<const int64_t> index_shape, size_t axis,
                                     const I* indices, const F& f) {
  const size_t last = data.size() - 1;
  int64_t rows = 1, axis_stride = 1;
  for (size_t d = 0; d < last; ++d) rows *= index_shape[d];
  for (size_t d = axis + 1; d <= last; ++d) axis_stride *= data[d];
  size_t n = 0;
  for (int64_t row = 0; row < rows; ++row) {
    int64_t base = 0, rest = row, stride = data[last];
    for (size_t d = last; d-- > 0;) {
      if (d != axis) base += rest % index_shape[d] * stride;
      rest /= index_shape[d];
      stride *= data[d];
    }
    for (int64_t c = 0; c < index_shape[last]; ++c, ++n) {
      const int64_t i = wrap_index(indices[n], data[axis]);
      if (i < 0) return BadIndex{n, int64_t(indices[n]), data[axis]};
      f(n, base + i * axis_stride + (axis == last ? 0 : c));
    }
  }
  return std::nullopt;
}

}  // namespace retort::kernels
