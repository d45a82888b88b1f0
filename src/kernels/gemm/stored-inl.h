// The forms of stored panels of packed B, and their loads. Included once per instruction level (see dispatch.h).
#if defined(RETORT_KERNELS_GEMM_STORED_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef RETORT_KERNELS_GEMM_STORED_INL_H_
#undef RETORT_KERNELS_GEMM_STORED_INL_H_
#else
#define RETORT_KERNELS_GEMM_STORED_INL_H_
#endif

#include <hwy/highway.h>

#include <cstddef>
#include <cstdint>

HWY_BEFORE_NAMESPACE();
namespace retort::kernels::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;
using FloatTag = hn::ScalableTag<float>;
using Float = hn::Vec<FloatTag>;
constexpr size_t kLanes = HWY_MAX_BYTES / sizeof(float);
constexpr size_t kWidth = 2 * kLanes;  ///< columns of a panel

/// acc += x · b, in the register of acc. The compiler may write the result of hn::MulAdd to the register of a factor and
/// then moves sums between registers: 22 moves for 96 multiply-adds at 512 bits. With the 16 registers of AVX2, it also
/// stores a sum and loads it again every four steps of k, which makes the chain of additions to it half as long again: 2
/// to 8 % slower on Zen 5.
template <class V>
HWY_INLINE void add_product(V x, V b, V& acc) {
#if HWY_TARGET == HWY_AVX2
  asm("vfmadd231ps %2, %1, %0" : "+x"(acc.raw) : "x"(x.raw), "x"(b.raw));
#elif HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX3
  asm("vfmadd231ps %2, %1, %0" : "+v"(acc.raw) : "v"(x.raw), "v"(b.raw));
#else
  acc = hn::MulAdd(x, b, acc);
#endif
}

/// acc += x · b.
struct FloatProducts {
  static HWY_INLINE void add(Float x, Float b, Float& acc) { add_product(x, b, acc); }
  /// At 512 bits the multiply-add itself reads x from memory.
  static HWY_INLINE void add_from(const float& x, Float b, Float& acc) {
#if HWY_TARGET <= HWY_AVX3
    asm("vfmadd231ps %1%{1to16%}, %2, %0" : "+v"(acc.raw) : "m"(x), "v"(b.raw));
#else
    add(hn::Set(FloatTag(), x), b, acc);
#endif
  }
};

/// Loads the vectors of B for one step of k.
struct StoredF32 : FloatProducts {
  using Element = float;
  template <size_t kFull>
  static HWY_INLINE void load(const float* b, Float* vectors) {
#pragma GCC unroll 2
    for (size_t v = 0; v < kFull; ++v) vectors[v] = hn::Load(FloatTag(), b + v * kLanes);
  }
};

/// 32-bit words: element i of the first vector is in the low half, that of the second in the high half. Both vectors
/// take one load and two operations, which do not use the multipliers.
struct StoredBf16 : FloatProducts {
  using Element = uint16_t;
  using Words = hn::RebindToUnsigned<FloatTag>;
  static HWY_INLINE hn::Vec<Words> high_halves() { return hn::Set(Words(), 0xffff0000); }
  template <size_t kFull>
  static HWY_INLINE void load(const uint16_t* b, Float* vectors) {
    static_assert(kFull == 2);
    const auto both = hn::Load(Words(), reinterpret_cast<const uint32_t*>(b));
    vectors[0] = hn::BitCast(FloatTag(), hn::ShiftLeft<16>(both));
    vectors[1] = hn::BitCast(FloatTag(), hn::And(both, high_halves()));
  }
  static HWY_INLINE void store(Float first, Float second, uint16_t* b) {
    const Words d;
    const auto low = hn::ShiftRight<16>(hn::BitCast(d, first));
    hn::Store(hn::Or(low, hn::And(hn::BitCast(d, second), high_halves())), d, reinterpret_cast<uint32_t*>(b));
  }
};

/// One column after the other. Processors of the lowest level cannot convert them.
constexpr bool kHasF16 = HWY_TARGET != HWY_SSE4;
struct StoredF16 : FloatProducts {
  using Element = uint16_t;
  using Halves = hn::Rebind<hwy::float16_t, FloatTag>;
  template <size_t kFull>
  static HWY_INLINE void load(const uint16_t* b, Float* vectors) {
#pragma GCC unroll 2
    for (size_t v = 0; v < kFull; ++v) {
      const auto halves = hn::Load(Halves(), reinterpret_cast<const hwy::float16_t*>(b) + v * kLanes);
      vectors[v] = hn::PromoteTo(FloatTag(), halves);
    }
  }
  static HWY_INLINE void store(Float first, Float second, uint16_t* b) {
    auto* to = reinterpret_cast<hwy::float16_t*>(b);
    hn::Store(hn::DemoteTo(Halves(), first), Halves(), to);
    hn::Store(hn::DemoteTo(Halves(), second), Halves(), to + kLanes);
  }
};

#if HWY_TARGET <= HWY_AVX3
/// Elements of A and B are pairs of bfloat16 numbers. has_bf16_products() has said that the processor multiplies them.
struct StoredBf16Pairs : StoredF32 {
  static HWY_INLINE void add(Float x, Float b, Float& acc) {
    auto v = acc.raw;
    asm("vdpbf16ps %1, %2, %0" : "+v"(v) : "v"(x.raw), "v"(b.raw));
    acc.raw = v;
  }
  static HWY_INLINE void add_from(const float& x, Float b, Float& acc) {
    auto v = acc.raw;
    asm("vdpbf16ps %1%{1to16%}, %2, %0" : "+v"(v) : "m"(x), "v"(b.raw));
    acc.raw = v;
  }
};
#endif

}  // namespace
}  // namespace retort::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif  // per-target include guard
