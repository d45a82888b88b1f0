// Packs panels of n-bit weights.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/gemm/nbits_pack.cc"
#include <hwy/foreach_target.h>  // must come before highway.h
#include <hwy/highway.h>

#include <cstring>

#include "base/half.h"
#include "kernels/gemm/codes_tile.h"
#include "kernels/gemm/nbits_parts-inl.h"
#include "kernels/gemm/nbits_tile.h"

HWY_BEFORE_NAMESPACE();
namespace retort::kernels::HWY_NAMESPACE {
namespace {

using nbits_detail::Layout;
using nbits_detail::PanelNumbers;

/// Code c of a lane moves to byte c % 4.
template <size_t kBits>
HWY_INLINE Words in_quads(Words codes) {
  const WordTag d;
  if constexpr (kBits == 8) return codes;
  if constexpr (kBits == 4) {
    const Words low = hn::Set(d, 0x0f0f0f0f), pair = hn::Set(d, 0x00ff00ff);
    // The two codes of bytes i and i + 2 make byte i; then bytes 0 and 1 move to 0 and 2.
    const auto spread = [&](Words w) HWY_ATTR {
      const Words joined = hn::And(hn::Or(w, hn::ShiftRight<12>(w)), hn::Set(d, 0xffff));
      return hn::And(hn::Or(joined, hn::ShiftLeft<8>(joined)), pair);
    };
    const Words odd = hn::And(hn::ShiftRight<4>(codes), low);
    return hn::Or(spread(hn::And(codes, low)), hn::ShiftLeft<8>(spread(odd)));
  }
  Words to = hn::Zero(d);
#pragma GCC unroll 16
  for (int c = 0; c < int(32 / kBits); ++c) {
    const Words code = hn::And(hn::ShiftRightSame(codes, c * int(kBits)), hn::Set(d, (1u << kBits) - 1));
    to = hn::Or(to, hn::ShiftLeftSame(code, c % 4 * 8 + c / 4 * int(kBits)));
  }
  return to;
}

template <size_t kBits>
void pack_panel(const Layout& l, const uint8_t* codes, size_t row_bytes, size_t columns, uint8_t* panel) {
  const WordTag d;
  HWY_ALIGN uint32_t lanes[kLanes] = {};
  panel += l.zeros_bytes;
  for (size_t b = 0; b < l.blocks; ++b, panel += l.block_bytes) {
    for (size_t v = 0; v < l.vectors; ++v, codes += sizeof(uint32_t)) {
      for (size_t n = 0; n < columns; ++n) std::memcpy(&lanes[n], codes + n * row_bytes, sizeof(uint32_t));
      hn::StoreU(in_quads<kBits>(hn::Load(d, lanes)), d, reinterpret_cast<uint32_t*>(panel + v * HWY_MAX_BYTES));
    }
  }
}

/// Products of a zero point and a scale.
HWY_INLINE Float offsets(const PanelNumbers& from, size_t block) {
  const FloatTag d;
  return hn::Mul(hn::Load(d, from.zeros + block * kLanes), hn::Load(d, from.scales + block * kLanes));
}

HWY_INLINE void store_numbers(Float x, bool halves, uint8_t* to) {
  const FloatTag d;
  if (!halves) return hn::StoreU(x, d, reinterpret_cast<float*>(to));
#if HWY_ARCH_X86 && HWY_TARGET >= HWY_SSE4  // no instruction: DemoteTo would cut bits off
  HWY_ALIGN float numbers[kLanes];
  hn::Store(x, d, numbers);
  for (size_t n = 0; n < kLanes; ++n) {
    const float16 half(numbers[n]);
    std::memcpy(to + n * sizeof half, &half, sizeof half);
  }
#else
  const hn::Rebind<hwy::float16_t, FloatTag> narrow;
  hn::StoreU(hn::DemoteTo(narrow, x), narrow, reinterpret_cast<hwy::float16_t*>(to));
#endif
}

}  // namespace

void nbits_pack_codes(const NBitForm& form, const Layout& l, const uint8_t* codes, size_t row_bytes, size_t columns,
                      uint8_t* panel) noexcept {
  if (form.bits == 4) return pack_panel<4>(l, codes, row_bytes, columns, panel);
  form.bits == 8 ? pack_panel<8>(l, codes, row_bytes, columns, panel)
                 : pack_panel<2>(l, codes, row_bytes, columns, panel);
}

void nbits_pack_numbers(const NBitForm& form, const Layout& l, const PanelNumbers& from, uint8_t* panel) noexcept {
  for (size_t i = 0; i < from.count; ++i) {
    const size_t block = from.first + i;
    uint8_t* const numbers = panel + l.zeros_bytes + block * l.block_bytes + l.codes_bytes;
    store_numbers(hn::Load(FloatTag(), from.scales + i * kLanes), form.halves, numbers);
    if (form.zeros == NBitZeros::numbers)
      store_numbers(offsets(from, i), form.halves, numbers + kLanes * l.number_bytes);
    uint8_t* const codes = panel + block * kLanes;
    for (size_t n = 0; n < kLanes && form.zeros == NBitZeros::codes; ++n)
      codes[n] = uint8_t(from.zeros[i * kLanes + n]);
  }
}

bool nbits_fit_halves(const NBitForm& form, const PanelNumbers& from) noexcept {
  const FloatTag d;
  const WordTag bits;
  const hn::Rebind<hwy::float16_t, FloatTag> narrow;
  const Float rounding = hn::Set(d, 1.0f / (1 << 22));  // of the division and the product by which an offset went
  const auto rounded = [&](Float x) HWY_ATTR { return hn::PromoteTo(d, hn::DemoteTo(narrow, x)); };
  for (size_t i = 0; i < from.count; ++i) {
    // Bits are compared, since a processor may treat tiny numbers as zeros.
    const Float scale = hn::Load(d, from.scales + i * kLanes);
    if (!hn::AllTrue(bits, hn::Eq(hn::BitCast(bits, rounded(scale)), hn::BitCast(bits, scale)))) return false;
    if (!hn::AllTrue(d, hn::Eq(scale, scale))) return false;
    if (form.zeros != NBitZeros::numbers) continue;
    const Float wanted = offsets(from, i), lost = hn::Abs(hn::Sub(rounded(wanted), wanted));
    if (!hn::AllTrue(d, hn::Le(lost, hn::Mul(rounding, hn::Abs(wanted))))) return false;
  }
  return true;
}

}  // namespace retort::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace retort::kernels::nbits_detail {

void pack_codes(const NBitForm& form, const Layout& layout, const uint8_t* codes, size_t row_bytes, size_t columns,
                uint8_t* panel) noexcept {
  RETORT_SELECT_CODES(nbits_pack_codes)(form, layout, codes, row_bytes, columns, panel);
}
void pack_numbers(const NBitForm& form, const Layout& layout, const PanelNumbers& from, uint8_t* panel) noexcept {
  RETORT_SELECT_CODES(nbits_pack_numbers)(form, layout, from, panel);
}
bool fit_halves(const NBitForm& form, const PanelNumbers& from) noexcept {
  return RETORT_SELECT_CODES(nbits_fit_halves)(form, from);
}

}  // namespace retort::kernels::nbits_detail
#endif
