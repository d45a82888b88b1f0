// Winograd convolution F(4x4, 3x3): a 4x4 tile of outputs from a 6x6 tile of inputs by 36 multiplications instead of
// 144; and F(2x2, 3x3): 16 instead of 36, with half the filters. See A. Lavin and S. Gray, "Fast Algorithms for
// Convolutional Neural Networks" (2015). The large tile has the interpolation points 0, ±1/sqrt(2), ±sqrt(2), ∞: at the
// same cost their error is a fifth of that of 0, ±1, ±2, ∞ (measured: 2e-6 instead of 1e-5 of the largest output, 256
// channels). The small tile has the points 0, ±1, ∞.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/conv/winograd.cc"
#include <hwy/foreach_target.h>  // must come before highway.h
#include <hwy/highway.h>

#include <algorithm>
#include <numbers>

#include "kernels/conv/finish-inl.h"
#include "kernels/conv/winograd.h"
#include "kernels/dispatch.h"

HWY_BEFORE_NAMESPACE();
namespace retort::kernels::HWY_NAMESPACE {
namespace {

constexpr float kSqrt2 = std::numbers::sqrt2_v<float>;
// o = B^T · d, where the rows of B^T are the coefficients of x(x² - 1/2)(x² - 2) without the factor of each point.
HWY_INLINE void input_transform(const Float (&d)[6], Float (&o)[6]) {
  const FloatTag t;
  const Float half = hn::Set(t, 0.5f), two = hn::Set(t, 2.0f), middle = hn::Set(t, 2.5f);
  const Float near = hn::Set(t, kSqrt2 / 2), far = hn::Set(t, kSqrt2);
  const Float near_even = hn::NegMulAdd(two, d[2], d[4]), near_odd = hn::NegMulAdd(two, d[1], d[3]);
  const Float far_even = hn::NegMulAdd(half, d[2], d[4]), far_odd = hn::NegMulAdd(half, d[1], d[3]);
  o[0] = hn::NegMulAdd(middle, d[2], hn::Add(d[0], d[4]));
  o[1] = hn::MulAdd(near, near_odd, near_even);
  o[2] = hn::NegMulAdd(near, near_odd, near_even);
  o[3] = hn::MulAdd(far, far_odd, far_even);
  o[4] = hn::NegMulAdd(far, far_odd, far_even);
  o[5] = hn::NegMulAdd(middle, d[3], hn::Add(d[1], d[5]));
}

HWY_INLINE void input_transform(const Float (&d)[4], Float (&o)[4]) {
  o[0] = hn::Sub(d[0], d[2]);
  o[1] = hn::Add(d[1], d[2]);
  o[2] = hn::Sub(d[2], d[1]);
  o[3] = hn::Sub(d[3], d[1]);
}

// o = A^T · m, where row i of A^T holds the powers i of the points.
HWY_INLINE void output_transform(const Float (&m)[4], Float (&o)[2]) {
  o[0] = hn::Add(m[0], hn::Add(m[1], m[2]));
  o[1] = hn::Add(m[3], hn::Sub(m[1], m[2]));
}

HWY_INLINE void output_transform(const Float (&m)[6], Float (&o)[4]) {
  const FloatTag t;
  const Float half = hn::Set(t, 0.5f), two = hn::Set(t, 2.0f), near = hn::Set(t, kSqrt2 / 2), far = hn::Set(t, kSqrt2);
  const Float near_sum = hn::Add(m[1], m[2]), near_difference = hn::Mul(near, hn::Sub(m[1], m[2]));
  const Float far_sum = hn::Add(m[3], m[4]), far_difference = hn::Mul(far, hn::Sub(m[3], m[4]));
  o[0] = hn::Add(hn::Add(m[0], near_sum), far_sum);
  o[1] = hn::Add(near_difference, far_difference);
  o[2] = hn::MulAdd(half, near_sum, hn::Mul(two, far_sum));
  o[3] = hn::MulAdd(half, near_difference, hn::MulAdd(two, far_difference, m[5]));
}

// Two rows of B^T · d for one column d: those of a pair of points, or of 0 and ∞.
enum class RowPair { near, far, ends };

template <RowPair kPair>
HWY_INLINE void transform_column(const float* const* column, size_t channel, size_t n, Float& first, Float& second) {
  const FloatTag t;
  Float d[6];
#pragma GCC unroll 6
  for (size_t i = kPair != RowPair::ends; i < (kPair == RowPair::ends ? 6 : 5); ++i) {
    d[i] = load_first(column[i * 6] + channel, n);
  }
  if constexpr (kPair == RowPair::ends) {
    const Float middle = hn::Set(t, 2.5f);
    first = hn::NegMulAdd(middle, d[2], hn::Add(d[0], d[4]));
    second = hn::NegMulAdd(middle, d[3], hn::Add(d[1], d[5]));
  } else {
    const Float other_square = hn::Set(t, kPair == RowPair::near ? 2.0f : 0.5f);
    const Float point = hn::Set(t, kPair == RowPair::near ? kSqrt2 / 2 : kSqrt2);
    const Float even = hn::NegMulAdd(other_square, d[2], d[4]), odd = hn::NegMulAdd(other_square, d[1], d[3]);
    first = hn::MulAdd(point, odd, even);
    second = hn::NegMulAdd(point, odd, even);
  }
}

// Rows `first` and `second` of V = B^T · d · B.
template <RowPair kPair>
HWY_INLINE void transform_rows(const float* const (&pixels)[36], size_t channel, size_t n, float* v, size_t plane) {
  constexpr size_t kFirst = kPair == RowPair::near ? 1 : kPair == RowPair::far ? 3 : 0;
  constexpr size_t kSecond = kPair == RowPair::near ? 2 : kPair == RowPair::far ? 4 : 5;
  Float first[6], second[6], o[6];
#pragma GCC unroll 6
  for (size_t j = 0; j < 6; ++j) transform_column<kPair>(pixels + j, channel, n, first[j], second[j]);
  input_transform(first, o);
#pragma GCC unroll 6
  for (size_t j = 0; j < 6; ++j) hn::StoreU(o[j], FloatTag(), v + (kFirst * 6 + j) * plane);
  input_transform(second, o);
#pragma GCC unroll 6
  for (size_t j = 0; j < 6; ++j) hn::StoreU(o[j], FloatTag(), v + (kSecond * 6 + j) * plane);
}

// V for n channels of one tile; `pixels` are the addresses of the 36 inputs. Two rows are computed at a time: loading
// the inputs three times costs less than spilling 36 vectors.
template <bool kRounds>
HWY_INLINE void transform_tile(const float* const (&pixels)[36], size_t channel, size_t n, float* v, size_t plane) {
  static_assert(!kRounds);
  transform_rows<RowPair::near>(pixels, channel, n, v + channel, plane);
  transform_rows<RowPair::far>(pixels, channel, n, v + channel, plane);
  transform_rows<RowPair::ends>(pixels, channel, n, v + channel, plane);
}

// Stores the channels of a row of V from `channel` on, rounded to the nearest bfloat16 numbers if kRounds.
template <bool kRounds>
HWY_INLINE void store_channels(Float x, float* row, size_t channel) {
#if HWY_TARGET <= HWY_AVX3 && HWY_ARCH_X86
  if constexpr (kRounds) {  // has_bf16_products() has said that the processor has the instruction
    __m256i rounded;
    asm("vcvtneps2bf16 %1, %0" : "=v"(rounded) : "v"(x.raw));
    return _mm256_storeu_si256(reinterpret_cast<__m256i_u*>(reinterpret_cast<uint16_t*>(row) + channel), rounded);
  }
#endif
  hn::StoreU(x, FloatTag(), row + channel);
}

template <bool kRounds>
HWY_INLINE void transform_tile(const float* const (&pixels)[16], size_t channel, size_t n, float* v, size_t plane) {
  Float rows[4][4];
#pragma GCC unroll 4
  for (size_t j = 0; j < 4; ++j) {
    Float d[4], o[4];
#pragma GCC unroll 4
    for (size_t i = 0; i < 4; ++i) d[i] = load_first(pixels[i * 4 + j] + channel, n);
    input_transform(d, o);
#pragma GCC unroll 4
    for (size_t i = 0; i < 4; ++i) rows[i][j] = o[i];
  }
#pragma GCC unroll 4
  for (size_t i = 0; i < 4; ++i) {
    Float o[4];
    input_transform(rows[i], o);
#pragma GCC unroll 4
    for (size_t j = 0; j < 4; ++j) store_channels<kRounds>(o[j], v + (i * 4 + j) * plane, channel);
  }
}

// Computes, finishes and stores Y = A^T · M · A for n output channels of one tile.
template <size_t kTile>
HWY_INLINE void finish_tile(const float* m, size_t plane, const Finish& finish, const OutputTile& at) {
  constexpr size_t kSide = kTile + 2;
  Float rows[kTile][kSide];
#pragma GCC unroll 6
  for (size_t j = 0; j < kSide; ++j) {
    Float column[kSide], o[kTile];
#pragma GCC unroll 6
    for (size_t i = 0; i < kSide; ++i) column[i] = hn::LoadU(FloatTag(), m + (i * kSide + j) * plane);
    output_transform(column, o);
#pragma GCC unroll 6
    for (size_t i = 0; i < kTile; ++i) rows[i][j] = o[i];
  }
  Float y[kTile * kTile];
#pragma GCC unroll 6
  for (size_t i = 0; i < kTile; ++i) {
    Float o[kTile];
    output_transform(rows[i], o);
#pragma GCC unroll 6
    for (size_t j = 0; j < kTile; ++j) y[i * kTile + j] = o[j];
  }
  finish.store<kTile, kTile>(y, at);
}

template <size_t kTile, bool kRounds = false>
void transform_block(const ConvArgs& args, const conv_detail::WinogradPlan& plan,
                     const conv_detail::WinogradBlock& block, const float* zeros, float* v) {
  constexpr size_t kSide = kTile + 2;
  const ConvShape& s = args.shape;
  for (size_t t = block.t0; t < block.t1; ++t, v += plan.v.stride) {
    const conv_detail::ImageTile tile = conv_detail::image_tile(s, plan, t);
    const float* image = args.input + tile.image * s.in_h * s.in_w * s.in_pixel_stride;
    // Coordinates left of or above the image wrap around, so they are larger than its size too.
    const size_t y0 = tile.y - s.pad_top, x0 = tile.x - s.pad_left;
    const float* pixels[kSide * kSide];
    for (size_t i = 0; i < kSide * kSide; ++i) {
      const size_t y = y0 + i / kSide * s.dilation_h, x = x0 + i % kSide * s.dilation_w;
      pixels[i] = y < s.in_h && x < s.in_w ? image + (y * s.in_w + x) * s.in_pixel_stride : zeros;
    }
    size_t c = 0;
    for (; c + kLanes <= s.in_c; c += kLanes) transform_tile<kRounds>(pixels, c, kLanes, v, plan.v.plane);
    if (c < s.in_c) transform_tile<kRounds>(pixels, c, s.in_c - c, v, plan.v.plane);
  }
}

template <size_t kTile>
void finish_block(const ConvArgs& args, const conv_detail::WinogradPlan& plan, const conv_detail::WinogradBlock& block,
                  const float* m) {
  const ConvShape& s = args.shape;
  const Finish all(args);
  const size_t line = s.out_w * s.dilation_h, tile_line = line / s.dilation_w;
  for (size_t t = block.t0; t < block.t1; ++t, m += plan.m.stride) {
    const conv_detail::ImageTile tile = conv_detail::image_tile(s, plan, t);
    if (tile.rows == 0 || tile.columns == 0) continue;
    const size_t first = (tile.image * s.out_h + tile.y) * s.out_w + tile.x;
    const Finish finish = all.every(s.dilation_w, first);
    OutputTile at{0, tile_line, tile.rows, tile.columns, block.n0, kLanes};
    const float* sums = m;
    for (; at.channel + kLanes <= block.n1; at.channel += kLanes, sums += kLanes) {
      finish_tile<kTile>(sums, plan.m.plane, finish, {at.pixel, at.line, at.rows, at.columns, at.channel, kLanes});
    }
    at.channels = block.n1 - at.channel;
    if (at.channels > 0) finish_tile<kTile>(sums, plan.m.plane, finish, at);
    const size_t rows = std::min(kTile, at.rows), columns = std::min(kTile, at.columns);
    for (size_t row = 0; row < rows; ++row)
      finish.activate(first + row * line, columns, block.n0, block.n1, s.dilation_w);
  }
}

}  // namespace

// winograd_filters.cc
void winograd_filters(const ConvArgs& args, const conv_detail::WinogradPlan& plan,
                      const conv_detail::WinogradFilters& which, float* u) noexcept;

void winograd_input(const ConvArgs& args, const conv_detail::WinogradPlan& plan,
                    const conv_detail::WinogradBlock& block, const float* zeros, float* v) noexcept {
#if HWY_TARGET <= HWY_AVX3 && HWY_ARCH_X86
  if (plan.rounds) return transform_block<2, true>(args, plan, block, zeros, v);
#endif
  plan.tiles.edge == 2 ? transform_block<2>(args, plan, block, zeros, v)
                       : transform_block<4>(args, plan, block, zeros, v);
}

void winograd_output(const ConvArgs& args, const conv_detail::WinogradPlan& plan,
                     const conv_detail::WinogradBlock& block, const float* m) noexcept {
  plan.tiles.edge == 2 ? finish_block<2>(args, plan, block, m) : finish_block<4>(args, plan, block, m);
}

}  // namespace retort::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace retort::kernels::conv_detail {

WinogradTransforms image_transforms() {
  return {RETORT_SELECT(winograd_input), RETORT_SELECT(winograd_filters), RETORT_SELECT(winograd_output)};
}

}  // namespace retort::kernels::conv_detail
#endif
