// Depthwise convolution of codes. The lanes are channels; a product adds four kernel rows at once, for which four rows
// of the image are interleaved, once per line of results.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/conv/conv_codes_depthwise.cc"
#include <hwy/foreach_target.h>  // must come before highway.h
#include <hwy/highway.h>

#include <algorithm>
#include <cstring>

#include "kernels/conv/codes_finish-inl.h"
#include "kernels/conv/conv_codes_parts.h"
#include "kernels/gemm/codes_tile.h"

HWY_BEFORE_NAMESPACE();
namespace retort::kernels::HWY_NAMESPACE {
namespace {

using codes_detail::CodesDepthwise;
constexpr size_t kVectors = 4, kBlock = kVectors * kSumLanes;  // of channels
constexpr size_t kQuadBytes = 4 * kBlock;
/// Columns whose sums are in registers.
constexpr size_t kColumns = kAccumulators / 6;
static_assert(kBlock == HWY_MAX_BYTES);

/// Four rows of one column, as quads of one channel each.
HWY_INLINE void store_quads(const Bytes (&rows)[4], uint8_t* to) {
  const ByteTag d;
  const hn::Repartition<uint16_t, ByteTag> pairs;
  const auto pair = [&](Bytes v) HWY_ATTR { return hn::BitCast(pairs, v); };
  const auto low01 = pair(hn::InterleaveLower(d, rows[0], rows[1])),
             low23 = pair(hn::InterleaveLower(d, rows[2], rows[3]));
  const auto high01 = pair(hn::InterleaveUpper(d, rows[0], rows[1])),
             high23 = pair(hn::InterleaveUpper(d, rows[2], rows[3]));
  hn::Store(hn::BitCast(d, hn::InterleaveLower(pairs, low01, low23)), d, to);
  hn::Store(hn::BitCast(d, hn::InterleaveUpper(pairs, low01, low23)), d, to + HWY_MAX_BYTES);
  hn::Store(hn::BitCast(d, hn::InterleaveLower(pairs, high01, high23)), d, to + 2 * HWY_MAX_BYTES);
  hn::Store(hn::BitCast(d, hn::InterleaveUpper(pairs, high01, high23)), d, to + 3 * HWY_MAX_BYTES);
}

/// Columns [begin, end) of four rows; null rows are outside the image.
template <bool kWhole>
HWY_INLINE void interleave_rows(const CodesDepthwise& w, const uint8_t* const (&rows)[4], size_t begin, size_t end,
                                uint8_t* to) {
  const ByteTag d;
  const Bytes flip = hn::Set(d, w.form.flip), outside = hn::Xor(hn::Set(d, w.outside), flip);
  const size_t step = w.shape->in_pixel_stride;
  for (size_t x = begin; x < end; ++x, to += kQuadBytes) {
    Bytes v[4];
#pragma GCC unroll 4
    for (size_t r = 0; r < 4; ++r) {
      v[r] = outside;
      if (!rows[r]) continue;
      const uint8_t* from = rows[r] + x * step;
      v[r] = hn::Xor(kWhole ? hn::LoadU(d, from) : load_bytes(d, from, w.channels), flip);
    }
    store_quads(v, to);
  }
}

/// Interleaves the rows under line `line` of the results, from kernel row `first` on, with their padding.
void gather_quads(const CodesDepthwise& w, size_t line, size_t first, uint8_t* to) {
  const ConvShape& s = *w.shape;
  const uint8_t* rows[4];
  for (size_t r = 0; r < 4; ++r) {
    const size_t kernel_row = std::min(first + r, s.kernel_h - 1);                 // after the last one, weights are 0
    const size_t row = line * s.stride_h + kernel_row * s.dilation_h - s.pad_top;  // wraps around above the image
    rows[r] = row < s.in_h ? w.image + row * s.in_w * s.in_pixel_stride : nullptr;
  }
  const size_t columns = codes_detail::depthwise_columns(s);
  const size_t begin = std::min(s.pad_left, columns), end = std::clamp(s.pad_left + s.in_w, begin, columns);
  const auto pad = [&](size_t from, size_t until) {
    std::memset(to + from * kQuadBytes, w.outside ^ w.form.flip, (until - from) * kQuadBytes);
  };
  pad(0, begin);
  if (w.channels == kBlock)
    interleave_rows<true>(w, rows, 0, end - begin, to + begin * kQuadBytes);
  else
    interleave_rows<false>(w, rows, 0, end - begin, to + begin * kQuadBytes);
  pad(end, columns);
}

/// Columns [x, x + kCount) of a line of results.
template <size_t kCount, CodesUnit kUnit>
HWY_INLINE void sum_columns(const CodesDepthwise& w, size_t x, Sums (&sums)[kCount][kVectors]) {
  const ConvShape& s = *w.shape;
  const size_t columns = codes_detail::depthwise_columns(s), step = s.stride_w * kQuadBytes;
#pragma GCC unroll 4
  for (size_t c = 0; c < kCount; ++c) {
#pragma GCC unroll 4
    for (size_t v = 0; v < kVectors; ++v) sums[c][v] = hn::LoadU(SumTag(), w.bias + v * kSumLanes);
  }
  const int8_t* filters = w.filters;
  for (size_t k = 0; k < s.kernel_h; k += 4) {
    const uint8_t* quads = w.quads + (k / 4 * columns + x * s.stride_w) * kQuadBytes;
    for (size_t j = 0; j < s.kernel_w; ++j, filters += kQuadBytes, quads += s.dilation_w * kQuadBytes) {
#pragma GCC unroll 4
      for (size_t v = 0; v < kVectors; ++v) {
        const QuadA weights(load_quads(filters + v * HWY_MAX_BYTES));
#pragma GCC unroll 4
        for (size_t c = 0; c < kCount; ++c)
          dot<kUnit>(weights, QuadB(quads + c * step + v * HWY_MAX_BYTES), sums[c][v]);
      }
    }
  }
}

template <size_t kCount, CodesUnit kUnit, bool kSigned>
HWY_INLINE void convolve_columns(const CodesDepthwise& w, size_t x, uint8_t* y) {
  const hn::ScalableTag<float> d;
  const ByteTag bytes;
  Sums sums[kCount][kVectors];
  sum_columns<kCount, kUnit>(w, x, sums);
  const Pairs zero = hn::Set(PairTag(), int16_t(w.form.result_zero));
#pragma GCC unroll 4
  for (size_t c = 0; c < kCount; ++c) {
    const auto number = [&](size_t v) HWY_ATTR {
      return rounded(sums[c][v], hn::LoadU(d, w.scale + v * kSumLanes), hn::LoadU(d, w.offset + v * kSumLanes));
    };
    const Bytes codes =
        pack_bytes<kSigned>(pack_pairs(number(0), number(1), zero), pack_pairs(number(2), number(3), zero));
    uint8_t* to = y + (x + c) * w.shape->out_pixel_stride;
    if (w.channels == kBlock)
      hn::StoreU(codes, bytes, to);
    else
      store_bytes(bytes, codes, to, w.channels);
  }
}

template <CodesUnit kUnit, bool kSigned>
void convolve_lines(const CodesDepthwise& w) {
  const ConvShape& s = *w.shape;
  for (size_t line = w.first; line < w.first + w.lines; ++line) {
    for (size_t k = 0; k < s.kernel_h; k += 4)
      gather_quads(w, line, k, w.quads + k / 4 * codes_detail::depthwise_columns(s) * kQuadBytes);
    uint8_t* y = w.y + line * s.out_w * s.out_pixel_stride;
    size_t x = 0;
    for (; x + kColumns <= s.out_w; x += kColumns) convolve_columns<kColumns, kUnit, kSigned>(w, x, y);
    if (x < s.out_w && x > 0)  // computes some columns again
      convolve_columns<kColumns, kUnit, kSigned>(w, s.out_w - kColumns, y);
    else
      for (; x < s.out_w; ++x) convolve_columns<1, kUnit, kSigned>(w, x, y);
  }
}

}  // namespace

void codes_depthwise(const CodesDepthwise& w, [[maybe_unused]] CodesUnit unit) noexcept {
  const bool is_signed = w.form.result_signed;
  if constexpr (kTwoUnits) {
    if (unit == CodesUnit::pairs)
      return is_signed ? convolve_lines<CodesUnit::pairs, true>(w) : convolve_lines<CodesUnit::pairs, false>(w);
  }
  is_signed ? convolve_lines<CodesUnit::quads, true>(w) : convolve_lines<CodesUnit::quads, false>(w);
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

void convolve_code_lines(const CodesDepthwise& lines) noexcept {
  RETORT_SELECT_CODES(codes_depthwise)(lines, codes_unit());
}
void interleave_planes(const uint8_t* planes, size_t plane, size_t count, size_t n, uint8_t* to) noexcept {
  RETORT_SELECT(planes_to_pixels)(planes, plane, count, n, to);
}

}  // namespace retort::kernels::codes_detail
#endif
