#include "ops/shape/common/strided.h"

#include <algorithm>

#include "kernels/move/strided_copy.h"
#include "ops/shape/common/element.h"

namespace retort::ops {
namespace {

bool is_empty(const StridedBox& box) {
  return std::find(box.extents.begin(), box.extents.end(), 0) != box.extents.end();
}

// Calls f(offset in the source, offset in the target) for every element.
void for_each_element(const StridedBox& b, FunctionRef<void(int64_t, int64_t)> f) {
  Shape at = b.extents;
  std::fill(at.begin(), at.end(), 0);
  const size_t total = element_count(b.extents);
  for (size_t i = 0; i < total; ++i, next_position(at, b.extents)) {
    int64_t from = b.from_offset, to = b.to_offset;
    for (size_t d = 0; d < at.rank(); ++d) {
      from += at[d] * b.from_strides[d];
      to += at[d] * b.to_strides[d];
    }
    f(from, to);
  }
}

std::optional<kernels::StridedCopy> kernel_copy(const StridedBox& box) {
  kernels::StridedCopy copy;
  copy.from_offset = box.from_offset;
  for (size_t d = 0; d < box.extents.rank(); ++d) {
    if (!copy.append(size_t(box.extents[d]), box.to_strides[d], box.from_strides[d])) return std::nullopt;
  }
  return copy;
}

}  // namespace

void copy_box(const StridedBox& box, DType type, const void* from, void* to, const Parallel& parallel) {
  if (is_empty(box)) return;
  if (is_packed(type)) {
    const size_t bits = dtype_bits(type);
    return for_each_element(box, [&](int64_t f, int64_t t) {
      set_packed(static_cast<uint8_t*>(to), size_t(t), bits,
                 get_packed(static_cast<const uint8_t*>(from), size_t(f), bits));
    });
  }
  const kernels::Mover& mover = mover_of(type);
  if (const auto copy = kernel_copy(box)) {
    kernels::strided_copy(mover, *copy, mover.at(to, box.to_offset), from, parallel);
  } else {  // more axes than the kernel supports
    for_each_element(box, [&](int64_t f, int64_t t) { mover.copy(mover.at(to, t), mover.at(from, f), 1); });
  }
}

void copy_box(const StridedBox& box, const Dim* from, Dim* to) {
  if (is_empty(box)) return;
  for_each_element(box, [&](int64_t f, int64_t t) { to[t] = from[f]; });
}

StridedBox broadcast_box(const Shape& from, const Shape& to) {
  const Shape from_strides = row_major_strides(from), to_strides = row_major_strides(to);
  const size_t added = to.rank() - from.rank();
  StridedBox b;
  for (size_t d = 0; d < to.rank(); ++d) {
    const bool repeated = d < added || from[d - added] == 1;
    b.push(to[d], repeated ? 0 : from_strides[d - added], to_strides[d]);
  }
  return b;
}

void next_position(Shape& at, const Shape& extents) {
  for (size_t d = extents.rank(); d-- > 0;) {
    if (++at[d] < extents[d]) return;
    at[d] = 0;
  }
}

Shape row_major_strides(std::span<const int64_t> extents) {
  Shape strides;
  strides.resize(extents.size());
  uint64_t stride = 1;  // wraps around only if there is no element to access
  for (size_t d = extents.size(); d-- > 0; stride *= uint64_t(extents[d])) strides[d] = int64_t(stride);
  return strides;
}

Shape strides_of(const Slot& slot) {
  Shape strides = row_major_strides(slot.shape());
  for (size_t d = 0; slot.row_stride && d + 1 < strides.rank(); ++d)
    strides[d] = int64_t(uint64_t(strides[d]) / slot.row_extent() * slot.row_stride);
  return strides;
}

bool lies_at(const void* part, const void* whole, DType type, int64_t offset) {
  return part == static_cast<const std::byte*>(whole) + size_t(offset) * dtype_bits(type) / 8;
}

std::optional<Piece> piece_of(const Shape& extents, const Shape& strides, int64_t offset) {
  if (extents.rank() == 0) return Piece{size_t(offset)};
  const size_t last = extents.rank() - 1;
  if (extents[last] > 1 && strides[last] != 1) return std::nullopt;
  int64_t rows = 1, stride = 0;
  for (size_t d = last; d-- > 0; rows *= extents[d]) {
    if (extents[d] == 1) continue;
    if (rows == 1) stride = strides[d];
    if (strides[d] != stride * rows) return std::nullopt;
  }
  if (rows > 1 && stride < extents[last]) return std::nullopt;  // a negative stride
  return Piece{size_t(offset), stride == extents[last] ? 0 : size_t(stride)};
}

}  // namespace retort::ops
