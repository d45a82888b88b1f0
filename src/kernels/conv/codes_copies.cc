// Copies of pixels that the products of codes read.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/conv/codes_copies.cc"
#include <hwy/foreach_target.h>  // must come before highway.h
#include <hwy/highway.h>

#include "kernels/conv/codes_finish-inl.h"
#include "kernels/conv/conv_codes_parts.h"
#include "kernels/dispatch.h"

HWY_BEFORE_NAMESPACE();
namespace retort::kernels::HWY_NAMESPACE {

void codes_to_unsigned(const uint8_t* from, size_t n, uint8_t* to) noexcept {
  const ByteTag d;
  size_t i = 0;
  for (; i + HWY_MAX_BYTES <= n; i += HWY_MAX_BYTES)
    hn::StoreU(hn::Xor(hn::LoadU(d, from + i), hn::Set(d, 0x80)), d, to + i);
  for (; i < n; ++i) to[i] = uint8_t(from[i] ^ 0x80);
}

void planes_to_pixels(const uint8_t* planes, size_t plane, size_t count, size_t n, uint8_t* to) noexcept {
  const hn::CappedTag<uint8_t, HWY_MAX_BYTES> d;
  const size_t lanes = hn::Lanes(d);
  size_t i = 0;
  for (; count > 1 && i + lanes <= n; i += lanes) {
    const auto part = [&](size_t c) HWY_ATTR { return hn::LoadU(d, planes + c * plane + i); };
    if (count == 2) hn::StoreInterleaved2(part(0), part(1), d, to + 2 * i);
    if (count == 3) hn::StoreInterleaved3(part(0), part(1), part(2), d, to + 3 * i);
    if (count == 4) hn::StoreInterleaved4(part(0), part(1), part(2), part(3), d, to + 4 * i);
  }
  for (; i < n; ++i) {
    for (size_t c = 0; c < count; ++c) to[i * count + c] = planes[c * plane + i];
  }
}

}  // namespace retort::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace retort::kernels::codes_detail {

void copy_unsigned(const uint8_t* from, size_t n, uint8_t* to) noexcept {
  RETORT_SELECT(codes_to_unsigned)(from, n, to);
}
void interleave_planes(const uint8_t* planes, size_t plane, size_t count, size_t n, uint8_t* to) noexcept {
  RETORT_SELECT(planes_to_pixels)(planes, plane, count, n, to);
}

}  // namespace retort::kernels::codes_detail
#endif
