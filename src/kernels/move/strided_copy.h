// A copy between two strided layouts of elements; it covers transpose, slice, expand and tile.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "base/parallel.h"
#include "kernels/move/mover.h"

namespace retort::kernels {

/// to[Σ i_d · to_stride_d] = from[from_offset + Σ i_d · from_stride_d] for all indices i. Neighbouring dimensions with
/// compatible strides are merged. Immutable; may be shared between threads. The functions that make one take checked
/// shapes and return nullopt if more than kMaxRank dimensions remain.
struct StridedCopy {
  static constexpr size_t kMaxRank = 16;
  struct Dim {
    size_t extent;
    ptrdiff_t to, from;  ///< strides in elements
  };

  size_t rank = 0;
  std::array<Dim, kMaxRank> dims{};  ///< outermost first; extents > 1
  ptrdiff_t from_offset = 0;
  size_t count = 1;

  /// Adds an innermost dimension; returns false if there is no space for it.
  bool append(size_t extent, ptrdiff_t to_stride, ptrdiff_t from_stride) noexcept;

  /// Output dimension i is input dimension perm[i].
  static std::optional<StridedCopy> transpose(std::span<const int64_t> shape, std::span<const int64_t> perm) noexcept;
  /// out[i] elements of each dimension, starting with starts[i], steps[i] apart (negative steps are allowed).
  static std::optional<StridedCopy> slice(std::span<const int64_t> shape, std::span<const int64_t> starts,
                                          std::span<const int64_t> steps, std::span<const int64_t> out) noexcept;
  /// Numpy broadcasting to `out`.
  static std::optional<StridedCopy> expand(std::span<const int64_t> shape, std::span<const int64_t> out) noexcept;
  /// Repeats the whole input repeats[i] times along dimension i.
  static std::optional<StridedCopy> tile(std::span<const int64_t> shape, std::span<const int64_t> repeats) noexcept;
};

/// `to` and `from` are the data of the whole tensors. Contiguous runs are copied as such; two-dimensional transposes
/// use tiles. Allocates nothing (except for strings).
void strided_copy(const Mover& mover, const StridedCopy& copy, void* to, const void* from, const Parallel& par);

/// One input of a concatenation, or one output of a split: `extent` along the axis.
struct AxisPart {
  void* data;
  size_t extent;
};
/// [outer, Σ extents, inner] = the concatenated parts; the parts' data is only read.
void concat(const Mover& mover, std::span<const AxisPart> parts, size_t outer, size_t inner, void* y,
            const Parallel& par);
void split(const Mover& mover, const void* x, size_t outer, size_t inner, std::span<const AxisPart> parts,
           const Parallel& par);

}  // namespace retort::kernels
