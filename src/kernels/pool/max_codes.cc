// The largest codes of several runs.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/pool/max_codes.cc"
#include <hwy/foreach_target.h>  // must come before highway.h
#include <hwy/highway.h>

#include <algorithm>
#include <limits>

#include "kernels/dispatch.h"
#include "kernels/pool/pool.h"

HWY_BEFORE_NAMESPACE();
namespace retort::kernels::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

// Vectors become shorter for few channels.
template <class D, typename T = hn::TFromD<D>>
void largest(D d, std::span<const uint8_t* const> taps, size_t n, T* y) {
  constexpr size_t kShort = 16, kShortest = 4;
  const size_t lanes = hn::Lanes(d);
  const auto tap = [&](size_t t) { return reinterpret_cast<const T*>(taps[t]); };
  constexpr T kLeast = std::numeric_limits<T>::lowest();
  if (n < lanes) {
    if constexpr (hn::MaxLanes(d) > kShort) return largest(hn::CappedTag<T, kShort>(), taps, n, y);
    if constexpr (hn::MaxLanes(d) == kShort) return largest(hn::CappedTag<T, kShortest>(), taps, n, y);
    for (size_t i = 0; i < n; ++i) {
      y[i] = kLeast;
      for (size_t t = 0; t < taps.size(); ++t) y[i] = std::max(y[i], tap(t)[i]);
    }
    return;
  }
  for (size_t i = 0; i < n; i += lanes) {
    i = std::min(i, n - lanes);  // the last vector overlaps the one before
    auto best = hn::Set(d, kLeast);
    for (size_t t = 0; t < taps.size(); ++t) best = hn::Max(best, hn::LoadU(d, tap(t) + i));
    hn::StoreU(best, d, y + i);
  }
}

}  // namespace

void largest_of(std::span<const uint8_t* const> taps, bool is_signed, size_t n, uint8_t* y) noexcept {
  is_signed ? largest(hn::ScalableTag<int8_t>(), taps, n, reinterpret_cast<int8_t*>(y))
            : largest(hn::ScalableTag<uint8_t>(), taps, n, y);
}

}  // namespace retort::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace retort::kernels {

void largest_codes(std::span<const uint8_t* const> taps, bool is_signed, size_t n, uint8_t* y) noexcept {
  RETORT_SELECT(largest_of)(taps, is_signed, n, y);
}

}  // namespace retort::kernels
#endif
