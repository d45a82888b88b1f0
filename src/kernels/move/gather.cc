#include "kernels/move/gather.h"

#include <algorithm>
#include <array>

#include "base/checked.h"
#include "kernels/elementwise/chunks.h"

namespace retort::kernels {
namespace {

constexpr size_t kBlock = 256;  // number of offsets computed ahead of the moves

template <typename I>
std::optional<BadIndex> check(const I* indices, size_t n, int64_t extent) {
  for (size_t i = 0; i < n; ++i) {
    if (wrap_index(indices[i], extent) < 0) return BadIndex{i, int64_t(indices[i]), extent};
  }
  return std::nullopt;
}

/// Copies the same `count` elements of each of `rows` slices. Rows of y are a.count apart.
template <typename I>
void gather_singles(const Mover& m, const GatherArgs& a, size_t rows, const void* x, const I* indices, void* y,
                    size_t count) {
  std::array<int64_t, kBlock> offsets;
  for (size_t first = 0; first < count; first += kBlock) {
    const size_t n = std::min(kBlock, count - first);
    for (size_t i = 0; i < n; ++i) offsets[i] = wrap_index(indices[first + i], a.extent);
    for (size_t r = 0; r < rows; ++r)
      m.pick(m.at(y, ptrdiff_t(r * a.count + first)), m.at(x, ptrdiff_t(r) * a.extent), offsets.data(), n);
  }
}

}  // namespace

template <typename I>
std::optional<BadIndex> gather(const Mover& m, const GatherArgs& a, const void* x, const I* indices, void* y,
                               const Parallel& par) {
  if (const auto bad = check(indices, a.count, a.extent)) return bad;
  if (a.outer * a.inner * a.count == 0) return std::nullopt;
  const Parallel allowed = m.allowed(par);
  const bool is_aligned = m.may_throw || reinterpret_cast<uintptr_t>(x) % std::min<size_t>(m.size, 8) == 0;
  if (a.inner == 1 && a.out_step == 1 && is_aligned) {
    const size_t pieces = ceil_div(a.count, kChunk);
    const auto task = [&](size_t begin, size_t end) {
      const size_t rows = pieces == 1 ? end - begin : 1;
      for (size_t u = begin; u < end; u += rows) {
        const size_t outer = u / pieces, first = u % pieces * kChunk;
        gather_singles(m, a, rows, m.at(x, ptrdiff_t(outer) * a.extent), indices + first,
                       m.at(y, ptrdiff_t(outer * a.count + first)), std::min(kChunk, a.count - first));
      }
    };
    for_chunks(allowed, a.outer * pieces, task, std::max<size_t>(1, kChunk / a.count));
    return std::nullopt;
  }
  const auto task = [&](size_t begin, size_t end) {
    for (size_t row = begin; row < end; ++row) {
      const int64_t i = wrap_index(indices[row % a.count], a.extent);
      const ptrdiff_t from = (ptrdiff_t(row / a.count) * a.extent + i) * ptrdiff_t(a.inner);
      m.copy(m.at(y, ptrdiff_t(row * a.out_step)), m.at(x, from), a.inner);
    }
  };
  for_chunks(allowed, a.outer * a.count, task, std::max<size_t>(1, kChunk / a.inner));
  return std::nullopt;
}

template <typename I>
std::optional<BadIndex> gather_nd(const Mover& m, const TupleIndices& t, const void* x, const I* indices, void* y) {
  return for_tuples(
      t, indices, [&](size_t n, int64_t offset) { m.copy(m.at(y, ptrdiff_t(n * t.slice)), m.at(x, offset), t.slice); });
}

template <typename I>
std::optional<BadIndex> scatter_nd(const Mover& m, const TupleIndices& t, const I* indices, const void* updates,
                                   void* y) {
  return for_tuples(t, indices, [&](size_t n, int64_t offset) {
    m.copy(m.at(y, offset), m.at(updates, ptrdiff_t(n * t.slice)), t.slice);
  });
}

template <typename I>
std::optional<BadIndex> gather_elements(const Mover& m, const ElementIndices& e, const void* x, const I* indices,
                                        void* y) {
  return for_element_blocks(e.data, e.shape, e.axis, indices, [&](size_t first, const int64_t* at, size_t n) {
    m.pick(m.at(y, ptrdiff_t(first)), x, at, n);
  });
}

template <typename I>
std::optional<BadIndex> scatter_elements(const Mover& m, const ElementIndices& e, const I* indices, const void* updates,
                                         void* y) {
  return for_element_blocks(e.data, e.shape, e.axis, indices, [&](size_t first, const int64_t* at, size_t n) {
    m.place(y, at, m.at(updates, ptrdiff_t(first)), n);
  });
}

template decltype(gather<int32_t>) gather<int32_t>;
template decltype(gather<int64_t>) gather<int64_t>;
template decltype(gather_nd<int32_t>) gather_nd<int32_t>;
template decltype(gather_nd<int64_t>) gather_nd<int64_t>;
template decltype(scatter_nd<int32_t>) scatter_nd<int32_t>;
template decltype(scatter_nd<int64_t>) scatter_nd<int64_t>;
template decltype(gather_elements<int32_t>) gather_elements<int32_t>;
template decltype(gather_elements<int64_t>) gather_elements<int64_t>;
template decltype(scatter_elements<int32_t>) scatter_elements<int32_t>;
template decltype(scatter_elements<int64_t>) scatter_elements<int64_t>;

}  // namespace retort::kernels
