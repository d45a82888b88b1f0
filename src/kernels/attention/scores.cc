#include "kernels/attention/scores.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/attention/scores.cc"
#include <hwy/foreach_target.h>  // must come before highway.h
#include <hwy/highway.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "kernels/dispatch.h"
#include "kernels/norm/softmax-inl.h"

HWY_BEFORE_NAMESPACE();
namespace retort::kernels::HWY_NAMESPACE {
namespace {

/// Mask of the n <= Lanes keys at p that are hidden.
HWY_INLINE hn::Mask<D> hiding(const bool* p, size_t n, bool flag_hides) {
  const hn::RebindToUnsigned<D> du;
  const hn::Rebind<uint8_t, D> bytes;
  HWY_ALIGN uint8_t first[hn::MaxLanes(bytes)] = {};
  const auto* from = reinterpret_cast<const uint8_t*>(p);
  if (n < hn::Lanes(bytes)) from = std::copy_n(from, n, first) - n;
  const auto zero = hn::Eq(hn::PromoteTo(du, hn::LoadU(bytes, from)), hn::Zero(du));
  return hn::RebindMask(D(), flag_hides ? hn::Not(zero) : zero);
}

/// Turns dot products into scores; returns the largest one.
float score(const ScoreRow& row, float* x) {
  const D d;
  const size_t lanes = hn::Lanes(d);
  const V scale = hn::Set(d, row.scale), hidden = hn::Set(d, row.hidden), lowest = hn::Set(d, kMinusInf);
  const bool one_flag = row.flags && row.flag_step == 0, all_hidden = one_flag && *row.flags == row.flag_hides;
  const bool* flags = one_flag ? nullptr : row.flags;
  const auto scored = [&](V dot, size_t at, size_t n) HWY_ATTR {
    V v = all_hidden ? hidden : hn::Mul(dot, scale);
    if (flags != nullptr) v = hn::IfThenElse(hiding(flags + at, n, row.flag_hides), hidden, v);
    if (row.bias) v = hn::Add(v, n < lanes ? LoadFirst(d, row.bias + at, n) : hn::LoadU(d, row.bias + at));
    return v;
  };
  V greatest = lowest;
  size_t i = 0;
  for (; i + lanes <= row.count; i += lanes) {
    const V v = scored(hn::LoadU(d, x + i), i, lanes);
    hn::StoreU(v, d, x + i);
    greatest = hn::Max(greatest, v);
  }
  if (const size_t n = row.count - i; n > 0) {
    const V v = scored(LoadFirst(d, x + i, n), i, n);
    StoreFirst(d, v, x + i, n);
    greatest = hn::Max(greatest, hn::IfThenElse(hn::FirstN(d, n), v, lowest));
  }
  return hn::GetLane(hn::MaxOfLanes(d, greatest));
}

/// The largest dot product, -inf if there is none; may miss a NaN.
float greatest_of(const float* x, size_t n) {
  const D d;
  const size_t lanes = hn::Lanes(d);
  V a = hn::Set(d, kMinusInf), b = a;
  size_t i = 0;
  for (; i + 2 * lanes <= n; i += 2 * lanes) {
    a = hn::Max(a, hn::LoadU(d, x + i));
    b = hn::Max(b, hn::LoadU(d, x + i + lanes));
  }
  float greatest = hn::GetLane(hn::MaxOfLanes(d, hn::Max(a, b)));
  for (; i < n; ++i) greatest = std::max(greatest, x[i]);
  return greatest;
}

float weigh(const ScoreRow& row, float* x) {
  // If scores are products times a factor and nothing else, they need not be written.
  const bool plain = row.scale > 0 && !row.flags && !row.bias && !row.sink;
  const float max = plain ? greatest_of(x, row.count) : std::max(row.sink.value_or(kMinusInf), score(row, x));
  // A maximum may have missed a NaN.
  const auto never = [](float v) { return v == kMinusInf; };
  if (max == kMinusInf && std::all_of(x, x + row.count, never)) {
    std::fill_n(x, row.count, row.blind);
    return 1;
  }
  float sum = exp_sum<true>(x, max, x, row.count, plain ? row.scale : 1);
  if (row.sink) sum += std::exp(*row.sink - max);
  return 1 / sum;
}

}  // namespace
}  // namespace retort::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace retort::kernels {

float weigh_scores(const ScoreRow& row, float* x) noexcept { return RETORT_SELECT(weigh)(row, x); }

void weigh_scores_reference(const ScoreRow& row, float* x) noexcept {
  constexpr double kNever = -std::numeric_limits<double>::infinity();
  const auto score = [&](size_t j) {
    const bool hides = row.flags && row.flags[j * row.flag_step] == row.flag_hides;
    return double(hides ? row.hidden : row.scale * x[j]) + (row.bias ? row.bias[j] : 0);
  };
  double max = row.sink ? double(*row.sink) : kNever, sum = 0;
  bool nan = false;
  for (size_t j = 0; j < row.count; ++j) {
    max = std::max(max, score(j));
    nan |= std::isnan(score(j));
  }
  if (max == kNever && !nan) {
    std::fill_n(x, row.count, row.blind);
    return;
  }
  for (size_t j = 0; j < row.count; ++j) sum += std::exp(score(j) - max);
  if (row.sink) sum += std::exp(double(*row.sink) - max);
  for (size_t j = 0; j < row.count; ++j) x[j] = float(std::exp(score(j) - max) / sum);
}

}  // namespace retort::kernels
#endif
