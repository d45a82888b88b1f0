#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/gemm/strassen.cc"
#include <hwy/foreach_target.h>  // must come before highway.h
#include <hwy/highway.h>

#include <algorithm>

#include "kernels/dispatch.h"
#include "kernels/gemm/gemm_plan.h"
#include "kernels/gemm/panel.h"
#include "kernels/gemm/stored-inl.h"
#include "kernels/gemm/strassen.h"
#include "kernels/simd_math.h"

HWY_BEFORE_NAMESPACE();
namespace retort::kernels::HWY_NAMESPACE {

// block.cc
void run_panel(const gemm_detail::PanelTask& task) noexcept;
void gemm_part(const GemmArgs& g, const gemm_detail::Part& part) noexcept;

namespace {

using gemm_detail::bytes_of;
using gemm_detail::kProducts;
using gemm_detail::kSums;
using gemm_detail::PanelTask;
using gemm_detail::StrassenPart;
using gemm_detail::StrassenPlan;

using BitsTag = hn::RebindToSigned<FloatTag>;
using Bits = hn::Vec<BitsTag>;
/// The bits of a positive float, as an integer, grow with it; those of infinity and NaN are larger than all others.
HWY_INLINE Bits size_of(Float x) { return hn::And(hn::BitCast(BitsTag(), x), hn::Set(BitsTag(), 0x7fffffff)); }
HWY_INLINE Bits larger_of(Bits most, Float x, Float y) { return hn::Max(most, hn::Max(size_of(x), size_of(y))); }

bool none_above(Bits v, int32_t limit) { return hn::AllFalse(BitsTag(), hn::Gt(v, hn::Set(BitsTag(), limit))); }

/// Limits for sums: sizes up to 2^50, so that no sum overflows, and at most a factor 2^4 apart. The error of results is
/// then at most that of Winograd's convolutions, and mostly ten times smaller.
constexpr int32_t kLargest = (127 + 50) << 23, kMostApart = 4 << 23;
/// The same limit within one column, where weights may have outliers.
constexpr int32_t kMostUneven = 8 << 23;

/// The factors of a product: a sum of quarters of A, or a quarter as it is in memory (kSums + 0: 11, kSums + 1: 22),
/// and one or two quarters of B (11, 12, 21, 22).
struct Factors {
  size_t a, b, other_b;
  bool subtracts;
};
constexpr size_t k11 = kSums, k22 = kSums + 1, kNone = 4;
constexpr Factors kFactors[kProducts] = {{0, 0, 3, false},  {1, 0, kNone, false}, {k11, 1, 3, true},
                                         {k22, 2, 0, true}, {2, 3, kNone, false}, {3, 0, 1, false},
                                         {4, 2, 3, false}};

/// A block of k of a pair of panels: the quarters 11, 12, 21 and 22 of B as they are stored.
struct Quarters {
  const char* at[4];
};
Quarters quarters(const GemmArgs& g, const StrassenPlan& plan, size_t n, size_t k0) {
  const size_t step = kWidth * bytes_of(g.packed_b.type);
  const char* first = static_cast<const char*>(g.packed_b.data) + n * g.k * bytes_of(g.packed_b.type) + k0 * step;
  const char* second = first + g.k * step;
  return {{first, second, first + plan.half * step, second + plan.half * step}};
}

/// The largest elements of the columns of a panel: over all k steps, and over that part of the steps where they are
/// smallest.
struct ColumnSizes {
  Bits most[2], least[2];
};

template <class Stored>
ColumnSizes sizes_of_columns(const char* panel, size_t k) {
  constexpr size_t kParts = 16;
  const auto* b = reinterpret_cast<const typename Stored::Element*>(panel);
  const Bits zero = hn::Zero(BitsTag()), infinity = hn::Set(BitsTag(), 0x7f800000);
  ColumnSizes sizes{{zero, zero}, {infinity, infinity}};
  for (size_t part = 0; part < kParts; ++part) {
    Bits most[2] = {zero, zero};
    for (size_t i = part * k / kParts; i < (part + 1) * k / kParts; ++i) {
      Float x[2];
      Stored::template load<2>(b + i * kWidth, x);
      for (size_t v = 0; v < 2; ++v) most[v] = hn::Max(most[v], size_of(x[v]));
    }
    for (size_t v = 0; v < 2; ++v) {
      sizes.most[v] = hn::Max(sizes.most[v], most[v]);
      sizes.least[v] = hn::Min(sizes.least[v], most[v]);
    }
  }
  return sizes;
}

/// Whether the paired columns of two panels have similar sizes, and none is (nearly) zero over a long range of k.
/// Otherwise results of filters of a spectrum, or of the identity, would be rounded to the size of elements of A that
/// do not contribute to them.
template <class Stored>
bool are_alike(const char* first, const char* second, size_t k) {
  const ColumnSizes a = sizes_of_columns<Stored>(first, k), b = sizes_of_columns<Stored>(second, k);
  bool alike = true;
  for (size_t v = 0; v < 2; ++v) {
    const auto large = hn::Max(a.most[v], b.most[v]), small = hn::Min(a.most[v], b.most[v]);
    alike = alike && none_above(large, kLargest) && none_above(hn::Sub(large, small), kMostApart) &&
            none_above(hn::Sub(a.most[v], a.least[v]), kMostUneven) &&
            none_above(hn::Sub(b.most[v], b.least[v]), kMostUneven);
  }
  return alike;
}

/// The place of the results of a pair of panels: rows i and i + rows, columns n and n + kWidth.
struct PairResult {
  const float* products;  // [rows][kWidth] each
  size_t apart;           // floats from one product to the next
  size_t rows, bottom_rows;
  const GemmArgs& g;
  size_t m0, n;

  template <class Op>
  HWY_INLINE void finish(const Op& op, Float x, size_t row, size_t column) const {
    const FloatTag d;
    const Epilogue& e = g.epilogue;
    if (e.bias) x = hn::Add(x, hn::LoadU(d, e.bias + column));
    if (e.residual) x = hn::Add(x, hn::LoadU(d, e.residual + row * e.residual_stride + column));
    hn::StoreU(op(d, x), d, g.c + row * g.c_stride + column);
  }

  template <class Op>
  void store(const Op& op) const {
    for (size_t r = 0; r < rows; ++r) {
      for (size_t i = 0; i < kWidth; i += kLanes) {
        const float* at = products + r * kWidth + i;
        Float p[kProducts];
        for (size_t j = 0; j < kProducts; ++j) p[j] = hn::Load(FloatTag(), at + j * apart);
        const size_t top = m0 + r, bottom = top + rows, left = n + i, right = left + kWidth;
        finish(op, hn::Add(hn::Add(p[0], p[3]), hn::Sub(p[6], p[4])), top, left);
        finish(op, hn::Add(p[2], p[4]), top, right);
        if (r == bottom_rows) continue;
        finish(op, hn::Add(p[1], p[3]), bottom, left);
        finish(op, hn::Add(hn::Sub(p[0], p[1]), hn::Add(p[2], p[5])), bottom, right);
      }
    }
  }
};

/// Multiplies one pair of panels by the rows of a part.
class Pair {
 public:
  Pair(const GemmArgs& g, const StrassenPlan& plan, const StrassenPart& part, size_t n)
      : g_(g), plan_(plan), part_(part), n_(n), top_((part.m1 - part.m0 + 1) / 2), bottom_((part.m1 - part.m0) / 2) {}

  void run() const {
    for (size_t k0 = 0; k0 < plan_.half; k0 += plan_.k_block) {
      const size_t k = std::min(plan_.k_block, plan_.half - k0);
      run_products(quarters(g_, plan_, n_, k0), k0, k);
    }
    const PairResult result{products(), plan_.product_floats, top_, bottom_, g_, part_.m0, n_};
    VisitActivation(g_.epilogue.activation, [&](auto op) HWY_ATTR { result.store(op); });
  }

 private:
  float* sum() const { return part_.scratch; }
  float* products() const { return part_.scratch + plan_.b_floats; }

  const float* a_factor(size_t which, size_t k0) const {
    if (which == k11) return g_.a + part_.m0 * g_.a_stride + k0;
    if (which == k22) return g_.a + (part_.m0 + top_) * g_.a_stride + plan_.half + k0;
    return part_.sums + which * plan_.sum_floats + k0;
  }

  /// The next block of quarters, or null pointers.
  Quarters next(size_t k1) const {
    if (k1 < plan_.half) return quarters(g_, plan_, n_, k1);
    if (n_ + 4 * kWidth <= part_.n1) return quarters(g_, plan_, n_ + 2 * kWidth, 0);
    return {{static_cast<const char*>(g_.next_b), nullptr, nullptr, nullptr}};
  }

  void run_products(const Quarters& q, size_t k0, size_t k) const {
    const Quarters ahead = next(k0 + k);
    for (size_t i = 0; i < kProducts; ++i) {
      const Factors f = kFactors[i];
      PanelTask task;
      task.rows = f.a == k22 ? bottom_ : top_;
      task.columns = kWidth;
      task.tile.a = a_factor(f.a, k0);
      task.tile.a_stride = f.a < kSums ? plan_.sum_stride : g_.a_stride;
      task.tile.k = k;
      task.tile.b = q.at[f.b];
      task.tile.other_b = f.other_b == kNone ? nullptr : q.at[f.other_b];
      task.tile.subtracts = f.subtracts;
      task.tile.sum = sum();
      task.stored = task.next_stored = g_.packed_b.type;
      task.next_b = i < 4 ? ahead.at[i] : nullptr;
      task.tile.c = products() + i * plan_.product_floats;
      task.tile.c_stride = kWidth;
      task.tile.addend = k0 == 0 ? nullptr : task.tile.c;
      task.tile.addend_stride = kWidth;
      if (k0 + k == plan_.half && i >= kProducts - 2) {  // the halves of the rows of C, which are written next
        task.next_c = g_.c + (part_.m0 + (i - (kProducts - 2)) * top_) * g_.c_stride + n_;
        task.next_c_stride = g_.c_stride;
      }
      if (task.rows < top_) std::fill_n(task.tile.c + task.rows * kWidth, kWidth, 0.0f);
      if (task.rows > 0) run_panel(task);
    }
  }

  const GemmArgs& g_;
  const StrassenPlan& plan_;
  const StrassenPart& part_;
  size_t n_, top_, bottom_;
};

void plain(const GemmArgs& g, size_t m0, size_t m1, size_t n0, size_t n1) {
  gemm_part(g, {.m0 = m0, .m1 = m1, .n0 = n0, .n1 = n1, .k_block = gemm_detail::k_block_of(m1 - m0, g.k)});
}

}  // namespace

bool strassen_sum_rows(const float* top, const float* bottom, size_t half, float* sums, size_t apart) noexcept {
  const FloatTag d;
  Bits of_top = hn::Zero(BitsTag()), of_bottom = of_top;
  const auto add = [&](Float a11, Float a12, Float a21, Float a22, size_t i) HWY_ATTR {
    hn::Store(hn::Add(a11, a22), d, sums + i);
    hn::Store(hn::Add(a21, a22), d, sums + apart + i);
    hn::Store(hn::Add(a11, a12), d, sums + 2 * apart + i);
    hn::Store(hn::Sub(a21, a11), d, sums + 3 * apart + i);
    hn::Store(hn::Sub(a12, a22), d, sums + 4 * apart + i);
    of_top = larger_of(of_top, a11, a12);
    of_bottom = larger_of(of_bottom, a21, a22);
  };
  const auto load = [&](const float* p, size_t i) HWY_ATTR {
    if (i + kLanes <= half) return hn::LoadU(d, p + i);
    HWY_ALIGN float rest[kLanes] = {};
    std::copy(p + i, p + half, rest);
    return hn::Load(d, rest);
  };
  for (size_t i = 0; i < half; i += kLanes) {
    const auto zero = hn::Zero(d);
    add(load(top, i), load(top + half, i), bottom ? load(bottom, i) : zero, bottom ? load(bottom + half, i) : zero, i);
  }
  if (!bottom) of_bottom = of_top;
  const auto most = [](Bits v) HWY_ATTR { return hn::GetLane(hn::MaxOfLanes(BitsTag(), v)); };
  const int32_t a = most(of_top), b = most(of_bottom);
  return std::max(a, b) <= kLargest && std::max(a, b) - std::min(a, b) <= kMostApart;
}

bool strassen_fit(const PackedB& b, size_t k) noexcept {
  const char *first = static_cast<const char*>(b.data), *second = first + k * kWidth * bytes_of(b.type);
  if (b.type == PackedType::bf16) return are_alike<StoredBf16>(first, second, k);
  if constexpr (kHasF16) {
    if (b.type == PackedType::f16) return are_alike<StoredF16>(first, second, k);
  }
  return are_alike<StoredF32>(first, second, k);
}

void strassen_part(const GemmArgs& g, const StrassenPlan& plan, const StrassenPart& part) noexcept {
  if (part.plain) return plain(g, part.m0, part.m1, part.n0, part.n1);
  size_t n = part.n0;
  for (; n + 2 * kWidth <= part.n1 && !(g.run && g.run->cancelled()); n += 2 * kWidth) {
    if (g.packed_b.fit[n / (2 * kWidth)]) {
      Pair(g, plan, part, n).run();
    } else {
      plain(g, part.m0, part.m1, n, n + 2 * kWidth);
    }
  }
  plain(g, part.m0, part.m1, n, part.n1);
}

}  // namespace retort::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace retort::kernels::gemm_detail {

StrassenFunctions select_strassen() {
  return {RETORT_SELECT(strassen_sum_rows), RETORT_SELECT(strassen_fit), RETORT_SELECT(strassen_part)};
}

}  // namespace retort::kernels::gemm_detail
#endif
