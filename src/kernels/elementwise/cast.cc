#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/elementwise/cast.cc"
#include "kernels/elementwise/cast.h"

#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <type_traits>

#include "kernels/dispatch.h"
#include "kernels/elementwise/chunks.h"
#include "kernels/elementwise/convert.h"

#ifndef RETORT_CAST_SHARED
#define RETORT_CAST_SHARED
namespace retort::kernels {
using CastBlock = void (*)(const void* x, void* y, size_t n);
}
#endif

HWY_BEFORE_NAMESPACE();
namespace retort::kernels::HWY_NAMESPACE {
namespace {
namespace hn = hwy::HWY_NAMESPACE;

#if HWY_TARGET <= HWY_AVX2 || HWY_ARCH_ARM_A64
constexpr bool kHasHalfInstructions = true;  // F16C is part of Highway's AVX2 level
#else
constexpr bool kHasHalfInstructions = false;
#endif

template <typename From, typename To>
void loop(const From* x, To* y, size_t n) {
  for (size_t i = 0; i < n; ++i) y[i] = convert<To>(x[i]);
}

[[maybe_unused]] void f16_to_f32(const float16* x, float* y, size_t n) {
  const hn::ScalableTag<float> d;
  const hn::Rebind<hwy::float16_t, decltype(d)> dh;
  const auto* const h = reinterpret_cast<const hwy::float16_t*>(x);
  size_t i = 0;
  for (; i + hn::Lanes(d) <= n; i += hn::Lanes(d)) hn::StoreU(hn::PromoteTo(d, hn::LoadU(dh, h + i)), d, y + i);
  loop(x + i, y + i, n - i);
}
[[maybe_unused]] void f32_to_f16(const float* x, float16* y, size_t n) {
  const hn::ScalableTag<float> d;
  const hn::Rebind<hwy::float16_t, decltype(d)> dh;
  auto* const h = reinterpret_cast<hwy::float16_t*>(y);
  size_t i = 0;
  for (; i + hn::Lanes(d) <= n; i += hn::Lanes(d)) hn::StoreU(hn::DemoteTo(dh, hn::LoadU(d, x + i)), dh, h + i);
  loop(x + i, y + i, n - i);
}
// Rounds to nearest even on the bits; NaN keeps its upper bits and becomes quiet.
void f32_to_bf16(const float* x, bfloat16* y, size_t n) {
  const hn::ScalableTag<float> d;
  const hn::RebindToUnsigned<decltype(d)> du;
  const hn::Rebind<uint16_t, decltype(d)> dh;
  auto* const h = reinterpret_cast<uint16_t*>(y);
  size_t i = 0;
  for (; i + hn::Lanes(d) <= n; i += hn::Lanes(d)) {
    const auto v = hn::LoadU(d, x + i);
    const auto bits = hn::BitCast(du, v);
    const auto odd = hn::And(hn::ShiftRight<16>(bits), hn::Set(du, 1));
    const auto rounded = hn::ShiftRight<16>(hn::Add(hn::Add(bits, hn::Set(du, 0x7fff)), odd));
    const auto quiet = hn::Or(hn::ShiftRight<16>(bits), hn::Set(du, 0x40));
    const auto is_nan = hn::RebindMask(du, hn::IsNaN(v));
    const hn::RebindToSigned<decltype(du)> di;
    hn::StoreU(hn::DemoteTo(dh, hn::BitCast(di, hn::IfThenElse(is_nan, quiet, rounded))), dh, h + i);
  }
  loop(x + i, y + i, n - i);
}

template <typename From, typename To>
void block(const void* x, void* y, size_t n) {
  const auto* const from = static_cast<const From*>(x);
  auto* const to = static_cast<To*>(y);
  if constexpr (std::is_same_v<From, To>) {
    if (x != y) std::memcpy(y, x, n * sizeof(From));
  } else if constexpr (kHasHalfInstructions && std::is_same_v<From, float16> && std::is_same_v<To, float>) {
    f16_to_f32(from, to, n);
  } else if constexpr (kHasHalfInstructions && std::is_same_v<From, float> && std::is_same_v<To, float16>) {
    f32_to_f16(from, to, n);
  } else if constexpr (std::is_same_v<From, float> && std::is_same_v<To, bfloat16>) {
    f32_to_bf16(from, to, n);
  } else {
    loop(from, to, n);
  }
}

// Calls f(type tag) for the type of `t`.
template <typename F>
CastBlock with_type(DType t, const F& f) {
  switch (t) {
    case DType::f32:
      return f(std::type_identity<float>());
    case DType::f64:
      return f(std::type_identity<double>());
    case DType::f16:
      return f(std::type_identity<float16>());
    case DType::bf16:
      return f(std::type_identity<bfloat16>());
    case DType::i8:
      return f(std::type_identity<int8_t>());
    case DType::i16:
      return f(std::type_identity<int16_t>());
    case DType::i32:
      return f(std::type_identity<int32_t>());
    case DType::i64:
      return f(std::type_identity<int64_t>());
    case DType::u8:
      return f(std::type_identity<uint8_t>());
    case DType::u16:
      return f(std::type_identity<uint16_t>());
    case DType::u32:
      return f(std::type_identity<uint32_t>());
    case DType::u64:
      return f(std::type_identity<uint64_t>());
    case DType::boolean:
      return f(std::type_identity<bool>());
    default:
      return nullptr;
  }
}

template <typename From, typename To>
constexpr bool through_float() {
  constexpr bool kOneIsFloat = std::is_same_v<From, float> || std::is_same_v<To, float>;
  return (kIsHalf<From> || kIsHalf<To>)&&!kOneIsFloat && !std::is_same_v<From, To>;
}

// Conversions that are compiled for every level; all pairs at every level would be 0.3 MB of code.
template <typename From, typename To>
constexpr bool hot() {
  constexpr bool kOneIsFloat = std::is_same_v<From, float> || std::is_same_v<To, float>;
  constexpr bool kIndices = sizeof(From) >= 4 && sizeof(To) >= 4 && std::is_integral_v<From> && std::is_integral_v<To>;
  return HWY_TARGET == HWY_STATIC_TARGET || kOneIsFloat || kIndices;
}

}  // namespace

/// Null if only the lowest level has the pair, if it goes through float, or if it is not supported at all.
CastBlock cast_block(DType from, DType to) {
  return with_type(from, [to]<typename From>(std::type_identity<From>) {
    return with_type(to, []<typename To>(std::type_identity<To>) -> CastBlock {
      constexpr bool kOtherThanBool = std::is_same_v<From, bool> && !std::is_same_v<To, bool>;
      if constexpr (hot<From, To>() && !kOtherThanBool && !through_float<From, To>()) return &block<From, To>;
      return nullptr;
    });
  });
}

}  // namespace retort::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace retort::kernels {
namespace {

CastBlock block_of(DType from, DType to) {
  const CastBlock block = RETORT_SELECT(cast_block)(from, to);
  return block ? block : HWY_NAMESPACE::cast_block(from, to);
}

// 16-bit floats are converted to and from other types than float in two steps, as convert() does.
void cast_through_float(CastBlock widen, CastBlock narrow, const std::byte* x, size_t from_bytes, std::byte* y,
                        size_t to_bytes, size_t n) {
  constexpr size_t kPart = 1024;
  float part[kPart];
  for (size_t i = 0; i < n; i += kPart) {
    const size_t count = std::min(kPart, n - i);
    widen(x + i * from_bytes, part, count);
    narrow(part, y + i * to_bytes, count);
  }
}

}  // namespace

bool can_cast(DType type) noexcept { return HWY_NAMESPACE::cast_block(type, type) != nullptr; }

void cast(const void* x, DType from, void* y, DType to, size_t n, const Parallel& par) noexcept {
  if (from == DType::boolean && to != DType::boolean) from = DType::u8;  // bytes 0 and 1, whose loops become vectors
  const CastBlock block = block_of(from, to);
  const CastBlock widen = block ? block : block_of(from, DType::f32), narrow = block ? block : block_of(DType::f32, to);
  const size_t from_bytes = dtype_bits(from) / 8, to_bytes = dtype_bits(to) / 8;
  for_chunks(par, n, [&](size_t begin, size_t end) {
    const std::byte* const first = static_cast<const std::byte*>(x) + begin * from_bytes;
    std::byte* const to_first = static_cast<std::byte*>(y) + begin * to_bytes;
    if (block) return block(first, to_first, end - begin);
    cast_through_float(widen, narrow, first, from_bytes, to_first, to_bytes, end - begin);
  });
}

}  // namespace retort::kernels
#endif
