#include "kernels/elementwise/broadcast.h"

#include <algorithm>

#include "kernels/elementwise/chunks.h"

namespace retort::kernels {
namespace {

/// Extent of a shape at dimension d of an output of the given rank: shapes are aligned at their ends.
int64_t aligned_extent(std::span<const int64_t> shape, size_t d, size_t rank) {
  return d + shape.size() < rank ? 1 : shape[d + shape.size() - rank];
}

}  // namespace

// Built from the innermost dimension outwards, then reversed. `run[i]` is the number of elements of input i in the
// dimensions so far.
template <size_t N>
std::optional<BroadcastPlan<N>> BroadcastPlan<N>::make(const std::array<std::span<const int64_t>, N>& shapes) noexcept {
  BroadcastPlan plan;
  const auto like_first = [&](const auto& s) { return std::ranges::equal(s, shapes[0]); };
  if (std::all_of(shapes.begin() + 1, shapes.end(), like_first)) {  // nothing is repeated
    for (const int64_t extent : shapes[0]) plan.count *= size_t(extent);
    plan.extents[0] = plan.count;
    for (auto& s : plan.strides) s[0] = 1;
    return plan;
  }
  plan.rank = 0;
  size_t rank = 0;
  for (const auto& s : shapes) rank = std::max(rank, s.size());
  std::array<size_t, N> run;
  run.fill(1);
  for (size_t d = rank; d-- > 0;) {
    int64_t extent = 1;
    for (const auto& s : shapes) {
      if (const int64_t e = aligned_extent(s, d, rank); e != 1) extent = e;
    }
    plan.count *= size_t(extent);
    if (extent == 1) continue;
    bool merge = plan.rank > 0;
    std::array<size_t, N> stride;
    for (size_t i = 0; i < N; ++i) {
      const bool full = aligned_extent(shapes[i], d, rank) != 1;
      stride[i] = full ? run[i] : 0;
      if (full) run[i] *= size_t(extent);
      merge = merge && full == (plan.strides[i][plan.rank - 1] != 0);
    }
    if (merge) {
      plan.extents[plan.rank - 1] *= size_t(extent);
      continue;
    }
    if (plan.rank == kMaxRank) return std::nullopt;
    plan.extents[plan.rank] = size_t(extent);
    for (size_t i = 0; i < N; ++i) plan.strides[i][plan.rank] = stride[i];
    ++plan.rank;
  }
  if (plan.rank == 0) {  // one element
    plan.rank = 1;
    for (auto& s : plan.strides) s[0] = 1;
  }
  std::reverse(plan.extents.begin(), plan.extents.begin() + ptrdiff_t(plan.rank));
  for (auto& s : plan.strides) std::reverse(s.begin(), s.begin() + ptrdiff_t(plan.rank));
  return plan;
}

template struct BroadcastPlan<2>;
template struct BroadcastPlan<3>;

namespace {

template <typename T>
void copy_run(const char* from, size_t i, size_t step, size_t n, char* to) {
  const T* x = reinterpret_cast<const T*>(from) + i;
#pragma GCC unroll 1
  for (size_t j = 0; j < n; ++j, x += step) reinterpret_cast<T*>(to)[j] = *x;
}

}  // namespace

ShortRuns::ShortRuns(const BroadcastPlan<2>& plan) noexcept : plan_(plan) {
  const size_t last = plan.rank - 1, run = plan.extents[last];
  for (size_t i = 0; i < 2; ++i) {
    bool dense = plan.step(i) == 1, periodic = dense;
    for (size_t d = last, size = 1; d-- > 0;) {
      size *= plan.extents[d + 1];
      dense = dense && plan.strides[i][d] == size;
      periodic = periodic && plan.strides[i][d] == 0;
    }
    layout_[i] = dense ? Layout::dense : periodic ? Layout::periodic : Layout::other;
  }
  // A run costs a kernel about 8 ns, and copying it for one input 4 ns and 0.5 ns for each element.
  constexpr std::array<size_t, 3> kLongest{64, 4, 0};
  const auto copied = std::count(layout_.begin(), layout_.end(), Layout::other);
  worth_ = run > 0 && run <= kLongest[size_t(copied)] && plan.count > 4 * run;
  if (worth_) block_ = kBlock - kBlock % run;
}

void ShortRuns::copy(size_t i, const void* from, size_t size, size_t begin, size_t n, void* to) const noexcept {
  auto* copy = &copy_run<uint64_t>;
  if (size == 1) copy = &copy_run<uint8_t>;
  if (size == 2) copy = &copy_run<uint16_t>;
  if (size == 4) copy = &copy_run<uint32_t>;
  for_runs(plan_, begin, begin + n, [&](size_t out, const std::array<size_t, 2>& at, size_t m) {
    copy(static_cast<const char*>(from), at[i], plan_.step(i), m, static_cast<char*>(to) + (out - begin) * size);
  });
}

void ShortRuns::run(const void* a, const void* b, size_t size,
                    FunctionRef<void(const void*, const void*, size_t, size_t)> f, const Parallel& par) const noexcept {
  const std::array inputs{static_cast<const char*>(a), static_cast<const char*>(b)};
  for_chunks(par, plan_.count, [&](size_t begin, size_t end) {
    alignas(64) std::array<std::array<char, kBlock * sizeof(uint64_t)>, 2> copies;
    for (size_t at = begin; at < end; at += block_) {
      const size_t n = std::min(end - at, block_);
      std::array<const char*, 2> from;
      for (size_t i = 0; i < 2; ++i) {
        const bool dense = layout_[i] == Layout::dense;
        from[i] = dense ? inputs[i] + at * size : copies[i].data();
        // A block is whole periods: the copy of the first one serves the others.
        if (!dense && (layout_[i] != Layout::periodic || at == begin))
          copy(i, inputs[i], size, at, n, copies[i].data());
      }
      f(from[0], from[1], at, n);
    }
  });
}

// Walks through planes, the blocks along the last two dimensions. A part of a plane is the end of a row, whole rows and
// the start of a row; each of them may be missing.
void for_pair_rows(const BroadcastPlan<2>& plan, FunctionRef<void(const PairRows&)> f, const Parallel& par) noexcept {
  const size_t last = plan.rank - 1, columns = plan.extents[last];
  const std::array strides{plan.strides[0][last - 1], plan.strides[1][last - 1]};
  const auto part = [&](size_t out, const std::array<size_t, 2>& at, size_t skip, size_t size) {
    size_t row = skip / columns, column = skip % columns;
    for (size_t rows = 0; size > 0; row += rows, column = 0) {
      const bool whole = column == 0 && size >= columns;
      rows = whole ? size / columns : 1;
      PairRows r{out, rows, whole ? columns : std::min(size, columns - column), at, strides};
      for (size_t i = 0; i < 2; ++i) r.starts[i] += row * strides[i] + column * plan.step(i);
      f(r);
      out += rows * r.n;
      size -= rows * r.n;
    }
  };
  for_chunks(par, plan.count, [&](size_t begin, size_t end) { for_blocks(plan, last - 1, begin, end, part); });
}

}  // namespace retort::kernels
