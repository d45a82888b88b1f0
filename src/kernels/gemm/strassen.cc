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

/// Steps of k of each quarter by which the columns of B are compared.
constexpr size_t kCompared = 8;

using BitsTag = hn::RebindToSigned<FloatTag>;
using Bits = hn::Vec<BitsTag>;
/// Bits of a positive float grow as it does, those of infinity and NaN are above all others.
HWY_INLINE Bits size_of(Float x) { return hn::And(hn::BitCast(BitsTag(), x), hn::Set(BitsTag(), 0x7fffffff)); }
HWY_INLINE Bits larger_of(Bits most, Float x, Float y) { return hn::Max(most, hn::Max(size_of(x), size_of(y))); }

bool none_above(Bits v, int32_t limit) { return hn::AllFalse(BitsTag(), hn::Gt(v, hn::Set(BitsTag(), limit))); }
bool none_below(Bits v, int32_t limit) { return hn::AllFalse(BitsTag(), hn::Lt(v, hn::Set(BitsTag(), limit))); }

/// The bits of a power of two.
constexpr int32_t two_to(int32_t exponent) { return (127 + exponent) << 23; }
/// Sizes that fit for sums: up to 2^60, so that none overflows, and at most 2^4 apart. Results are then as far from the
/// right ones as those of Winograd's convolutions at most, and mostly ten times nearer.
constexpr int32_t kLargest = two_to(60), kMostApart = 4 << 23;
/// Columns, of which a few steps are compared, have more: one that is zero there may hold a band (filters of a spectrum,
/// the identity), and its results would be rounded to the size of elements of A that it does not multiply.
constexpr int32_t kLeast = two_to(-60);
/// Of products: a sum of four has a finite number.
constexpr int32_t kLargestProduct = two_to(125);

/// A product multiplies a sum of A, or a quarter of it as it lies in memory (kSums + 0: 11, kSums + 1: 22), by one or two
/// quarters of B (11, 12, 21, 22).
struct Factors {
  size_t a, b, other_b;
  bool subtracts;
};
constexpr size_t k11 = kSums, k22 = kSums + 1, kNone = 4;
constexpr Factors kFactors[kProducts] = {{0, 0, 3, false},  {1, 0, kNone, false}, {k11, 1, 3, true},
                                         {k22, 2, 0, true}, {2, 3, kNone, false}, {3, 0, 1, false},
                                         {4, 2, 3, false}};

/// A block of k of a pair of panels: the quarters of B as they are stored, 11, 12, 21 and 22.
struct Quarters {
  const char* at[4];
};
Quarters quarters(const GemmArgs& g, const StrassenPlan& plan, size_t n, size_t k0) {
  const size_t step = kWidth * bytes_of(g.packed_b.type);
  const char* first = static_cast<const char*>(g.packed_b.data) + n * g.k * bytes_of(g.packed_b.type) + k0 * step;
  const char* second = first + g.k * step;
  return {{first, second, first + plan.half * step, second + plan.half * step}};
}

/// Whether paired columns are of like size, by the first k steps of the quarters. Quick, not certain.
template <class Stored>
bool are_alike(const Quarters& q, size_t k) {
  Bits of_column[2][2];
  for (size_t i = 0; i < 4; ++i) of_column[i / 2][i % 2] = hn::Zero(BitsTag());
  for (size_t i = 0; i < k; ++i) {
    for (size_t j = 0; j < 4; ++j) {
      Float x[2];
      Stored::template load<2>(reinterpret_cast<const typename Stored::Element*>(q.at[j]) + i * kWidth, x);
      for (size_t v = 0; v < 2; ++v) of_column[j % 2][v] = hn::Max(of_column[j % 2][v], size_of(x[v]));
    }
  }
  bool alike = true;
  for (size_t v = 0; v < 2; ++v) {
    const auto large = hn::Max(of_column[0][v], of_column[1][v]), small = hn::Min(of_column[0][v], of_column[1][v]);
    alike = alike && none_below(small, kLeast) && none_above(large, kLargest) &&
            none_above(hn::Sub(large, small), kMostApart);
  }
  return alike;
}

bool are_alike(PackedType type, const Quarters& q, size_t k) {
  if (type == PackedType::bf16) return are_alike<StoredBf16>(q, k);
  if constexpr (kHasF16) {
    if (type == PackedType::f16) return are_alike<StoredF16>(q, k);
  }
  return are_alike<StoredF32>(q, k);
}

bool can_be_summed(const float* values, size_t count) {
  Bits most = hn::Zero(BitsTag());
  for (size_t i = 0; i < count; i += kLanes) most = hn::Max(most, size_of(hn::Load(FloatTag(), values + i)));
  return none_above(most, kLargestProduct);
}

/// Where the results of a pair of panels go: rows i and i + rows, columns n and n + kWidth.
struct PairResult {
  const float* products;  // [rows][kWidth] each
  size_t apart;           // floats from one to the next
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

/// One pair of panels times the rows of a part.
class Pair {
 public:
  Pair(const GemmArgs& g, const StrassenPlan& plan, const StrassenPart& part, size_t n)
      : g_(g), plan_(plan), part_(part), n_(n), top_((part.m1 - part.m0 + 1) / 2), bottom_((part.m1 - part.m0) / 2) {}

  /// False, with C as it was, if the columns are not fit for sums.
  bool run() const {
    if (!are_alike(g_.packed_b.type, quarters(g_, plan_, n_, 0), std::min(kCompared, plan_.half))) return false;
    for (size_t k0 = 0; k0 < plan_.half; k0 += plan_.k_block) {
      const size_t k = std::min(plan_.k_block, plan_.half - k0);
      run_products(quarters(g_, plan_, n_, k0), k0, k);
    }
    for (size_t i = 0; i < kProducts; ++i) {
      if (!can_be_summed(products() + i * plan_.product_floats, top_ * kWidth)) return false;
    }
    const PairResult result{products(), plan_.product_floats, top_, bottom_, g_, part_.m0, n_};
    VisitActivation(g_.epilogue.activation, [&](auto op) HWY_ATTR { result.store(op); });
    return true;
  }

 private:
  float* sum() const { return part_.scratch; }
  float* products() const { return part_.scratch + plan_.b_floats; }

  const float* a_factor(size_t which, size_t k0) const {
    if (which == k11) return g_.a + part_.m0 * g_.a_stride + k0;
    if (which == k22) return g_.a + (part_.m0 + top_) * g_.a_stride + plan_.half + k0;
    return part_.sums + which * plan_.sum_floats + k0;
  }

  /// The block of quarters that follows, or null ones.
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

void strassen_part(const GemmArgs& g, const StrassenPlan& plan, const StrassenPart& part) noexcept {
  if (part.plain) return plain(g, part.m0, part.m1, part.n0, part.n1);
  size_t n = part.n0;
  for (; n + 2 * kWidth <= part.n1 && !(g.run && g.run->cancelled()); n += 2 * kWidth) {
    if (!Pair(g, plan, part, n).run()) plain(g, part.m0, part.m1, n, n + 2 * kWidth);
  }
  plain(g, part.m0, part.m1, n, part.n1);
}

}  // namespace retort::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace retort::kernels::gemm_detail {

StrassenFunctions select_strassen() { return {RETORT_SELECT(strassen_sum_rows), RETORT_SELECT(strassen_part)}; }

}  // namespace retort::kernels::gemm_detail
#endif
