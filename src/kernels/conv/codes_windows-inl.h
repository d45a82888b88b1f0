// Depthwise windows of 3x3 codes whose quads stay in registers. Included once per instruction level (see dispatch.h).
#if defined(RETORT_KERNELS_CONV_CODES_WINDOWS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef RETORT_KERNELS_CONV_CODES_WINDOWS_INL_H_
#undef RETORT_KERNELS_CONV_CODES_WINDOWS_INL_H_
#else
#define RETORT_KERNELS_CONV_CODES_WINDOWS_INL_H_
#endif

#include "kernels/conv/codes_finish-inl.h"
#include "kernels/conv/conv_codes_parts.h"

#if HWY_TARGET <= HWY_AVX3  // it takes about thirty registers
HWY_BEFORE_NAMESPACE();
namespace retort::kernels::HWY_NAMESPACE {
namespace {

using codes_detail::CodesDepthwise;

/// What depends on the width of a vector, that of a block of channels. Where it is less than 512 bits, some processors
/// execute two such instructions at the same time.
HWY_INLINE __m512i nearest_of(__m512 x) { return _mm512_cvtps_epi32(x); }
HWY_INLINE __m256i nearest_of(__m256 x) { return _mm256_cvtps_epi32(x); }
HWY_INLINE __m128i nearest_of(__m128 x) { return _mm_cvtps_epi32(x); }
HWY_INLINE __m512i codes_of(__m512i a, __m512i b) { return _mm512_packus_epi16(a, b); }
HWY_INLINE __m256i codes_of(__m256i a, __m256i b) { return _mm256_packus_epi16(a, b); }
HWY_INLINE __m128i codes_of(__m128i a, __m128i b) { return _mm_packus_epi16(a, b); }

/// Whether Windows compute it, for which scalings must be plain: with a stride of 1 two lines of results at once.
inline bool suits_windows(const CodesDepthwise& w) {
  const ConvShape& s = *w.shape;
  const bool small = s.kernel_h == 3 && s.kernel_w == 3 && s.dilation_h == 1 && s.dilation_w == 1;
  return small && !w.form.wide && w.passes == 1 && (s.stride_w == 2 || (s.stride_w == 1 && s.stride_h == 1));
}

/// Two columns of results at a time; with a stride of 1, of two lines. A quad has the rows under these lines; under one
/// line, the third row stands for the fourth, whose weight is 0.
template <size_t kWidth, size_t kStride>
class Windows {
 public:
  HWY_INLINE explicit Windows(const CodesDepthwise& w)
      : w_(w),
        outside_(hn::Set(D(), uint8_t(w.outside ^ w.flip))),
        flip_(hn::Set(D(), w.flip)),
        moves_(w.form.zero != (w.form.is_signed ? -128 : 0)),
        range_zero_(hn::Set(Pairs(), int16_t(w.form.zero + (w.form.is_signed ? 128 : 0)))) {
    hn::Store(hn::Set(D(), w.outside), D(), outside_row_);
    for (size_t i = 0; kLines > 1 && i < kVectors * kTaps; ++i) {
      const Vec quads = hn::Load(Units(), reinterpret_cast<const int32_t*>(w.filters + i * kWidth));
      hn::Store(hn::ShiftLeft<8>(quads), Units(), below_ + i * kLanes);
    }
  }

  void convolve() {
    for (size_t line = 0; line < w_.lines; line += kLines) convolve_line(w_.first + line, w_.lines - line);
  }

 private:
  using D = hn::FixedTag<uint8_t, kWidth>;
  using Units = hn::Repartition<int32_t, D>;
  using Floats = hn::Repartition<float, D>;
  using Pairs = hn::Repartition<int16_t, D>;
  using Bytes = hn::Vec<D>;
  using Vec = hn::Vec<Units>;
  static constexpr size_t kTaps = 3, kVectors = 4, kLanes = kWidth / 4, kAtOnce = 2;
  static constexpr size_t kLines = kStride == 1 ? 2 : 1, kRows = kTaps + kLines - 1;
  static constexpr size_t kNew = kAtOnce * kStride, kColumns = (kAtOnce - 1) * kStride + kTaps, kKept = kColumns - kNew;
  /// The quads of all channels at one column.
  struct Quads {
    Vec v[kVectors];
  };

  void convolve_line(size_t line, size_t lines) {
    const ConvShape& s = *w_.shape;
    for (size_t r = 0; r < kRows; ++r) {
      const size_t row = line * s.stride_h + r - s.pad_top;  // wraps around above the image
      const bool inside = row < s.in_h;
      rows_[r] = inside ? w_.image + row * s.in_w * s.in_pixel_stride : outside_row_;
      steps_[r] = inside ? s.in_pixel_stride : 0;
    }
    uint8_t* y = w_.y + line * s.out_w * s.out_pixel_stride;
    Quads q[kColumns];
    size_t column = 0;
#pragma GCC unroll 2
    for (size_t i = 0; i < kKept; ++i) load(column++, q[i]);
    for (size_t x = 0; x < s.out_w; x += kAtOnce, y += kAtOnce * s.out_pixel_stride) {
#pragma GCC unroll 4
      for (size_t i = 0; i < kNew; ++i) load(column++, q[kKept + i]);
      Bytes codes[kLines][kAtOnce];
      compute(q, codes);
#pragma GCC unroll 2
      for (size_t l = 0; l < kLines && l < lines; ++l) {
        uint8_t* const to = y + l * s.out_w * s.out_pixel_stride;
        store(codes[l][0], to);
        if (HWY_LIKELY(x + 1 < s.out_w)) store(codes[l][1], to + s.out_pixel_stride);
      }
#pragma GCC unroll 2
      for (size_t i = 0; i < kKept; ++i) q[i] = q[kNew + i];
    }
  }

  /// The quads at a column of the padded image.
  HWY_INLINE void load(size_t column, Quads& to) const {
    const D d;
    const size_t x = column - w_.shape->pad_left;  // wraps around before the image
    if (HWY_UNLIKELY(x >= w_.shape->in_w)) {
      for (Vec& v : to.v) v = hn::BitCast(Units(), outside_);
      return;
    }
    Bytes rows[4];
#pragma GCC unroll 4
    for (size_t r = 0; r < kRows; ++r) {
      const uint8_t* const from = rows_[r] + x * steps_[r];
      rows[r] = HWY_LIKELY(w_.channels == kWidth) ? hn::LoadU(d, from) : load_bytes(d, from, w_.channels);
    }
    if (w_.flip != 0) {
#pragma GCC unroll 4
      for (size_t r = 0; r < kRows; ++r) rows[r] = hn::Xor(rows[r], flip_);
    }
    if constexpr (kRows < 4) rows[3] = rows[2];
    const hn::Repartition<uint16_t, D> pairs;
    const auto low01 = hn::BitCast(pairs, hn::InterleaveLower(d, rows[0], rows[1]));
    const auto low23 = hn::BitCast(pairs, hn::InterleaveLower(d, rows[2], rows[3]));
    const auto high01 = hn::BitCast(pairs, hn::InterleaveUpper(d, rows[0], rows[1]));
    const auto high23 = hn::BitCast(pairs, hn::InterleaveUpper(d, rows[2], rows[3]));
    to.v[0] = hn::BitCast(Units(), hn::InterleaveLower(pairs, low01, low23));
    to.v[1] = hn::BitCast(Units(), hn::InterleaveUpper(pairs, low01, low23));
    to.v[2] = hn::BitCast(Units(), hn::InterleaveLower(pairs, high01, high23));
    to.v[3] = hn::BitCast(Units(), hn::InterleaveUpper(pairs, high01, high23));
  }

  HWY_INLINE static void add(Vec weights, Vec quads, Vec& sum) {
    auto v = sum.raw;
    asm("vpdpbusd %2, %1, %0" : "+v"(v) : "v"(quads.raw), "vm"(weights.raw));
    sum.raw = v;
  }

  /// The rounded results of vector v of the channels.
  HWY_INLINE void compute_vector(const Quads (&q)[kColumns], size_t v, Vec (&to)[kLines][kAtOnce]) const {
    const Units d;
    const Vec bias = hn::LoadU(d, w_.bias + v * kLanes);
#pragma GCC unroll 4
    for (size_t i = 0; i < kLines * kAtOnce; ++i) to[i / kAtOnce][i % kAtOnce] = bias;
#pragma GCC unroll 3
    for (size_t j = 0; j < kTaps; ++j) {
      const size_t at = j * kVectors + v;
      const Vec weights = hn::Load(d, reinterpret_cast<const int32_t*>(w_.filters + at * kWidth));
#pragma GCC unroll 2
      for (size_t c = 0; c < kAtOnce; ++c) add(weights, q[c * kStride + j].v[v], to[0][c]);
      if constexpr (kLines > 1) {
        const Vec below = hn::Load(d, below_ + at * kLanes);
#pragma GCC unroll 2
        for (size_t c = 0; c < kAtOnce; ++c) add(below, q[c * kStride + j].v[v], to[1][c]);
      }
    }
    const auto scale = hn::LoadU(Floats(), w_.scale + v * kLanes);
#pragma GCC unroll 4
    for (size_t i = 0; i < kLines * kAtOnce; ++i) {
      Vec& sum = to[i / kAtOnce][i % kAtOnce];
      sum = Vec{nearest_of(hn::Mul(hn::ConvertTo(Floats(), sum), scale).raw)};
    }
  }

  HWY_INLINE void compute(const Quads (&q)[kColumns], Bytes (&codes)[kLines][kAtOnce]) const {
    const Pairs d;
    hn::Vec<Pairs> pairs[2][kLines][kAtOnce];
#pragma GCC unroll 2
    for (size_t half = 0; half < 2; ++half) {
      Vec sums[2][kLines][kAtOnce];
      compute_vector(q, 2 * half, sums[0]);
      compute_vector(q, 2 * half + 1, sums[1]);
#pragma GCC unroll 4
      for (size_t i = 0; i < kLines * kAtOnce; ++i) {
        const size_t l = i / kAtOnce, c = i % kAtOnce;
        pairs[half][l][c] = hn::ReorderDemote2To(d, sums[0][l][c], sums[1][l][c]);
        if (moves_) pairs[half][l][c] = hn::SaturatedAdd(pairs[half][l][c], range_zero_);
      }
    }
#pragma GCC unroll 4
    for (size_t i = 0; i < kLines * kAtOnce; ++i) {
      const size_t l = i / kAtOnce, c = i % kAtOnce;
      codes[l][c] = Bytes{codes_of(pairs[0][l][c].raw, pairs[1][l][c].raw)};
    }
    if (!w_.form.is_signed) return;
#pragma GCC unroll 4
    for (size_t i = 0; i < kLines * kAtOnce; ++i) {
      Bytes& v = codes[i / kAtOnce][i % kAtOnce];
      v = hn::Xor(v, hn::Set(D(), 0x80));
    }
  }

  HWY_INLINE void store(Bytes codes, uint8_t* to) const {
    if (HWY_LIKELY(w_.channels == kWidth))
      hn::StoreU(codes, D(), to);
    else
      store_bytes(D(), codes, to, w_.channels);
  }

  const CodesDepthwise& w_;
  Bytes outside_, flip_;
  bool moves_;  ///< whether the zero point, of unsigned codes, is not 0
  hn::Vec<Pairs> range_zero_;
  const uint8_t* rows_[kRows];
  size_t steps_[kRows];
  alignas(64) uint8_t outside_row_[kWidth];
  alignas(64) int32_t below_[kLines > 1 ? kTaps* kVectors* kLanes : kLanes];  ///< weights of the second line
};

template <size_t kWidth>
void convolve_windows(const CodesDepthwise& w) {
  w.shape->stride_w == 1 ? Windows<kWidth, 1>(w).convolve() : Windows<kWidth, 2>(w).convolve();
}

}  // namespace
}  // namespace retort::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
#endif  // per-target include guard
