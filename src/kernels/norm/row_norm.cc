#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/norm/row_norm.cc"
#include "kernels/norm/row_norm.h"

#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <algorithm>
#include <cmath>

#include "kernels/dispatch.h"
#include "kernels/elementwise/chunks.h"
#include "kernels/simd_math.h"

#ifndef RETORT_ROW_NORM_SHARED
#define RETORT_ROW_NORM_SHARED
namespace retort::kernels {
constexpr size_t kRowGroup = 4;  // rows that are normalised together
}
#endif

HWY_BEFORE_NAMESPACE();
namespace retort::kernels::HWY_NAMESPACE {
namespace {

using D = hn::ScalableTag<float>;
using V = hn::Vec<D>;

// A pass adds a vector of a row to a sum: whole(sum, row, i), or part(sum, row, i, n) for the n < Lanes elements at the
// end.

struct Plain {
  const float* s;
  size_t width;
  HWY_INLINE V load(size_t r, size_t i) const { return hn::LoadU(D(), s + r * width + i); }
  HWY_INLINE V load(size_t r, size_t i, size_t n) const { return LoadFirst(D(), s + r * width + i, n); }
  HWY_INLINE V whole(V sum, size_t r, size_t i) const { return hn::Add(sum, load(r, i)); }
  HWY_INLINE V part(V sum, size_t r, size_t i, size_t n) const { return hn::Add(sum, load(r, i, n)); }
};

/// Computes s = x + skip + bias, and stores it.
template <size_t kRows>
struct AddSkip {
  const float* x;
  const float* skip[kRows];
  const float* bias;
  float* s;
  size_t width;
  HWY_INLINE V whole(V sum, size_t r, size_t i) const {
    const D d;
    V v = hn::Add(hn::LoadU(d, x + r * width + i), hn::LoadU(d, skip[r] + i));
    if (bias) v = hn::Add(v, hn::LoadU(d, bias + i));
    hn::StoreU(v, d, s + r * width + i);
    return hn::Add(sum, v);
  }
  HWY_INLINE V part(V sum, size_t r, size_t i, size_t n) const {
    const D d;
    V v = hn::Add(LoadFirst(d, x + r * width + i, n), LoadFirst(d, skip[r] + i, n));
    if (bias) v = hn::Add(v, LoadFirst(d, bias + i, n));
    StoreFirst(d, v, s + r * width + i, n);
    return hn::Add(sum, v);
  }
};

template <size_t kRows>
struct SquaredDeviation {
  Plain from;
  V mean[kRows];
  HWY_INLINE V whole(V sum, size_t r, size_t i) const {
    const V c = hn::Sub(from.load(r, i), mean[r]);
    return hn::MulAdd(c, c, sum);
  }
  HWY_INLINE V part(V sum, size_t r, size_t i, size_t n) const {
    const V c = hn::IfThenElseZero(hn::FirstN(D(), n), hn::Sub(from.load(r, i, n), mean[r]));
    return hn::MulAdd(c, c, sum);
  }
};

/// Sums of kRows rows together: their chains of additions and final reductions overlap. Each row has two chains and
/// blocks of 1024 whose sums are added in double, whatever kRows.
template <size_t kRows, class Pass>
HWY_INLINE void sum_rows(size_t width, const Pass& pass, double (&sums)[kRows]) {
  constexpr size_t kBlock = 1024;
  const D d;
  const size_t lanes = hn::Lanes(d);
  for (size_t r = 0; r < kRows; ++r) sums[r] = 0;
  for (size_t i = 0; i < width;) {
    const size_t end = std::min(width, i + kBlock);
    V even[kRows], odd[kRows];
    for (size_t r = 0; r < kRows; ++r) even[r] = odd[r] = hn::Zero(d);
    for (; i + 2 * lanes <= end; i += 2 * lanes) {
      for (size_t r = 0; r < kRows; ++r) even[r] = pass.whole(even[r], r, i);
      for (size_t r = 0; r < kRows; ++r) odd[r] = pass.whole(odd[r], r, i + lanes);
    }
    if (i + lanes <= end) {
      for (size_t r = 0; r < kRows; ++r) even[r] = pass.whole(even[r], r, i);
      i += lanes;
    }
    if (i < end) {
      for (size_t r = 0; r < kRows; ++r) odd[r] = pass.part(odd[r], r, i, end - i);
      i = end;
    }
    for (size_t r = 0; r < kRows; ++r) sums[r] += double(hn::GetLane(hn::SumOfLanes(d, hn::Add(even[r], odd[r]))));
  }
}

/// The last pass over kRows rows, which share the loads of gamma and beta.
template <size_t kRows, bool kGamma, bool kBeta>
struct Scale {
  const RowNorm& args;
  Plain from;
  float* y;
  const V* mean;
  V inv_std[kRows];

  HWY_INLINE V apply(size_t r, V v, V gamma, V beta) const {
    v = hn::Mul(hn::Sub(v, mean[r]), inv_std[r]);
    if constexpr (kGamma && kBeta) return hn::MulAdd(v, gamma, beta);
    if constexpr (kGamma) return hn::Mul(v, gamma);
    if constexpr (kBeta) return hn::Add(v, beta);
    return v;
  }
  HWY_INLINE void run() const {
    const D d;
    const size_t lanes = hn::Lanes(d), width = args.width;
    const float *const gammas = args.gamma, *const betas = args.beta;  // so that they are not reloaded after each store
    size_t i = 0;
    for (; i + lanes <= width; i += lanes) {
      const V gamma = kGamma ? hn::LoadU(d, gammas + i) : hn::Zero(d);
      const V beta = kBeta ? hn::LoadU(d, betas + i) : hn::Zero(d);
      for (size_t r = 0; r < kRows; ++r) hn::StoreU(apply(r, from.load(r, i), gamma, beta), d, y + r * width + i);
    }
    if (i == width) return;
    const size_t n = width - i;
    const V gamma = kGamma ? LoadFirst(d, gammas + i, n) : hn::Zero(d);
    const V beta = kBeta ? LoadFirst(d, betas + i, n) : hn::Zero(d);
    for (size_t r = 0; r < kRows; ++r) StoreFirst(d, apply(r, from.load(r, i, n), gamma, beta), y + r * width + i, n);
  }
};

template <size_t kRows>
void norm_rows(const RowNorm& args, size_t row) {
  const D d;
  const size_t at = row * args.width;
  Plain from{args.x + at, args.width};
  double sums[kRows] = {};
  if (args.skip) {
    float* const s = (args.sum ? args.sum : args.y) + at;
    AddSkip<kRows> add{args.x + at, {}, args.bias, s, args.width};
    for (size_t r = 0; r < kRows; ++r) add.skip[r] = args.skip + (row + r) % args.skip_rows * args.width;
    sum_rows<kRows>(args.width, add, sums);
    from.s = s;
  } else if (!args.simplified) {
    sum_rows<kRows>(args.width, from, sums);
  }
  SquaredDeviation<kRows> deviation{from, {}};
  for (size_t r = 0; r < kRows; ++r) {
    const float mean = args.simplified ? 0 : float(sums[r] / double(args.width));
    deviation.mean[r] = hn::Set(d, mean);
    if (args.mean) args.mean[row + r] = mean;
  }
  sum_rows<kRows>(args.width, deviation, sums);
  V inv_std[kRows];
  for (size_t r = 0; r < kRows; ++r) {
    const float inv = 1 / std::sqrt(float(sums[r] / double(args.width)) + args.epsilon);
    inv_std[r] = hn::Set(d, inv);
    if (args.inv_std) args.inv_std[row + r] = inv;
  }
  const auto scale = [&]<bool kGamma, bool kBeta>() HWY_ATTR {
    Scale<kRows, kGamma, kBeta> last{args, from, args.y + at, deviation.mean, {}};
    for (size_t r = 0; r < kRows; ++r) last.inv_std[r] = inv_std[r];
    last.run();
  };
  if (args.gamma && args.beta) return scale.template operator()<true, true>();
  if (args.gamma) return scale.template operator()<true, false>();
  if (args.beta) return scale.template operator()<false, true>();
  scale.template operator()<false, false>();
}

}  // namespace

void row_norm_block(const RowNorm& args, size_t begin, size_t end) {
  size_t row = begin;
  for (; row + kRowGroup <= end; row += kRowGroup) norm_rows<kRowGroup>(args, row);
  for (; row < end; ++row) norm_rows<1>(args, row);
}

}  // namespace retort::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace retort::kernels {

void row_norm(const RowNorm& args, const Parallel& par) noexcept {
  if (args.width == 0) {  // rows without elements
    if (args.mean) std::fill_n(args.mean, args.rows, 0.0f);
    if (args.inv_std) std::fill_n(args.inv_std, args.rows, 1 / std::sqrt(args.epsilon));
    return;
  }
  const auto block = RETORT_SELECT(row_norm_block);
  const size_t rows_per_task = std::max<size_t>(kRowGroup, kChunk / args.width & ~(kRowGroup - 1));
  for_chunks(
      par, args.rows, [&](size_t begin, size_t end) { block(args, begin, end); }, rows_per_task);
}

void row_norm_reference(const RowNorm& a) noexcept {
  for (size_t r = 0; r < a.rows; ++r) {
    const float* const x = a.x + r * a.width;
    const float* const skip = a.skip ? a.skip + r % a.skip_rows * a.width : nullptr;
    const auto s = [&](size_t i) { return double(x[i]) + (skip ? skip[i] + (a.bias ? double(a.bias[i]) : 0) : 0); };
    double mean = 0, variance = 0;
    if (!a.simplified) {
      for (size_t i = 0; i < a.width; ++i) mean += s(i) / double(a.width);
    }
    for (size_t i = 0; i < a.width; ++i) variance += (s(i) - mean) * (s(i) - mean) / double(a.width);
    const double inv_std = 1 / std::sqrt(variance + double(a.epsilon));
    if (a.mean) a.mean[r] = float(mean);
    if (a.inv_std) a.inv_std[r] = float(inv_std);
    for (size_t i = 0; i < a.width; ++i) {
      const double v = s(i);
      if (a.sum) a.sum[r * a.width + i] = float(v);
      const double gamma = a.gamma ? double(a.gamma[i]) : 1, beta = a.beta ? double(a.beta[i]) : 0;
      a.y[r * a.width + i] = float((v - mean) * inv_std * gamma + beta);
    }
  }
}

}  // namespace retort::kernels
#endif
