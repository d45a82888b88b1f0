#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/elementwise/codes.cc"
#include "kernels/elementwise/codes.h"

#include <hwy/foreach_target.h>  // must come before highway.h
#include <hwy/highway.h>

#include <algorithm>
#include <limits>

#include "kernels/dispatch.h"
#include "kernels/simd_math.h"

HWY_BEFORE_NAMESPACE();
namespace retort::kernels::HWY_NAMESPACE {
namespace {

using FloatTag = hn::ScalableTag<float>;
using IntTag = hn::ScalableTag<int32_t>;
using Float = hn::Vec<FloatTag>;
constexpr size_t kLanes = HWY_MAX_BYTES / sizeof(float);

// Codes as 32-bit integers.
template <typename T>
HWY_INLINE hn::Vec<IntTag> codes(Float x, Float scale, Float zero) {
  const FloatTag d;
  const Float low = hn::Set(d, float(std::numeric_limits<T>::lowest()));
  const Float high = hn::Set(d, float(std::numeric_limits<T>::max()));
  const Float code = hn::Add(hn::Round(hn::Div(x, scale)), zero);
  const Float above = hn::IfThenElse(hn::Gt(code, low), code, low);  // NaN is not above
  return hn::ConvertTo(IntTag(), hn::IfThenElse(hn::Lt(above, high), above, high));
}

template <typename T>
void quantize_run(const QuantizeRun<T>& r) {
  const FloatTag d;
  const hn::Rebind<T, FloatTag> narrow;
  const auto scale = [&](size_t i) HWY_ATTR { return r.step ? hn::LoadU(d, r.scale + i) : hn::Set(d, *r.scale); };
  const auto zero = [&](size_t i) HWY_ATTR {
    return hn::ConvertTo(d, r.step ? hn::LoadU(IntTag(), r.zero + i) : hn::Set(IntTag(), *r.zero));
  };
  size_t i = 0;
  for (; i + kLanes <= r.n; i += kLanes) {
    hn::StoreU(hn::DemoteTo(narrow, codes<T>(hn::LoadU(d, r.x + i), scale(i), zero(i))), narrow, r.y + i);
  }
  for (; i < r.n; ++i) {
    const size_t k = i * r.step;
    r.y[i] = T(hn::GetLane(codes<T>(hn::Set(d, r.x[i]), hn::Set(d, r.scale[k]), hn::Set(d, float(r.zero[k])))));
  }
}

}  // namespace

void quantize_u8(const QuantizeRun<uint8_t>& run) noexcept { quantize_run(run); }
void quantize_i8(const QuantizeRun<int8_t>& run) noexcept { quantize_run(run); }

std::pair<float, float> find_range(const float* x, size_t n) noexcept {
  const FloatTag d;
  Float low = hn::Zero(d), high = hn::Zero(d);
  size_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    const Float v = hn::LoadU(d, x + i);
    low = hn::IfThenElse(hn::Lt(v, low), v, low);
    high = hn::IfThenElse(hn::Gt(v, high), v, high);
  }
  std::pair<float, float> range{hn::GetLane(hn::MinOfLanes(d, low)), hn::GetLane(hn::MaxOfLanes(d, high))};
  for (; i < n; ++i) range = {std::min(range.first, x[i]), std::max(range.second, x[i])};
  return range;
}

}  // namespace retort::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace retort::kernels {

void quantize(const QuantizeRun<uint8_t>& run) noexcept { RETORT_SELECT(quantize_u8)(run); }
void quantize(const QuantizeRun<int8_t>& run) noexcept { RETORT_SELECT(quantize_i8)(run); }
std::pair<float, float> range_with_zero(const float* x, size_t n) noexcept { return RETORT_SELECT(find_range)(x, n); }

}  // namespace retort::kernels
#endif
