// Finishes sums of code products of a panel of columns. Included once per instruction level (see dispatch.h).
#if defined(RETORT_KERNELS_GEMM_CODES_COLUMNS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef RETORT_KERNELS_GEMM_CODES_COLUMNS_INL_H_
#undef RETORT_KERNELS_GEMM_CODES_COLUMNS_INL_H_
#else
#define RETORT_KERNELS_GEMM_CODES_COLUMNS_INL_H_
#endif

#include <algorithm>

#include "kernels/gemm/codes_store-inl.h"

HWY_BEFORE_NAMESPACE();
namespace retort::kernels::HWY_NAMESPACE {
namespace {

constexpr size_t kPanel = 2 * kSumLanes;  ///< columns

/// Zero points and sums of a panel.
struct Header {
  const int32_t* at;
  bool same_zero;
  int32_t turn;  ///< what dot() has subtracted from the codes of B
};

/// Final products of one row, a vector of columns. With the same zero point in all columns, `added` is all that a sum
/// lacks; otherwise it is the bias.
HWY_INLINE Sums product(const CodeRow& row, const Header& header, int32_t added, Sums sums, size_t at) {
  const SumTag d;
  Sums v = hn::Add(sums, hn::Set(d, added));
  if (!header.same_zero) {
    const Sums zero = hn::Sub(hn::Load(d, header.at + at), hn::Set(d, header.turn));
    v = hn::Sub(v, hn::Mul(zero, hn::Set(d, row.sum)));
  }
  if (row.zero == 0) return v;
  return hn::Sub(v, hn::Mul(hn::Load(d, header.at + kPanel + at), hn::Set(d, row.zero)));
}

/// What is known of a block of rows before their products.
struct RowBlock {
  static constexpr size_t kMost = 768;
  size_t first = 0;
  int32_t added[kMost];  ///< to the products of a row, see product()
  bool even = true;      ///< whether all rows have the same zero point and scale
  RowBlock(const GemmCodesArgs& g, size_t m0, size_t m1, const Header& header) : first(m0) {
    const uint32_t zero = header.same_zero ? uint32_t(header.at[0] - header.turn) : 0;
    for (size_t i = m0; i < m1; ++i) {
      const CodeRow& row = g.rows[i];
      added[i - m0] = int32_t(uint32_t(row.bias) - zero * uint32_t(row.sum));
      even &= row.zero == g.rows[m0].zero && row.scale == g.rows[m0].scale && row.scale != 0;  // zero has two forms
    }
  }
};

/// Finishes rows [row, row + rows) of the columns from n0 on.
void finish_rows(const GemmCodesArgs& g, size_t row, size_t rows, size_t n0, const Header& header,
                 const RowBlock& block, const PanelSums& sums) {
  const size_t columns = std::min(kPanel, g.n - n0);
  const hn::ScalableTag<float> df;
  for (size_t at = 0; at < columns; at += kSumLanes) {
    const size_t n = columns - at;
    const auto column_scale = of_columns(g.c.column_scale, n0 + at, n, 1),
               bias = of_columns(g.c.column_bias, n0 + at, n, 0);
    for (size_t r = 0; r < rows; ++r) {
      const CodeRow& info = g.rows[row + r];
      const auto scale = hn::Mul(column_scale, hn::Set(df, info.scale));
      const Sums v = product(info, header, block.added[row + r - block.first], sums.at(r * kPanel + at), at);
      store_result(g.c, v, scale, g.c.is_float ? bias : hn::Set(df, info.offset), n, (row + r) * g.c.stride + n0 + at);
    }
  }
}

/// The same for rows and results of the most usual form. Instructions are few: while products are still computed, a
/// processor keeps a few hundred later ones waiting, and only as many take no time of their own.
bool finishes_floats(const GemmCodesArgs& g, size_t n0, const RowBlock& block) {
  return g.c.is_float && g.same_zero && block.even && g.n - n0 >= kPanel;
}
template <bool kResidual>
void finish_floats(const GemmCodesArgs& g, size_t row, size_t rows, size_t n0, const Header& header,
                   const RowBlock& block, PanelSums sums) {
  constexpr bool kMayHaveExcess = HWY_ARCH_X86 && HWY_TARGET > HWY_AVX3;
  const SumTag d;
  const hn::ScalableTag<float> df;
  Sums lacking[2];
  ScaleVector scale[2], bias[2];
  for (size_t v = 0; v < 2; ++v) {
    const size_t at = v * kSumLanes;
    lacking[v] = hn::Mul(hn::Load(d, header.at + kPanel + at), hn::Set(d, g.rows[row].zero));
    scale[v] = hn::Mul(of_columns(g.c.column_scale, n0 + at, kSumLanes, 1), hn::Set(df, g.rows[row].scale));
    bias[v] = of_columns(g.c.column_bias, n0 + at, kSumLanes, 0);
  }
  const size_t stride = g.c.stride;
  float* y = static_cast<float*>(g.c.data) + row * stride + n0;
  const float* residual = kResidual ? g.c.residual + row * stride + n0 : nullptr;
  const int32_t *added = block.added + (row - block.first), *const end = added + rows;
  for (size_t at = 0; added < end; ++added, y += stride, at += kPanel) {
    const Sums of_row = hn::Set(d, *added);
    for (size_t v = 0; v < 2; ++v) {
      const size_t from = at + v * kSumLanes;
      const Sums products = kMayHaveExcess ? sums.at(from) : hn::Load(d, sums.sums + from);
      const Sums sum = hn::Sub(hn::Add(products, of_row), lacking[v]);
      auto x = hn::Add(hn::Mul(hn::ConvertTo(df, sum), scale[v]), bias[v]);
      if constexpr (kResidual) x = hn::Add(x, hn::LoadU(df, residual + v * kSumLanes));
      hn::StoreU(x, df, y + v * kSumLanes);
    }
    if constexpr (kResidual) residual += stride;
  }
}

/// Requests the memory of these results while their products are computed, if all results exceed the second-level cache:
/// 1024 x 768 take 0.98 of the time that they take without. Fewer results take up to 1.05.
HWY_INLINE void request_floats(const GemmCodesArgs& g, size_t row, size_t rows, size_t n0) {
  constexpr size_t kLargeBytes = 1 << 20;
  if (g.m * g.n * sizeof(float) <= kLargeBytes) return;
  const float* y = static_cast<const float*>(g.c.data) + row * g.c.stride + n0;
  for (const float* const end = y + rows * g.c.stride; y < end; y += g.c.stride) {
    __builtin_prefetch(y, 1, 3);
    __builtin_prefetch(y + kPanel - 1, 1, 3);
  }
}

}  // namespace
}  // namespace retort::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif  // per-target include guard
