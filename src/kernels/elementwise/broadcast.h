// Numpy broadcasting of N inputs to one contiguous output, reduced to runs: the output is walked in order in pieces
// along which each input either advances by one element or is repeated. Only index arithmetic, without allocation.
#pragma once
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "base/function_ref.h"
#include "base/parallel.h"

namespace retort::kernels {

/// Immutable; may be shared between threads.
template <size_t N>
struct BroadcastPlan {
  static constexpr size_t kMaxRank = 16;

  size_t rank = 1;                                        ///< of the merged dimensions, at least 1
  size_t count = 1;                                       ///< number of elements of the output
  std::array<size_t, kMaxRank> extents{1};                ///< outermost first
  std::array<std::array<size_t, kMaxRank>, N> strides{};  ///< in elements; 0: the input is repeated

  /// Shapes must be broadcastable (checked by the caller). Dimensions of extent 1 are removed, and neighbours are
  /// merged unless an input is repeated along only one of them. nullopt if more than kMaxRank remain (more than 2^16
  /// elements, and alternating).
  static std::optional<BroadcastPlan> make(const std::array<std::span<const int64_t>, N>& shapes) noexcept;

  /// 1 or 0: the step of input i along a run.
  size_t step(size_t i) const { return strides[i][rank - 1]; }
};

/// How the operands of short runs become long ones: a block of outputs is computed at once from operands that are laid
/// out as the output is. A call of a kernel for 3 elements costs more than copying them.
class ShortRuns {
 public:
  static constexpr size_t kBlock = 256;  ///< elements of output at most

  explicit ShortRuns(const BroadcastPlan<2>& plan) noexcept;
  /// Whether the runs are so short that blocks cost less.
  bool worth() const { return worth_; }
  /// Calls f(a, b, out, n) for blocks that cover the output: n elements from `out` on, for which operands are at a and b.
  /// An element has `size` bytes: 1, 2, 4 or 8.
  void run(const void* a, const void* b, size_t size, FunctionRef<void(const void*, const void*, size_t, size_t)> f,
           const Parallel& par) const noexcept;

 private:
  enum class Layout : uint8_t { dense, periodic, other };
  void copy(size_t i, const void* from, size_t size, size_t begin, size_t n, void* to) const noexcept;

  const BroadcastPlan<2>& plan_;
  std::array<Layout, 2> layout_{};
  size_t block_ = kBlock;
  bool worth_ = false;
};

extern template struct BroadcastPlan<2>;
extern template struct BroadcastPlan<3>;

/// Calls f(out, offsets, skip, n) for consecutive blocks that cover the output elements [begin, end). A block is all
/// elements with the same index in the first `outer` dimensions, for which input i starts at offsets[i]
/// (std::array<size_t, N>): n elements from `out` on, after the first `skip` ones of the block.
template <size_t N, typename F>
void for_blocks(const BroadcastPlan<N>& plan, size_t outer, size_t begin, size_t end, const F& f) {
  if (begin >= end) return;
  size_t size = 1;
  for (size_t d = outer; d < plan.rank; ++d) size *= plan.extents[d];
  std::array<size_t, BroadcastPlan<N>::kMaxRank> index{};
  std::array<size_t, N> offsets{};
  size_t rest = begin / size, skip = begin % size;
  for (size_t d = outer; d-- > 0;) {
    index[d] = rest % plan.extents[d];
    rest /= plan.extents[d];
    for (size_t i = 0; i < N; ++i) offsets[i] += index[d] * plan.strides[i][d];
  }
  for (size_t out = begin; out < end; skip = 0) {
    const size_t n = std::min(end - out, size - skip);
    f(out, offsets, skip, n);
    out += n;
    for (size_t d = outer; d-- > 0;) {
      for (size_t i = 0; i < N; ++i) offsets[i] += plan.strides[i][d];
      if (++index[d] < plan.extents[d]) break;
      for (size_t i = 0; i < N; ++i) offsets[i] -= plan.extents[d] * plan.strides[i][d];
      index[d] = 0;
    }
  }
}

/// Calls f(out, offsets, n) for consecutive runs that cover the output elements [begin, end): n elements from `out` on,
/// for which input i starts at offsets[i] (std::array<size_t, N>) and advances by plan.step(i).
template <size_t N, typename F>
void for_runs(const BroadcastPlan<N>& plan, size_t begin, size_t end, const F& f) {
  for_blocks(plan, plan.rank - 1, begin, end, [&](size_t out, std::array<size_t, N> offsets, size_t skip, size_t n) {
    for (size_t i = 0; i < N; ++i) offsets[i] += skip * plan.step(i);
    f(out, offsets, n);
  });
}

/// Neighbouring runs of a broadcast of two inputs: `rows` of n elements each, from `out` on in the output. Input i starts
/// at starts[i] and goes strides[i] elements further with each row.
struct PairRows {
  size_t out, rows, n;
  std::array<size_t, 2> starts, strides;
};
/// Calls f for rows that cover the output, from several threads. The walk is one piece of code for all types, which costs
/// little because f has a loop of its own. The plan has a rank of at least 2.
void for_pair_rows(const BroadcastPlan<2>& plan, FunctionRef<void(const PairRows&)> f, const Parallel& par) noexcept;

}  // namespace retort::kernels
