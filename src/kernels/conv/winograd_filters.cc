// Filters of Winograd convolutions. They are mostly stored as for a plain convolution and transformed in the run:
// transformed filters of F(4x4, 3x3) are four times as large, and reading them from memory takes longer than the
// transform. Those of F(2x2, 3x3) for few tiles are packed transformed.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/conv/winograd_filters.cc"
#include <hwy/foreach_target.h>  // must come before highway.h
#include <hwy/highway.h>

#include <numbers>

#include "base/checked.h"
#include "kernels/conv/lanes-inl.h"
#include "kernels/conv/winograd.h"

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

// Rows `first` and `second` of U = G · w · G^T, for one vector of filters; the taps of `w` are `taps` floats apart.
template <size_t kSide, size_t kPart>
HWY_INLINE void transform_rows(const float* w, size_t taps, float* u, size_t plane) {
  const FloatTag t;
  constexpr bool kEnds = kPart + 1 == kSide / 2;  // for the order of the parts see WinogradPlan
  Float first[3], second[3], o[kSide];
#pragma GCC unroll 3
  for (size_t j = 0; j < 3; ++j) {
    const Float column[3] = {hn::Load(t, w + j * taps), kEnds ? hn::Zero(t) : hn::Load(t, w + (3 + j) * taps),
                             hn::Load(t, w + (6 + j) * taps)};
    if constexpr (kEnds) {
      first[j] = column[0], second[j] = column[2];
    } else {
      transform_pair(kSide == 4 ? kOne : kPart == 0 ? kNear : kFar, column, first[j], second[j]);
    }
  }
  transform(first, o);
#pragma GCC unroll 6
  for (size_t j = 0; j < kSide; ++j) hn::Store(o[j], t, u + j * plane);
  transform(second, o);
#pragma GCC unroll 6
  for (size_t j = 0; j < kSide; ++j) hn::Store(o[j], t, u + (kSide + j) * plane);
}

template <size_t kSide, size_t kPart>
void transform_panels(size_t in_c, size_t panels, const float* packed, float* u, size_t plane) {
  constexpr size_t kWidth = 2 * kLanes;
  const size_t taps = in_c * kWidth;
  for (size_t p = 0; p < panels; ++p, packed += 8 * taps) {
    for (size_t c = 0; c < in_c; ++c, packed += kWidth, u += kWidth) {
      transform_rows<kSide, kPart>(packed, taps, u, plane);
      transform_rows<kSide, kPart>(packed + kLanes, taps, u + kLanes, plane);
    }
  }
}

}  // namespace

void winograd_packed_filters(const float* rows, size_t channels, float* u, size_t plane) noexcept {
  constexpr size_t kTaps = 9, kPartPlanes = 8, kWidth = 2 * kLanes;
  for (size_t i = 0; i < 2 * channels; ++i) {
    const float* w = rows + i / 2 * kTaps * kWidth + i % 2 * kLanes;
    transform_rows<4, 0>(w, kWidth, u + i * kLanes, plane);
    transform_rows<4, 1>(w, kWidth, u + i * kLanes + kPartPlanes * plane, plane);
  }
}

void winograd_filters(const ConvArgs& args, const conv_detail::WinogradPlan& plan,
                      const conv_detail::WinogradFilters& which, float* u) noexcept {
  const auto transform_part = plan.tiles.edge == 2 ? (which.part == 0 ? transform_panels<4, 0> : transform_panels<4, 1>)
                              : which.part == 0    ? transform_panels<6, 0>
                              : which.part == 1    ? transform_panels<6, 1>
                                                   : transform_panels<6, 2>;
  const size_t in_c = args.shape.in_c, panels = ceil_div(which.n1 - which.n0, 2 * kLanes);
  transform_part(in_c, panels, args.packed + which.n0 * 9 * in_c, u, plan.u_plane);
}

}  // namespace retort::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
