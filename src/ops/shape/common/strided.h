// Copies of N-dimensional boxes between two layouts, shared by Transpose, Slice, Expand, Tile, Concat, Split, Pad and
// the space-to-depth family.
#pragma once
#include "base/parallel.h"
#include "ops/op.h"

namespace retort::ops {

/// to[to_offset + Σ i_d·to_strides_d] = from[from_offset + Σ i_d·from_strides_d] for all i in the box. Offsets and
/// strides are in elements; strides may be negative or (of `from`) 0. No element of `to` may be written twice.
struct StridedBox {
  Shape extents, from_strides, to_strides;
  int64_t from_offset = 0, to_offset = 0;

  /// Appends an axis, the innermost so far.
  void push(int64_t extent, int64_t from_stride, int64_t to_stride) {
    extents.push_back(extent);
    from_strides.push_back(from_stride);
    to_strides.push_back(to_stride);
  }
};

/// Copies elements of any type, including packed ones and strings. `from` and `to` must not overlap.
void copy_box(const StridedBox& box, DType type, const void* from, void* to, const Parallel& parallel);
/// The same for content.
void copy_box(const StridedBox& box, const Dim* from, Dim* to);

/// The box that repeats a tensor of shape `from` to shape `to` by the numpy rule.
StridedBox broadcast_box(const Shape& from, const Shape& to);

/// The position after `at` in row-major order within `extents`; the first one after the last.
void next_position(Shape& at, const Shape& extents);

/// Row-major strides in elements; those of a slot include gaps between its rows.
Shape row_major_strides(std::span<const int64_t> extents);
Shape strides_of(const Slot& slot);
/// Whether the part of a box is the memory of the whole at `offset`, so that nothing has to be copied.
bool lies_at(const void* part, const void* whole, DType type, int64_t offset);

/// The side of a box that lies in a larger tensor, as a piece of that tensor; nullopt if its rows have no common
/// stride.
std::optional<Piece> piece_of(const Shape& extents, const Shape& strides, int64_t offset);

}  // namespace retort::ops
