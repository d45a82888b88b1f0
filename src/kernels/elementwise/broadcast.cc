#include "kernels/elementwise/broadcast.h"

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

}  // namespace retort::kernels
