// Filters of Winograd convolutions. They are mostly stored as for a plain convolution and transformed in the run:
// transformed filters of F(4x4, 3x3) are four times as large, and reading them from memory takes longer than the
// transform. Those of F(2x2, 3x3) for few tiles are packed transformed; from these, those of F(4x4, 3x3) are made if a
// batch has many tiles.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/conv/winograd_filters.cc"
#include <hwy/foreach_target.h>  // must come before highway.h
#include <hwy/highway.h>

#include <algorithm>
#include <numbers>

#include "base/checked.h"
#include "kernels/conv/lanes-inl.h"
#include "kernels/conv/winograd.h"
#include "kernels/dispatch.h"
#include "kernels/gemm/gemm_bf16.h"

HWY_BEFORE_NAMESPACE();
namespace retort::kernels::HWY_NAMESPACE {
namespace {

// Two rows of G, those of the points p and -p: g · w = even ± odd with even = e0 · w0 + e2 · w2 and odd = e1 · w1. A
// row of G is [1, p, p²] / product of the distances to the other points.
struct PointPair {
  float e0, e1, e2;
};
constexpr float kSqrt2 = std::numbers::sqrt2_v<float>;
constexpr PointPair kOne{0.5f, 0.5f, 0.5f};                    // F(2x2): ±1
constexpr PointPair kNear{-2 / 3.0f, -kSqrt2 / 3, -1 / 3.0f};  // F(4x4): ±1/sqrt(2)
constexpr PointPair kFar{1 / 6.0f, kSqrt2 / 6, 1 / 3.0f};      // F(4x4): ±sqrt(2)

HWY_INLINE void transform_pair(const PointPair& g, const Float (&w)[3], Float& plus, Float& minus) {
  const FloatTag t;
  const Float even = hn::MulAdd(hn::Set(t, g.e0), w[0], hn::Mul(hn::Set(t, g.e2), w[2])), e1 = hn::Set(t, g.e1);
  plus = hn::MulAdd(e1, w[1], even);
  minus = hn::NegMulAdd(e1, w[1], even);
}

// o = G · w; the points 0 and ∞ give the first and the last weight.
HWY_INLINE void transform(const Float (&w)[3], Float (&o)[4]) {
  o[0] = w[0], o[3] = w[2];
  transform_pair(kOne, w, o[1], o[2]);
}

HWY_INLINE void transform(const Float (&w)[3], Float (&o)[6]) {
  o[0] = w[0], o[5] = w[2];
  transform_pair(kNear, w, o[1], o[2]);
  transform_pair(kFar, w, o[3], o[4]);
}

// Taps of one vector of filters as ConvAlgorithm::rows packs them, `taps` floats apart.
struct PlainTaps {
  const float* w;
  size_t taps;

  HWY_INLINE Float operator()(size_t i, size_t j) const { return hn::Load(FloatTag(), w + (3 * i + j) * taps); }
};

// The same taps of filters that were packed transformed, G · w · G^T of F(2x2): since its rows 1 and 2 are even ± odd
// with odd = w1 / 2, their difference is w1, and rows 0 and 3 are w0 and w2.
struct TransformedTaps {
  const float* u;
  size_t plane;

  HWY_INLINE Float operator()(size_t i, size_t j) const {
    if (i == 1) return hn::Sub(along(0, j), along(1, j));
    return along(i == 0 ? 2 : 3, j);
  }

 private:
  // Tap j of a row; rows 1 and 2 are packed before 0 and 3.
  HWY_INLINE Float along(size_t row, size_t j) const {
    const FloatTag t;
    const float* at = u + 4 * row * plane;
    if (j == 1) return hn::Sub(hn::Load(t, at + plane), hn::Load(t, at + 2 * plane));
    return hn::Load(t, at + (j == 0 ? 0 : 3) * plane);
  }
};

// Two rows of U = G · w · G^T, for one vector of filters: those of a pair of points, or of 0 and ∞ (kEnds).
template <size_t kSide, bool kEnds, class Taps>
HWY_INLINE void transform_rows(const Taps& w, const PointPair& pair, float* u, size_t plane) {
  const FloatTag t;
  Float first[3], second[3], o[kSide];
#pragma GCC unroll 3
  for (size_t j = 0; j < 3; ++j) {
    if constexpr (kEnds) {
      first[j] = w(0, j), second[j] = w(2, j);
    } else {
      const Float column[3] = {w(0, j), w(1, j), w(2, j)};
      transform_pair(pair, column, first[j], second[j]);
    }
  }
  transform(first, o);
#pragma GCC unroll 6
  for (size_t j = 0; j < kSide; ++j) hn::Store(o[j], t, u + j * plane);
  transform(second, o);
#pragma GCC unroll 6
  for (size_t j = 0; j < kSide; ++j) hn::Store(o[j], t, u + (kSide + j) * plane);
}

constexpr size_t kWidth = 2 * kLanes;  // of a panel

// The filters of some panels, to `u`; planes of U are `plane` floats apart.
struct Panels {
  size_t in_c, count;
  const float* packed;
  float* u;
  size_t plane;
};

template <size_t kSide, bool kEnds>
void transform_panels(Panels p, const PointPair& pair) {
  const size_t taps = p.in_c * kWidth;
  for (size_t i = 0; i < p.count; ++i, p.packed += 8 * taps) {
    for (size_t c = 0; c < p.in_c; ++c, p.packed += kWidth, p.u += kWidth) {
      transform_rows<kSide, kEnds>(PlainTaps{p.packed, taps}, pair, p.u, p.plane);
      transform_rows<kSide, kEnds>(PlainTaps{p.packed + kLanes, taps}, pair, p.u + kLanes, p.plane);
    }
  }
}

// From filters of F(2x2) to those of F(4x4).
template <bool kEnds>
void transform_again(const Panels& p, size_t packed_plane, const PointPair& pair) {
  for (size_t i = 0; i < p.count * p.in_c * kWidth; i += kLanes)
    transform_rows<6, kEnds>(TransformedTaps{p.packed + i, packed_plane}, pair, p.u + i, p.plane);
}

}  // namespace

/// All planes of some channels of a panel of filters for winograd2_packed, from rows (channel, tap).
void winograd_packed_filters(const float* rows, size_t channels, float* u, size_t plane) noexcept {
  constexpr size_t kTaps = 9, kPartPlanes = 8;
  for (size_t i = 0; i < 2 * channels; ++i) {
    const PlainTaps w{rows + i / 2 * kTaps * kWidth + i % 2 * kLanes, kWidth};
    transform_rows<4, false>(w, kOne, u + i * kLanes, plane);
    transform_rows<4, true>(w, kOne, u + i * kLanes + kPartPlanes * plane, plane);
  }
}

void winograd_filters(const ConvArgs& args, const conv_detail::WinogradPlan& plan,
                      const conv_detail::WinogradFilters& which, float* u) noexcept {
  const size_t in_c = args.shape.in_c, count = ceil_div(which.n1 - which.n0, kWidth);
  const bool ends = which.part + 1 == plan.parts;  // for the order of the parts see WinogradPlan
  const PointPair& pair = plan.tiles.edge == 2 ? kOne : which.part == 0 ? kNear : kFar;
  if (args.algorithm == ConvAlgorithm::winograd4_packed) {
    const Panels panels{in_c, count, args.packed + which.n0 * in_c, u, plan.u_plane};
    const size_t plane = conv_detail::packed_plane(in_c, args.shape.out_c);
    return ends ? transform_again<true>(panels, plane, pair) : transform_again<false>(panels, plane, pair);
  }
  const Panels panels{in_c, count, args.packed + which.n0 * 9 * in_c, u, plan.u_plane};
  if (plan.tiles.edge == 2)
    return ends ? transform_panels<4, true>(panels, pair) : transform_panels<4, false>(panels, pair);
  return ends ? transform_panels<6, true>(panels, pair) : transform_panels<6, false>(panels, pair);
}

}  // namespace retort::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace retort::kernels::conv_detail {

// Packs filters transformed for F(2x2), some channels of a panel at a time.
void pack_winograd(const ConvShape& s, const float* w, float* packed, const Parallel& run) noexcept {
  constexpr size_t kTaps = 9, kFloats = 4096;
  alignas(64) float rows[kFloats];
  const size_t width = gemm_panel_width(), filter = kTaps * s.in_c, most = kFloats / (kTaps * width);
  const auto transform = RETORT_SELECT(winograd_packed_filters);
  for (size_t n = 0; n < s.out_c && !run.cancelled(); n += width) {
    for (size_t c = 0; c < s.in_c; c += most) {
      const size_t some = std::min(most, s.in_c - c);
      gemm_pack_b(w + n * filter + c * kTaps, 1, filter, some * kTaps, std::min(width, s.out_c - n), rows);
      transform(rows, some, packed + n * s.in_c + c * width, packed_plane(s.in_c, s.out_c));
    }
  }
}

// The same, rounded to pairs of channels.
void pack_bf16_winograd(const ConvShape& s, const float* w, float* packed, const Parallel& run) noexcept {
  constexpr size_t kTaps = 9, kPlanes = 16, kMost = 12, kWidth = 32;  // of the level that has these products
  alignas(64) float rows[kTaps * kMost * kWidth], planes[kPlanes * kMost * kWidth];
  const size_t filter = kTaps * s.in_c, depth = bf16_pairs(s.in_c), plane = packed_plane(depth, s.out_c);
  const auto transform = RETORT_SELECT(winograd_packed_filters);
  for (size_t n = 0; n < s.out_c && !run.cancelled(); n += kWidth) {
    for (size_t c = 0; c < s.in_c; c += kMost) {
      const size_t some = std::min(kMost, s.in_c - c);
      gemm_pack_b(w + n * filter + c * kTaps, 1, filter, some * kTaps, std::min(kWidth, s.out_c - n), rows);
      transform(rows, some, planes, kMost * kWidth);
      float* to = packed + n * depth + c / 2 * kWidth;
      for (size_t p = 0; p < kPlanes; ++p, to += plane)
        bf16_pack_b(planes + p * kMost * kWidth, kWidth, 1, some, kWidth, to);
    }
  }
}

}  // namespace retort::kernels::conv_detail
#endif
