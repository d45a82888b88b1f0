#include "kernels/move/strided_copy.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/checked.h"
#include "kernels/elementwise/chunks.h"
#include "kernels/move/transpose_tile.h"

namespace retort::kernels {
namespace {

using Dim = StridedCopy::Dim;

/// Number of elements of the dimensions inside d.
ptrdiff_t inner_elements(std::span<const int64_t> shape, size_t d) {
  ptrdiff_t n = 1;
  for (size_t i = d + 1; i < shape.size(); ++i) n *= shape[i];
  return n;
}

std::optional<StridedCopy> made(const StridedCopy& copy, bool ok) { return ok ? std::optional(copy) : std::nullopt; }

/// Walks the outer dimensions in row-major order.
class Walk {
 public:
  Walk(const Dim* dims, size_t rank, size_t position) : dims_(dims), rank_(rank) {
    for (size_t d = rank; d-- > 0;) {
      index_[d] = position % dims[d].extent;
      position /= dims[d].extent;
      to += ptrdiff_t(index_[d]) * dims[d].to;
      from += ptrdiff_t(index_[d]) * dims[d].from;
    }
  }
  void next() {
    for (size_t d = rank_; d-- > 0;) {
      to += dims_[d].to;
      from += dims_[d].from;
      if (++index_[d] < dims_[d].extent) return;
      to -= ptrdiff_t(dims_[d].extent) * dims_[d].to;
      from -= ptrdiff_t(dims_[d].extent) * dims_[d].from;
      index_[d] = 0;
    }
  }
  ptrdiff_t to = 0, from = 0;

 private:
  const Dim* dims_;
  size_t rank_;
  std::array<size_t, StridedCopy::kMaxRank> index_{};
};

/// Calls f(to, from, piece) for each of `rows` positions of the outer dimensions times `pieces`; one task moves about
/// kChunk elements.
template <typename F>
void for_pieces(const StridedCopy& outer, size_t pieces, size_t piece_elements, const Parallel& par, const F& f) {
  const auto task = [&](size_t begin, size_t end) {
    Walk walk(outer.dims.data(), outer.rank, begin / pieces);
    for (size_t piece = begin % pieces, u = begin; u < end; ++u) {
      f(walk.to, walk.from, piece);
      if (++piece == pieces) {
        piece = 0;
        walk.next();
      }
    }
  };
  for_chunks(par, outer.count * pieces, task, std::max<size_t>(1, kChunk / piece_elements));
}

/// Removes dimension d.
Dim take(StridedCopy& copy, size_t d) {
  const Dim dim = copy.dims[d];
  std::copy(copy.dims.begin() + ptrdiff_t(d) + 1, copy.dims.begin() + ptrdiff_t(copy.rank),
            copy.dims.begin() + ptrdiff_t(d));
  --copy.rank;
  copy.count /= dim.extent;
  return dim;
}

/// Runs of a power of two of bytes up to 16 become elements of that size if all strides and both addresses (ORed in
/// `address`) allow it: fewer, larger moves.
const Mover& widen(const Mover& mover, StridedCopy& copy, uintptr_t address) {
  if (mover.may_throw || copy.rank < 2) return mover;
  const Dim run = copy.dims[copy.rank - 1];
  const size_t bytes = run.extent * mover.size;
  if (run.to != 1 || run.from != 1 || bytes > 16 || (bytes & (bytes - 1)) || address % std::min<size_t>(bytes, 8))
    return mover;
  const ptrdiff_t n = ptrdiff_t(run.extent);
  for (size_t d = 0; d + 1 < copy.rank; ++d) {
    if (copy.dims[d].to % n || copy.dims[d].from % n) return mover;
  }
  take(copy, copy.rank - 1);
  for (size_t d = 0; d < copy.rank; ++d) {
    copy.dims[d].to /= n;
    copy.dims[d].from /= n;
  }
  return byte_mover(bytes);
}

/// Dimensions in the order of the destination, if that makes the innermost one contiguous there: then rows are written
/// as such, or transposed.
StridedCopy in_order(const StridedCopy& copy) {
  const auto contiguous = [](const Dim& d) { return d.to == 1; };
  const Dim* const end = copy.dims.data() + copy.rank;
  if (copy.rank < 2 || contiguous(end[-1]) || std::none_of(copy.dims.data(), end, contiguous)) return copy;
  StridedCopy sorted = copy;
  for (size_t d = 1; d < copy.rank; ++d) {
    for (size_t i = d; i > 0 && sorted.dims[i - 1].to < sorted.dims[i].to; --i)
      std::swap(sorted.dims[i - 1], sorted.dims[i]);
  }
  StridedCopy merged;
  for (size_t d = 0; d < copy.rank; ++d) merged.append(sorted.dims[d].extent, sorted.dims[d].to, sorted.dims[d].from);
  return merged;
}

/// Rows of so few bytes that a call of memcpy() would take as long as copying one.
struct ShortRows {
  std::byte* to;
  const std::byte* from;
  ptrdiff_t to_step, from_step;
  size_t count, bytes;

  template <typename F>
  void each(const F& copy) {
    for (; count > 0; --count, to += to_step, from += from_step) copy(to, from);
  }
  /// Copies kStep bytes at a time, some of the last ones twice.
  template <size_t kStep>
  void overlapping() {
    const size_t last = bytes - kStep;
    if (bytes <= 2 * kStep) {
      return each([last](std::byte* y, const std::byte* x) {
        std::array<std::byte, kStep> head, tail;
        std::memcpy(&head, x, kStep), std::memcpy(&tail, x + last, kStep);
        std::memcpy(y, &head, kStep), std::memcpy(y + last, &tail, kStep);
      });
    }
    each([last](std::byte* y, const std::byte* x) {
      for (size_t i = 0; i < last; i += kStep) std::memcpy(y + i, x + i, kStep);
      std::memcpy(y + last, x + last, kStep);
    });
  }
  void copy() {
    if (bytes >= 16) return overlapping<16>();
    if (bytes >= 8) return overlapping<8>();
    if (bytes >= 4) return overlapping<4>();
    if (bytes >= 2) return overlapping<2>();
    overlapping<1>();
  }
};

/// Copies contiguous runs of few bytes, many rows of them at a time.
void copy_short_runs(const Mover& m, StridedCopy outer, size_t run, void* to, const void* from, const Parallel& par) {
  const Dim rows = outer.rank > 0 ? take(outer, outer.rank - 1) : Dim{1, 0, 0};
  const size_t most = std::max<size_t>(kChunk / run, 1), together = std::min(most, rows.extent);
  const auto size = ptrdiff_t(m.size);
  for_pieces(outer, ceil_div(rows.extent, together), together * run, par, [&](ptrdiff_t t, ptrdiff_t f, size_t piece) {
    const size_t first = piece * together;
    ShortRows{static_cast<std::byte*>(m.at(to, t + ptrdiff_t(first) * rows.to)),
              static_cast<const std::byte*>(m.at(from, f + ptrdiff_t(first) * rows.from)),
              rows.to * size,
              rows.from * size,
              std::min(together, rows.extent - first),
              run * m.size}
        .copy();
  });
}

/// Copies along the innermost dimension, divided into pieces of at most kChunk elements.
void copy_runs(const Mover& m, StridedCopy outer, void* to, const void* from, const Parallel& par) {
  constexpr size_t kShortBytes = 256;
  const Dim run = take(outer, outer.rank - 1);
  const size_t pieces = ceil_div(run.extent, kChunk);
  const bool contiguous = run.to == 1 && run.from == 1;
  if (contiguous && !m.may_throw && run.extent * m.size <= kShortBytes)
    return copy_short_runs(m, outer, run.extent, to, from, par);
  for_pieces(outer, pieces, std::min(run.extent, kChunk), par, [&](ptrdiff_t t, ptrdiff_t f, size_t piece) {
    const ptrdiff_t first = ptrdiff_t(piece * kChunk);
    const size_t n = std::min(kChunk, run.extent - size_t(first));
    void* const y = m.at(to, t + first * run.to);
    const void* const x = m.at(from, f + first * run.from);
    contiguous ? m.copy(y, x, n) : m.strided(y, run.to, x, run.from, n);
  });
}

/// The innermost dimension is contiguous and the next one repeats it: doubles what has been copied.
void copy_repeated(const Mover& m, StridedCopy outer, void* to, const void* from, const Parallel& par) {
  const size_t run = take(outer, outer.rank - 1).extent, times = take(outer, outer.rank - 1).extent;
  const size_t most = kChunk / run, pieces = ceil_div(times, most);
  for_pieces(outer, pieces, std::min(times, most) * run, par, [&](ptrdiff_t t, ptrdiff_t f, size_t piece) {
    const size_t n = std::min(most, times - piece * most);
    void* const y = m.at(to, t + ptrdiff_t(piece * most * run));
    m.copy(y, m.at(from, f), run);
    for (size_t done = 1; done < n; done += std::min(done, n - done))
      m.copy(m.at(y, ptrdiff_t(done * run)), y, std::min(done, n - done) * run);
  });
}

/// The innermost dimension is contiguous in the destination, dimension j in the source.
void copy_transposed(const Mover& m, StridedCopy outer, size_t j, void* to, const void* from, const Parallel& par) {
  constexpr size_t kRows = 64, kSide = 16;  // whole tiles of transpose_fn
  const Dim column = take(outer, outer.rank - 1), row = take(outer, j);
  const TransposeFn transpose = transpose_fn(m.size);
  const size_t rows = std::min(row.extent, kRows), columns = std::min(round_up(kChunk / rows, kSide), column.extent);
  const size_t across = ceil_div(column.extent, columns);
  for_pieces(outer, ceil_div(row.extent, rows) * across, rows * columns, par,
             [&](ptrdiff_t t, ptrdiff_t f, size_t piece) {
               const size_t r = piece / across * rows, c = piece % across * columns;
               transpose({m.at(to, t + ptrdiff_t(r) * row.to + ptrdiff_t(c)), row.to,
                          m.at(from, f + ptrdiff_t(r) + ptrdiff_t(c) * column.from), column.from,
                          std::min(rows, row.extent - r), std::min(columns, column.extent - c)});
             });
}

}  // namespace

bool StridedCopy::append(size_t extent, ptrdiff_t to_stride, ptrdiff_t from_stride) noexcept {
  count *= extent;
  if (extent == 1) return true;
  if (rank > 0) {
    Dim& last = dims[rank - 1];
    if (last.to == ptrdiff_t(extent) * to_stride && last.from == ptrdiff_t(extent) * from_stride) {
      last = {last.extent * extent, to_stride, from_stride};
      return true;
    }
  }
  if (rank == kMaxRank) return false;
  dims[rank++] = {extent, to_stride, from_stride};
  return true;
}

std::optional<StridedCopy> StridedCopy::transpose(std::span<const int64_t> shape,
                                                  std::span<const int64_t> perm) noexcept {
  StridedCopy copy;
  bool ok = true;
  ptrdiff_t to = 1;
  for (const int64_t e : shape) to *= e;
  for (const int64_t p : perm) {
    const int64_t extent = shape[size_t(p)];
    to = extent ? to / extent : 0;
    ok = ok && copy.append(size_t(extent), to, inner_elements(shape, size_t(p)));
  }
  return made(copy, ok);
}

std::optional<StridedCopy> StridedCopy::slice(std::span<const int64_t> shape, std::span<const int64_t> starts,
                                              std::span<const int64_t> steps, std::span<const int64_t> out) noexcept {
  StridedCopy copy;
  bool ok = true;
  for (size_t d = 0; d < shape.size(); ++d) {
    const ptrdiff_t from = inner_elements(shape, d);
    copy.from_offset += starts[d] * from;
    ok = ok && copy.append(size_t(out[d]), inner_elements(out, d), steps[d] * from);
  }
  return made(copy, ok);
}

std::optional<StridedCopy> StridedCopy::expand(std::span<const int64_t> shape, std::span<const int64_t> out) noexcept {
  StridedCopy copy;
  bool ok = true;
  const size_t missing = out.size() - shape.size();
  for (size_t d = 0; d < out.size(); ++d) {
    const bool repeated = d < missing || (shape[d - missing] == 1 && out[d] != 1);
    ok = ok && copy.append(size_t(out[d]), inner_elements(out, d), repeated ? 0 : inner_elements(shape, d - missing));
  }
  return made(copy, ok);
}

std::optional<StridedCopy> StridedCopy::tile(std::span<const int64_t> shape,
                                             std::span<const int64_t> repeats) noexcept {
  StridedCopy copy;
  bool ok = true;
  ptrdiff_t to = 1;
  for (size_t d = 0; d < shape.size(); ++d) to *= shape[d] * repeats[d];
  for (size_t d = 0; d < shape.size(); ++d) {
    if (to == 0) return StridedCopy{.count = 0};
    const ptrdiff_t outer = to / repeats[d], inner = outer / shape[d];
    ok = ok && copy.append(size_t(repeats[d]), outer, 0) &&
         copy.append(size_t(shape[d]), inner, inner_elements(shape, d));
    to = inner;
  }
  return made(copy, ok);
}

void strided_copy(const Mover& mover, const StridedCopy& copy, void* to, const void* from, const Parallel& par) {
  if (copy.count == 0) return;
  StridedCopy plan = in_order(copy);
  from = mover.at(from, copy.from_offset);
  const Mover& m = widen(mover, plan, reinterpret_cast<uintptr_t>(to) | reinterpret_cast<uintptr_t>(from));
  if (plan.rank == 0) return m.copy(to, from, 1);
  const Dim& last = plan.dims[plan.rank - 1];
  constexpr size_t kLongFill = 16, kShortRun = kChunk / 2;
  const bool fills = last.from == 0 && last.extent >= kLongFill;
  if (last.to == 1 && last.from != 1 && !m.may_throw && !fills) {
    for (size_t j = 0; j + 1 < plan.rank; ++j) {
      if (plan.dims[j].from == 1) return copy_transposed(m, plan, j, to, from, par);
    }
  }
  if (last.to == 1 && last.from == 1 && last.extent <= kShortRun && plan.rank > 1) {
    const Dim& next = plan.dims[plan.rank - 2];
    if (next.from == 0 && next.to == ptrdiff_t(last.extent)) return copy_repeated(m, plan, to, from, m.allowed(par));
  }
  copy_runs(m, plan, to, from, m.allowed(par));
}

namespace {

/// Calls f(part, at, total) for each part. Parts lie side by side in rows of `total` elements, each from element `at`
/// on.
template <typename F>
void for_each_part(std::span<const AxisPart> parts, size_t inner, const F& f) {
  size_t total = 0, at = 0;
  for (const AxisPart& p : parts) total += p.extent * inner;
  for (const AxisPart& p : parts) {
    f(p, ptrdiff_t(at), ptrdiff_t(total));
    at += p.extent * inner;
  }
}

}  // namespace

void concat(const Mover& mover, std::span<const AxisPart> parts, size_t outer, size_t inner, void* y,
            const Parallel& par) {
  for_each_part(parts, inner, [&](const AxisPart& p, ptrdiff_t at, ptrdiff_t total) {
    const size_t run = p.extent * inner;
    StridedCopy copy;
    copy.append(outer, total, ptrdiff_t(run));
    copy.append(run, 1, 1);
    strided_copy(mover, copy, mover.at(y, at), p.data, par);
  });
}

void split(const Mover& mover, const void* x, size_t outer, size_t inner, std::span<const AxisPart> parts,
           const Parallel& par) {
  for_each_part(parts, inner, [&](const AxisPart& p, ptrdiff_t at, ptrdiff_t total) {
    const size_t run = p.extent * inner;
    StridedCopy copy;
    copy.append(outer, ptrdiff_t(run), total);
    copy.append(run, 1, 1);
    strided_copy(mover, copy, p.data, mover.at(x, at), par);
  });
}

}  // namespace retort::kernels
