// Stores sums of code products as results. Included once per instruction level (see dispatch.h).
#if defined(RETORT_KERNELS_GEMM_CODES_STORE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef RETORT_KERNELS_GEMM_CODES_STORE_INL_H_
#undef RETORT_KERNELS_GEMM_CODES_STORE_INL_H_
#else
#define RETORT_KERNELS_GEMM_CODES_STORE_INL_H_
#endif

#include <cstring>
#include <limits>

#include "kernels/gemm/codes_dot-inl.h"
#include "kernels/simd_math.h"

HWY_BEFORE_NAMESPACE();
namespace retort::kernels::HWY_NAMESPACE {
namespace {

constexpr size_t kSumLanes = HWY_MAX_BYTES / sizeof(int32_t);

HWY_INLINE int32_t load_quad(const int8_t* p) {
  int32_t quad;
  std::memcpy(&quad, p, sizeof(quad));
  return quad;
}

/// Sums of a panel, row by row, and what is added to them; null: nothing.
struct PanelSums {
  const int32_t *sums, *beyond;
  HWY_INLINE Sums at(size_t i) const {
    const Sums v = hn::Load(SumTag(), sums + i);
    return beyond ? hn::Add(v, hn::Load(SumTag(), beyond + i)) : v;
  }
};

using ScaleVector = hn::Vec<hn::ScalableTag<float>>;

template <typename T>
HWY_INLINE void store_codes(const CodesResult& c, Sums v, ScaleVector scale, ScaleVector offset, size_t n, T* to) {
  const hn::ScalableTag<float> d;
  const hn::Rebind<T, SumTag> narrow;
  const auto low = hn::Set(d, float(int32_t(std::numeric_limits<T>::min()) - c.zero));
  const auto high = hn::Set(d, float(int32_t(std::numeric_limits<T>::max()) - c.zero));
  auto x = hn::Add(hn::Mul(hn::ConvertTo(d, v), scale), offset);
#if HWY_ARCH_X86
  x = hn::Min(hn::Max(x, low), high);  // of NaN and a number, max gives the second operand
#else
  x = hn::IfThenElse(hn::Gt(x, low), x, low);  // NaN is not above
  x = hn::IfThenElse(hn::Lt(x, high), x, high);
#endif
  const auto codes = hn::DemoteTo(narrow, hn::Add(hn::NearestInt(x), hn::Set(SumTag(), c.zero)));
  if (n >= kSumLanes) return hn::StoreU(codes, narrow, to);
  alignas(16) T lanes[kSumLanes];
  hn::StoreU(codes, narrow, lanes);
  std::memcpy(to, lanes, n);
}

/// The first n numbers at p + at, at most a vector; `otherwise` if p is null.
HWY_INLINE ScaleVector of_columns(const float* p, size_t at, size_t n, float otherwise) {
  const hn::ScalableTag<float> d;
  if (!p) return hn::Set(d, otherwise);
  return n >= kSumLanes ? hn::LoadU(d, p + at) : LoadFirst(d, p + at, n);
}

/// Stores n sums, at most a vector, starting with element `at`. `added` is the bias of floats, or the offset of codes.
HWY_INLINE void store_result(const CodesResult& c, Sums v, ScaleVector scale, ScaleVector added, size_t n, size_t at) {
  if (c.is_float) {
    const hn::ScalableTag<float> d;
    float* to = static_cast<float*>(c.data) + at;
    auto x = hn::Add(hn::Mul(hn::ConvertTo(d, v), scale), added);
    if (c.residual) x = hn::Add(x, of_columns(c.residual, at, n, 0));
    n >= kSumLanes ? hn::StoreU(x, d, to) : StoreFirst(d, x, to, n);
  } else if (!c.is_codes) {
    int32_t* to = static_cast<int32_t*>(c.data) + at;
    n >= kSumLanes ? hn::StoreU(v, SumTag(), to) : StoreFirst(SumTag(), v, to, n);
  } else if (c.is_signed) {
    store_codes(c, v, scale, added, n, static_cast<int8_t*>(c.data) + at);
  } else {
    store_codes(c, v, scale, added, n, static_cast<uint8_t*>(c.data) + at);
  }
}

}  // namespace
}  // namespace retort::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif  // per-target include guard
