// A few rows of A times a panel of B stay in registers while p advances.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/distance/distance.cc"
#include "kernels/distance/distance.h"

#include <hwy/foreach_target.h>  // must come before highway.h
#include <hwy/highway.h>

#include <algorithm>

#include "kernels/dispatch.h"
#include "kernels/gemm/tile-inl.h"

HWY_BEFORE_NAMESPACE();
namespace retort::kernels::HWY_NAMESPACE {
namespace {

constexpr size_t kRowsAtOnce = 4, kVectors = kWidth / kLanes;

/// kRows rows of A times one panel, of which `columns` columns are needed.
template <size_t kRows>
void distance_tile(const DistanceArgs& args, const float* a, const float* b, size_t columns, float* c) {
  const FloatTag d;
  hn::Vec<FloatTag> sums[kRows][kVectors];
#pragma GCC unroll 4
  for (auto& row : sums) {
#pragma GCC unroll 4
    for (auto& sum : row) sum = hn::Zero(d);
  }
  for (size_t p = 0; p < args.k; ++p, b += kWidth) {
#pragma GCC unroll 4
    for (size_t v = 0; v < kVectors; ++v) {
      const auto bv = hn::Load(d, b + v * kLanes);
#pragma GCC unroll 4
      for (size_t r = 0; r < kRows; ++r) {
        const auto difference = hn::Sub(hn::Set(d, a[r * args.k + p]), bv);
        sums[r][v] = hn::MulAdd(difference, difference, sums[r][v]);
      }
    }
  }
  for (size_t r = 0; r < kRows; ++r) {
    for (size_t v = 0; v < kVectors; ++v) {
      const size_t at = v * kLanes, rest = columns - std::min(at, columns);
      float* to = c + r * args.n + at;
      if (rest >= kLanes) {
        hn::StoreU(sums[r][v], d, to);
      } else if (rest > 0) {
        StoreFirst(d, sums[r][v], to, rest);
      }
    }
  }
}

}  // namespace

void distances(const DistanceArgs& args) noexcept {
  for (size_t j = 0; j < args.n; j += kWidth) {
    const float* b = args.packed_b + j * args.k;
    const size_t columns = std::min(kWidth, args.n - j);
    size_t i = 0;
    for (; i + kRowsAtOnce <= args.m; i += kRowsAtOnce)
      distance_tile<kRowsAtOnce>(args, args.a + i * args.k, b, columns, args.c + i * args.n + j);
    for (; i < args.m; ++i) distance_tile<1>(args, args.a + i * args.k, b, columns, args.c + i * args.n + j);
  }
}

}  // namespace retort::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace retort::kernels {

void squared_distances(const DistanceArgs& args) noexcept { RETORT_SELECT(distances)(args); }

}  // namespace retort::kernels
#endif
