// A table of 256 bytes fits four vectors of 512 bits. AVX-512 VBMI reads two of them at once, by seven bits of an index.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/elementwise/code_table.cc"
#include "kernels/elementwise/code_table.h"

#include <hwy/foreach_target.h>  // must come before highway.h
#include <hwy/highway.h>

#include "base/features.h"
#include "kernels/dispatch.h"

HWY_BEFORE_NAMESPACE();
namespace retort::kernels::HWY_NAMESPACE {
#if HWY_TARGET <= HWY_AVX3
namespace {

namespace hn = hwy::HWY_NAMESPACE;
using ByteTag = hn::ScalableTag<uint8_t>;
using Bytes = hn::Vec<ByteTag>;

struct Table {
  Bytes part[4];
  explicit Table(const uint8_t* table) {
    for (size_t i = 0; i < 4; ++i) part[i] = hn::LoadU(ByteTag(), table + i * HWY_MAX_BYTES);
  }
  HWY_INLINE Bytes operator()(Bytes index) const {
    auto low = index.raw, high = index.raw;
    // The level does not include VBMI, so the compiler offers no intrinsic.
    asm("vpermi2b %2, %1, %0" : "+v"(low) : "v"(part[0].raw), "v"(part[1].raw));
    asm("vpermi2b %2, %1, %0" : "+v"(high) : "v"(part[2].raw), "v"(part[3].raw));
    return Bytes{_mm512_mask_blend_epi8(_mm512_movepi8_mask(index.raw), low, high)};
  }
};

}  // namespace

/// Returns how many codes it has mapped.
size_t map_vectors(const uint8_t* table, const uint8_t* x, size_t n, uint8_t* y) noexcept {
  const ByteTag d;
  const Table map(table);
  size_t i = 0;
  for (; i + HWY_MAX_BYTES <= n; i += HWY_MAX_BYTES) hn::StoreU(map(hn::LoadU(d, x + i)), d, y + i);
  return i;
}
#else
size_t map_vectors(const uint8_t*, const uint8_t*, size_t, uint8_t*) noexcept { return 0; }
#endif

}  // namespace retort::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace retort::kernels {
namespace {

bool has_wide_tables() {
#if defined(__x86_64__)
  static const bool has = __builtin_cpu_supports("avx512vbmi");
  return has && current_isa() == Isa::avx512 && allows(Feature::vbmi);
#else
  return false;
#endif
}

}  // namespace

void map_codes(const uint8_t* table, const uint8_t* x, size_t n, uint8_t* y) noexcept {
  size_t i = has_wide_tables() ? RETORT_SELECT(map_vectors)(table, x, n, y) : 0;
  for (; i < n; ++i) y[i] = table[x[i]];
}

}  // namespace retort::kernels
#endif
