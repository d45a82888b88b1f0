// A copy between two strided arrangements of elements: transpose, slice, expand and tile are all one of these.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "base/parallel.h"
#include "kernels/move/mover.h"

namespace retort::kernels {

/// to[Σ i_d · to_stride_d] = from[from_offset + Σ i_d · from_stride_d] for all indices i. Neighbouring dimensions that
/// move alike are merged. Immutable once made; shared freely between threads. The makers take checked shapes and return
/// nullopt when more than kMaxRank dimensions remain.
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

  /// Adds a dimension inside those so far; false when there is no room.
  bool append(size_t extent, ptrdiff_t to_stride, ptrdiff_t from_stride) noexcept;

  /// Output dimension i is input dimension perm[i].
  static std::optional<StridedCopy> transpose(std::span<const int64_t> shape, std::span<const int64_t> perm) noexcept;
  /// out[i] elements of each dimension from starts[i] on, steps[i] apart (negative steps allowed).
  static std::optional<StridedCopy> slice(std::span<const int64_t> shape, std::span<const int64_t> starts,
                                          std::span<const int64_t> steps, std::span<const int64_t> out) noexcept;
  /// Numpy broadcasting to `out`.
  static std::optional<StridedCopy> expand(std::span<const int64_t> shape, std::span<const int64_t> out) noexcept;
  /// The whole input repeats[i] times along dimension i.
  static std::optional<StridedCopy> tile(std::span<const int64_t> shape, std::span<const int64_t> repeats) noexcept;
};

/// Both arrays are those of the whole tensors. Contiguous runs are copied as such; two-dimensional transposes go
/// through tiles. Allocates nothing (strings do).
void strided_copy(const Mover& mover, const StridedCopy& copy, void* to, const void* from, const Parallel& par);

/// One input of a concatenation, or one output of a split: `extent` along the axis.
struct AxisPart {
  void* data;
  size_t extent;
};
/// [outer, Σ extents, inner] = the parts side by side; the parts' data are only read.
void concat(const Mover& mover, std::span<const AxisPart> parts, size_t outer, size_t inner, void* y,
            const Parallel& par);
void split(const Mover& mover, const void* x, size_t outer, size_t inner, std::span<const AxisPart> parts,
           const Parallel& par);

}  // namespace retort::kernels
