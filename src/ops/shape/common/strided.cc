#include "ops/shape/common/strided.h"

#include <algorithm>

#include "ops/shape/common/element.h"

namespace retort::ops {
namespace {

constexpr int64_t kTaskElements = 16 * 1024;  // enough work to pay for claiming a task
constexpr int64_t kTile = 16;                 // edge of the squares in which a transposing copy moves

// The box without axes of extent 1, neighbours merged where both sides are contiguous; at least one axis.
StridedBox simplify(const StridedBox& box) {
  StridedBox s;
  s.from_offset = box.from_offset;
  s.to_offset = box.to_offset;
  for (size_t d = 0; d < box.extents.rank(); ++d) {
    const int64_t n = box.extents[d], from = box.from_strides[d], to = box.to_strides[d];
    if (n == 1) continue;
    const size_t last = s.extents.rank() - 1;
    if (!s.extents.empty() && s.from_strides[last] == from * n && s.to_strides[last] == to * n) {
      s.extents[last] *= n;
      s.from_strides[last] = from;
      s.to_strides[last] = to;
    } else {
      s.push(n, from, to);
    }
  }
  if (s.extents.empty()) s.push(1, 1, 1);
  return s;
}

struct Offsets {
  int64_t from, to;
};

// Offsets of position `index` of the first `axes` axes in row-major order.
Offsets locate(const StridedBox& b, size_t axes, int64_t index) {
  Offsets o{b.from_offset, b.to_offset};
  for (size_t d = axes; d-- > 0; index /= b.extents[d]) {
    o.from += index % b.extents[d] * b.from_strides[d];
    o.to += index % b.extents[d] * b.to_strides[d];
  }
  return o;
}

template <typename E>
void copy_row(const E* from, int64_t from_stride, E* to, int64_t to_stride, int64_t n) {
  if (from_stride == 1 && to_stride == 1) return copy_elements(from, to, size_t(n));
  if (from_stride == 0 && to_stride == 1) return void(std::fill_n(to, n, *from));
  for (int64_t i = 0; i < n; ++i) to[i * to_stride] = from[i * from_stride];
}

template <typename E>
void copy_rows(const StridedBox& b, const E* from, E* to, const Parallel& parallel) {
  const size_t inner = b.extents.rank() - 1;
  const int64_t n = b.extents[inner], rows = extent_product(b.extents, 0, inner);
  if (rows == 1 && n > kTaskElements && b.to_strides[inner] == 1) {  // one long row
    return parallel.for_each(size_t((n + kTaskElements - 1) / kTaskElements), [&](size_t task, int) {
      const int64_t begin = int64_t(task) * kTaskElements, fs = b.from_strides[inner];
      copy_row(from + b.from_offset + begin * fs, fs, to + b.to_offset + begin, 1, std::min(kTaskElements, n - begin));
    });
  }
  const int64_t per_task = std::max<int64_t>(1, kTaskElements / n);
  parallel.for_each(size_t((rows + per_task - 1) / per_task), [&](size_t task, int) {
    const int64_t end = std::min(rows, int64_t(task + 1) * per_task);
    for (int64_t row = int64_t(task) * per_task; row < end; ++row) {
      const Offsets o = locate(b, inner, row);
      copy_row(from + o.from, b.from_strides[inner], to + o.to, b.to_strides[inner], n);
    }
  });
}

// The source runs along axis `across`, the target along the innermost one: squares keep both sides' lines in cache.
template <typename E>
void copy_transposed(const StridedBox& box, size_t across, const E* from, E* to, const Parallel& parallel) {
  StridedBox b;  // `across` moved next to the innermost axis
  b.from_offset = box.from_offset;
  b.to_offset = box.to_offset;
  const size_t inner = box.extents.rank() - 1;
  for (size_t d = 0; d <= inner; ++d) {
    if (d == inner) b.push(box.extents[across], box.from_strides[across], box.to_strides[across]);
    if (d != across) b.push(box.extents[d], box.from_strides[d], box.to_strides[d]);
  }
  const int64_t rows = b.extents[inner - 1], columns = b.extents[inner];
  const int64_t from_column = b.from_strides[inner], to_row = b.to_strides[inner - 1];
  const int64_t bands = (rows + kTile - 1) / kTile, planes = extent_product(b.extents, 0, inner - 1);
  const int64_t per_task = std::max<int64_t>(1, kTaskElements / (kTile * columns)), total = planes * bands;
  parallel.for_each(size_t((total + per_task - 1) / per_task), [&](size_t task, int) {
    const int64_t end = std::min(total, int64_t(task + 1) * per_task);
    for (int64_t band = int64_t(task) * per_task; band < end; ++band) {
      const Offsets o = locate(b, inner - 1, band / bands);
      const int64_t row = band % bands * kTile, row_end = std::min(rows, row + kTile);
      for (int64_t column = 0; column < columns; column += kTile) {
        const int64_t column_end = std::min(columns, column + kTile);
        for (int64_t r = row; r < row_end; ++r) {
          for (int64_t k = column; k < column_end; ++k) to[o.to + r * to_row + k] = from[o.from + r + k * from_column];
        }
      }
    }
  });
}

template <typename E>
void copy_typed(const StridedBox& b, const E* from, E* to, const Parallel& parallel) {
  const size_t inner = b.extents.rank() - 1;
  if (b.to_strides[inner] == 1 && b.from_strides[inner] != 1) {
    for (size_t d = 0; d < inner; ++d) {
      if (b.from_strides[d] == 1) return copy_transposed(b, d, from, to, parallel);
    }
  }
  copy_rows(b, from, to, parallel);
}

void copy_packed(const StridedBox& b, size_t bits, const uint8_t* from, uint8_t* to) {
  const int64_t total = int64_t(element_count(b.extents));
  for (int64_t i = 0; i < total; ++i) {
    const Offsets o = locate(b, b.extents.rank(), i);
    set_packed(to, size_t(o.to), bits, get_packed(from, size_t(o.from), bits));
  }
}

}  // namespace

void copy_box(const StridedBox& box, DType type, const void* from, void* to, const Parallel& parallel) {
  if (std::find(box.extents.begin(), box.extents.end(), 0) != box.extents.end()) return;
  const StridedBox b = simplify(box);
  if (is_packed(type)) {
    return copy_packed(b, dtype_bits(type), static_cast<const uint8_t*>(from), static_cast<uint8_t*>(to));
  }
  by_element(type, [&]<typename E>(std::type_identity<E>) {
    copy_typed(b, static_cast<const E*>(from), static_cast<E*>(to), parallel);
  });
}

void copy_box(const StridedBox& box, const Dim* from, Dim* to) {
  if (std::find(box.extents.begin(), box.extents.end(), 0) != box.extents.end()) return;
  const int64_t total = int64_t(element_count(box.extents));
  for (int64_t i = 0; i < total; ++i) {
    const Offsets o = locate(box, box.extents.rank(), i);
    to[o.to] = from[o.from];
  }
}

Shape row_major_strides(std::span<const int64_t> extents) {
  Shape strides;
  strides.resize(extents.size());
  uint64_t stride = 1;  // wraps around only where there is no element to reach
  for (size_t d = extents.size(); d-- > 0; stride *= uint64_t(extents[d])) strides[d] = int64_t(stride);
  return strides;
}

}  // namespace retort::ops
