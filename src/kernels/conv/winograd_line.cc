// Winograd convolution along lines, F(4, r): 4 outputs from r taps by r + 3 products. Kernels of more than r taps are
// divided into groups of 4, so that a group reads the transformed inputs of its neighbour tile: 7 taps cost 14 products
// and 11 taps 21, instead of 28 and 44. With dilation d the line is d interleaved lines. The points are pairs ±p, ∞
// and, if their number is even, 0; they were searched for the smallest error (measured: 2e-6 of the largest output, 128
// channels). For the theory see winograd.cc.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/conv/winograd_line.cc"
#include <hwy/foreach_target.h>  // must come before highway.h
#include <hwy/highway.h>

#include <algorithm>
#include <array>

#include "base/checked.h"
#include "kernels/conv/finish-inl.h"
#include "kernels/conv/winograd.h"
#include "kernels/dispatch.h"

HWY_BEFORE_NAMESPACE();
namespace retort::kernels::HWY_NAMESPACE {
namespace {

using conv_detail::kLineTile;

/// The matrices of F(4, kTaps), computed from the points of its pairs. If P(x) is the product of x - q over all finite
/// points q, row p of B^T holds the coefficients of P(x) / (x - p), and row p of G the powers of p divided by P'(p).
/// The rows of -p differ only in the signs of every other coefficient.
template <size_t kTaps>
struct LineMatrices {
  static constexpr size_t kPoints = kTaps + kLineTile - 1, kPairs = (kPoints - 1) / 2;
  static constexpr bool kHasZero = kPoints % 2 == 0;
  static constexpr double kPair[3] = {kTaps == 3   ? 0.75
                                      : kTaps == 4 ? 0.375
                                                   : 0.5,
                                      kTaps == 3   ? 1.5
                                      : kTaps == 4 ? 0.875
                                                   : 1.0,
                                      1.75};

  using Row = std::array<double, kPoints>;

  /// Coefficients of P without the factors x² - p² of pair `without` (kPairs: of none), and without x if `no_zero`.
  static constexpr Row product(size_t without, bool no_zero) {
    Row c{};
    c[kHasZero && !no_zero] = 1;
    for (size_t q = 0; q < kPairs; ++q) {
      if (q == without) continue;
      for (size_t j = kPoints; j-- > 0;) c[j] = (j >= 2 ? c[j - 2] : 0) - kPair[q] * kPair[q] * c[j];
    }
    return c;
  }
  /// Row p of B^T, where p is the positive point of a pair: P(x) / (x² - p²) times x + p.
  static constexpr Row input_row(size_t pair) {
    Row c = product(pair, false);
    for (size_t j = kPoints - 1; j > 0; --j) c[j] = c[j - 1] + kPair[pair] * c[j];
    c[0] *= kPair[pair];
    return c;
  }
  /// Row p of G; P'(p) is 2p times the value of P(x) / (x² - p²) at p.
  static constexpr std::array<double, kTaps> filter_row(size_t pair) {
    const Row c = product(pair, false);
    double value = 0;
    for (size_t j = c.size(); j-- > 0;) value = value * kPair[pair] + c[j];
    std::array<double, kTaps> row{};
    double power = 1 / (2 * kPair[pair] * value);
    for (size_t j = 0; j < kTaps; ++j, power *= kPair[pair]) row[j] = power;
    return row;
  }
};

template <size_t kTaps, typename Row>
constexpr auto rows_of_pairs(const Row& row) {
  std::array<decltype(row(0)), LineMatrices<kTaps>::kPairs> rows{};
  for (size_t q = 0; q < rows.size(); ++q) rows[q] = row(q);
  return rows;
}
template <size_t kTaps>
constexpr auto kInputRows = rows_of_pairs<kTaps>([](size_t q) { return LineMatrices<kTaps>::input_row(q); });
template <size_t kTaps>
constexpr auto kFilterRows = rows_of_pairs<kTaps>([](size_t q) { return LineMatrices<kTaps>::filter_row(q); });

/// sum += coefficient · x; if the sum has not started yet, sets it instead.
HWY_INLINE void add_term(double coefficient, Float x, Float& sum, bool& started) {
  if (coefficient == 0) return;
  const Float c = hn::Set(FloatTag(), float(coefficient));
  sum = !started ? (coefficient == 1 ? x : hn::Mul(c, x)) : coefficient == 1 ? hn::Add(sum, x) : hn::MulAdd(c, x, sum);
  started = true;
}

/// Adds the terms of a sum whose index is even or odd.
template <size_t kFirst, size_t kCount, size_t kSize>
HWY_INLINE Float every_other(const std::array<double, kSize>& coefficients, const Float (&x)[kCount]) {
  Float sum = hn::Zero(FloatTag());
  bool started = false;
#pragma GCC unroll 8
  for (size_t j = kFirst; j < kCount; j += 2) add_term(coefficients[j], x[j], sum, started);
  return sum;
}

/// V for n channels of one tile, with planes in the order of WinogradPlan.
template <size_t kTaps>
HWY_INLINE void transform_tile(const float* const* pixels, size_t channel, size_t n, float* v, size_t plane) {
  using M = LineMatrices<kTaps>;
  constexpr size_t kPoints = M::kPoints;
  const FloatTag t;
  Float d[kPoints];
#pragma GCC unroll 8
  for (size_t j = 0; j < kPoints; ++j) d[j] = load_first(pixels[j] + channel, n);
  v += channel;
#pragma GCC unroll 4
  for (size_t q = 0; q < M::kPairs; ++q) {
    constexpr size_t kSame = kPoints % 2;  // parity of the terms that have the same sign for both points of a pair
    const Float same = every_other<kSame>(kInputRows<kTaps>[q], d);
    const Float opposite = every_other<1 - kSame>(kInputRows<kTaps>[q], d);
    hn::StoreU(hn::Add(same, opposite), t, v + 2 * q * plane);
    hn::StoreU(hn::Sub(same, opposite), t, v + (2 * q + 1) * plane);
  }
  static constexpr auto kZeroRow = M::product(M::kPairs, true), kInfinityRow = M::product(M::kPairs, false);
  if constexpr (M::kHasZero) hn::StoreU(every_other<0>(kZeroRow, d), t, v + 2 * M::kPairs * plane);
  hn::StoreU(every_other<M::kHasZero>(kInfinityRow, d), t, v + (kPoints - 1) * plane);
}

/// U for a vector of filters of one part; w has its taps, those after the last are zero.
template <size_t kTaps>
HWY_INLINE void transform_filter(size_t part, const Float (&w)[kTaps], float* u, size_t plane) {
  using M = LineMatrices<kTaps>;
  const FloatTag t;
#pragma GCC unroll 4
  for (size_t q = 0; q < M::kPairs; ++q) {
    if (q != part) continue;
    const Float even = every_other<0>(kFilterRows<kTaps>[q], w), odd = every_other<1>(kFilterRows<kTaps>[q], w);
    hn::Store(hn::Add(even, odd), t, u);
    hn::Store(M::kHasZero ? hn::Sub(even, odd) : hn::Sub(odd, even), t, u + plane);
  }
  if (part < M::kPairs) return;
  static constexpr double kAtZero = 1 / M::product(M::kPairs, true)[0];
  if constexpr (M::kHasZero) hn::Store(hn::Mul(hn::Set(t, float(kAtZero)), w[0]), t, u);
  hn::Store(w[kTaps - 1], t, u + (M::kHasZero ? plane : 0));
}

/// The four outputs of n channels of a tile, computed from the products of its planes.
template <size_t kTaps>
HWY_INLINE void output_transform(const float* m, size_t plane, Float (&y)[kLineTile]) {
  using M = LineMatrices<kTaps>;
  const FloatTag t;
  bool started[kLineTile] = {};
#pragma GCC unroll 4
  for (size_t q = 0; q < M::kPairs; ++q) {
    const Float plus = hn::LoadU(t, m + 2 * q * plane), minus = hn::LoadU(t, m + (2 * q + 1) * plane);
    const Float sum = hn::Add(plus, minus), difference = hn::Sub(plus, minus);
    const double p = M::kPair[q];
    add_term(1, sum, y[0], started[0]);
    add_term(p, difference, y[1], started[1]);
    add_term(p * p, sum, y[2], started[2]);
    add_term(p * p * p, difference, y[3], started[3]);
  }
  if constexpr (M::kHasZero) y[0] = hn::Add(y[0], hn::LoadU(t, m + 2 * M::kPairs * plane));
  y[3] = hn::Add(y[3], hn::LoadU(t, m + (M::kPoints - 1) * plane));
}

template <size_t kTaps>
void transform_block(const ConvArgs& args, const conv_detail::WinogradPlan& plan,
                     const conv_detail::WinogradBlock& block, const float* zeros, float* v) {
  const ConvShape& s = args.shape;
  for (size_t t = block.t0; t < block.t1 + plan.taps.groups - 1; ++t, v += plan.v.stride) {
    const conv_detail::LineTile at = conv_detail::line_tile(s, plan, t);
    const float* const line = args.input + at.line * s.in_w * s.in_pixel_stride;
    const float* pixels[kTaps + kLineTile - 1];
    for (size_t j = 0; j < kTaps + kLineTile - 1; ++j) {
      const size_t x = at.x + j * s.dilation_w - s.pad_left;  // wraps around before the line
      pixels[j] = x < s.in_w && at.line < s.batch * s.in_h ? line + x * s.in_pixel_stride : zeros;
    }
    size_t c = 0;
    for (; c + kLanes <= s.in_c; c += kLanes) transform_tile<kTaps>(pixels, c, kLanes, v, plan.v.plane);
    if (c < s.in_c) transform_tile<kTaps>(pixels, c, s.in_c - c, v, plan.v.plane);
  }
}

template <size_t kTaps>
void filter_panels(const ConvArgs& args, const conv_detail::WinogradPlan& plan,
                   const conv_detail::WinogradFilters& which, float* u) {
  constexpr size_t kWidth = 2 * kLanes;
  const ConvShape& s = args.shape;
  const size_t tap_floats = s.in_c * kWidth, panels = ceil_div(which.n1 - which.n0, kWidth);
  const float* packed = args.packed + which.n0 * s.kernel_w * s.in_c;
  for (size_t p = 0; p < panels; ++p, packed += s.kernel_w * tap_floats) {
    for (size_t g = 0; g < plan.taps.groups; ++g) {
      const size_t first = g * kLineTile, taps = g + 1 < plan.taps.groups ? kLineTile : s.kernel_w - first;
      const float* const group = packed + first * tap_floats;
      for (size_t at = 0; at < tap_floats; at += kLanes, u += kLanes) {
        Float w[kTaps];
#pragma GCC unroll 8
        for (size_t j = 0; j < kTaps; ++j) {
          w[j] = j < taps ? hn::Load(FloatTag(), group + j * tap_floats + at) : hn::Zero(FloatTag());
        }
        transform_filter<kTaps>(which.part, w, u, plan.u_plane);
      }
    }
  }
}

template <size_t kTaps>
void finish_block(const ConvArgs& args, const conv_detail::WinogradPlan& plan, const conv_detail::WinogradBlock& block,
                  const float* m) {
  const ConvShape& s = args.shape;
  constexpr size_t kTogether = 32;  // neighbours that are activated by one call
  const Finish finish(args);
  size_t first = 0, pixels = 0;  // stored, and not activated yet
  for (size_t t = block.t0; t < block.t1; ++t, m += plan.m.stride) {
    const conv_detail::LineTile tile = conv_detail::line_tile(s, plan, t);
    if (tile.x >= s.out_w || tile.is_shared) continue;
    const size_t left = ceil_div(s.out_w - tile.x, s.dilation_w);
    const float* sums = m;
    for (size_t channel = block.n0; channel < block.n1; channel += kLanes, sums += kLanes) {
      Float y[kLineTile];
      output_transform<kTaps>(sums, plan.m.plane, y);
      finish.store<kLineTile, 1>(
          y, {tile.line * s.out_w + tile.x, s.dilation_w, left, 1, channel, std::min(kLanes, block.n1 - channel)});
    }
    const size_t pixel = tile.line * s.out_w + tile.x, stored = std::min(left, kLineTile);
    if (s.dilation_w == 1 && pixel == first + pixels && pixels < kTogether) {
      pixels += stored;
      continue;
    }
    finish.activate(first, pixels, block.n0, block.n1, s.dilation_w);
    first = pixel;
    pixels = stored;
  }
  finish.activate(first, pixels, block.n0, block.n1, s.dilation_w);
}

/// Calls f with the number of taps of a plan as a constant.
template <typename F>
HWY_INLINE void with_taps(size_t taps, const F& f) {
  if (taps == 3) return f(std::integral_constant<size_t, 3>());
  if (taps == 4) return f(std::integral_constant<size_t, 4>());
  f(std::integral_constant<size_t, 5>());
}

}  // namespace

void winograd_line_input(const ConvArgs& args, const conv_detail::WinogradPlan& plan,
                         const conv_detail::WinogradBlock& block, const float* zeros, float* v) noexcept {
  with_taps(plan.taps.of_group, [&](auto taps) { transform_block<taps>(args, plan, block, zeros, v); });
}

void winograd_line_filters(const ConvArgs& args, const conv_detail::WinogradPlan& plan,
                           const conv_detail::WinogradFilters& which, float* u) noexcept {
  with_taps(plan.taps.of_group, [&](auto taps) { filter_panels<taps>(args, plan, which, u); });
}

void winograd_line_output(const ConvArgs& args, const conv_detail::WinogradPlan& plan,
                          const conv_detail::WinogradBlock& block, const float* m) noexcept {
  with_taps(plan.taps.of_group, [&](auto taps) { finish_block<taps>(args, plan, block, m); });
}

}  // namespace retort::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace retort::kernels::conv_detail {

WinogradTransforms line_transforms() {
  return {RETORT_SELECT(winograd_line_input), RETORT_SELECT(winograd_line_filters),
          RETORT_SELECT(winograd_line_output)};
}

}  // namespace retort::kernels::conv_detail
#endif
