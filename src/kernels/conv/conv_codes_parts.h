// The parts of conv_codes that depend on the processor.
#pragma once
#include <algorithm>

#include "base/checked.h"
#include "base/cpu.h"
#include "kernels/conv/conv_codes.h"
#include "kernels/gemm/codes_excess.h"

namespace retort::kernels::codes_detail {

inline bool is_depthwise(const ConvShape& s) { return s.groups > 1; }

/// A row of the product is a patch of the image. Its parts are contiguous in the image: kernel rows, or taps if columns
/// are dilated. Each part is padded to quads. Parts are joined if pairs that saturate would cross their border.
struct Patch {
  size_t parts, columns, bytes, padded;
  bool joined;
  explicit Patch(const CodesConvShape& s) {
    const bool dilated = s.kernel_w > 1 && s.dilation_w > 1;
    parts = s.kernel_h * (dilated ? s.kernel_w : 1);
    columns = dilated ? 1 : s.kernel_w;  ///< of the kernel, in a part
    bytes = checked_mul(columns, s.in_c, "patch");
    joined = s.saturates() && bytes % 2 != 0;
    padded = joined ? bytes : round_up(bytes, 4);
  }
  size_t depth() const { return round_up(checked_mul(parts, padded, "patch"), 4); }
};

struct ResultForm {
  bool is_signed = false;
  int32_t zero = 0;
  bool wide = false;  ///< sums of 32 bits instead of codes
  size_t bytes() const { return wide ? sizeof(int32_t) : 1; }
};
/// What a convolution stores in a first step, and where; strides and addresses are in bytes.
inline ResultForm form_of(const ConvCodesArgs& a) { return {a.output_signed, a.output_zero, a.wide.data != nullptr}; }
inline uint8_t* results_of(const ConvCodesArgs& a, size_t pixel, size_t channel) {
  auto* const first = a.wide.data ? static_cast<uint8_t*>(a.wide.data) : a.output;
  return first + (pixel * a.shape.out_pixel_stride + channel) * form_of(a).bytes();
}

/// Whether exact sums are those of pairs that cannot saturate, plus their excess: see codes_excess.h. The excess costs
/// about 14 clock cycles for a row and a panel, however few codes a row has. Products of pairs of 16 bits, which need
/// none, take one (Zen 4) to two cycles more for each quad: they multiply short rows.
inline bool corrects_pairs([[maybe_unused]] const CodesConvShape& s) {
#if defined(__x86_64__)
  constexpr size_t kShort = 40;
  if (s.groups != 1 || s.sums != CodesSums::exact || codes_unit() != CodesUnit::pairs) return false;
  return current_isa() == Isa::v2 || Patch(s).depth() > kShort;
#else
  return false;
#endif
}

/// Whether a FilterFacts follows packed filters, for Winograd's method (codes_winograd.h). With quads, that is faster
/// only if an instruction adds two products of 16 bits, too: with AVX-512.
inline bool has_facts(const CodesConvShape& s) {
  if (corrects_pairs(s)) return true;
#if defined(__x86_64__)
  return s.groups == 1 && s.sums == CodesSums::exact && s.kernel_h == 3 && s.kernel_w == 3 &&
         current_isa() == Isa::avx512 && codes_unit() == CodesUnit::quads;
#else
  return false;
#endif
}
/// Bytes of the filters without what may follow them: a FilterFacts, and their excess if they correct pairs.
size_t panels_bytes(const CodesConvShape& shape);
/// What is known of packed filters. Winograd's method computes 64 times the sums of unsigned codes in 32 bits.
struct FilterFacts {
  static constexpr int32_t kMostSum = (1 << 25) / 255;  ///< of the positive, or the negative, weights of a channel
  uint32_t small_sums = 0;                              ///< whether no channel has a larger sum
};
FilterFacts facts_in(const CodesConvShape& shape, const int8_t* packed);
/// The excess of packed filters, if they correct pairs.
Excess excess_in(const CodesConvShape& shape, const int8_t* packed);

/// With a zero point of the filters, it times the sum of the codes of a row is subtracted from all sums of the row.
struct WindowSums {
  int32_t factor = 0;                            ///< what is added for each code
  int32_t from = 0;                              ///< the number that a code of 0 stands for
  size_t parts = 0, bytes = 0, part_stride = 0;  ///< of a row, without what pads it
  int32_t* sums = nullptr;                       ///< memory for a number for each row; without it, nothing is added
};

inline WindowSums windows_of(const CodesConvShape& s, size_t part_stride, uint8_t* memory) {
  const Patch patch(s);
  auto* sums = reinterpret_cast<int32_t*>(memory);
  return {-s.filter_zero, conv_codes_zero(s, 0, false), patch.parts, patch.bytes, part_stride, sums};
}

/// Rows of codes times panels of filters: result [lines][rows][columns]. A row has parts that may be apart, so that the
/// rows of neighbouring pixels can overlap.
struct CodesProduct {
  ResultForm form;
  bool saturates = false;  ///< see CodesSums::saturating
  bool corrects = false;   ///< see corrects_pairs()
  CodeLines a;             ///< unsigned codes; depth is a multiple of 4
  size_t columns = 0;
  const int8_t* filters = nullptr;  ///< [panel][part][depth / 4][codes_panel_width()][4]
  Excess excess;                    ///< of the pairs of all panels
  size_t first_panel = 0;           ///< that of `filters`
  WindowSums windows;
  uint8_t* arranged = nullptr;    ///< excess_bytes() of working memory, if there is any excess
  const int32_t* bias = nullptr;  ///< these have whole panels
  const float *scale = nullptr, *offset = nullptr;
  uint8_t* y = nullptr;
  size_t y_line = 0, y_stride = 0;  ///< bytes
};
void multiply_codes(const CodesProduct& product) noexcept;
/// Working memory for the excess of `rows` rows.
inline size_t excess_bytes(size_t rows, size_t k) {
  const size_t bytes = checked_add(k, codes_panel_width() * sizeof(int32_t), "rows of codes");
  return round_up(checked_mul(excess_blocks(rows) * kExcessRows, bytes, "rows of codes"), 128);
}

/// Channels of a depthwise convolution are computed in blocks: as wide as a vector of bytes, and for the rest a half, a
/// quarter, down to kLeastBlock.
struct DepthwiseBlock {
  size_t first = 0, width = 0;
};
inline constexpr size_t kLeastBlock = 16;
/// The block that begins with channel `first` of `channels`.
inline DepthwiseBlock depthwise_block(size_t first, size_t channels) {
  const size_t left = round_up(channels - first, kLeastBlock);
  size_t width = 2 * codes_panel_width();
  while (width > left) width /= 2;
  return {first, width};
}
/// The channel of `place` in a block of `width`: of each sixteen, quarter q of every sixteen is before quarter q + 1.
inline size_t depthwise_channel(size_t width, size_t place) {
  const size_t piece = place / 4, blocks = width / kLeastBlock;
  return piece % blocks * kLeastBlock + piece / blocks * 4 + place % 4;
}

/// The number of blocks of channels.
size_t depthwise_blocks(size_t channels);
/// Block i: all but those of the rest are equally wide.
DepthwiseBlock depthwise_block_at(size_t channels, size_t i);

/// Weights less their zero point may need 9 bits: then each is the sum of two, which are packed one after the other.
inline size_t depthwise_passes(const CodesConvShape& s) { return s.filter_zero == 0 ? 1 : 2; }

/// Columns whose sums are computed at the same time, and of a run whose quads stay in the first-level cache.
inline constexpr size_t kDepthwiseColumns = 4, kDepthwiseRun = 64;

/// Lines of the result of a depthwise convolution, one block of channels.
struct CodesDepthwise {
  ResultForm form;
  uint8_t flip = 0;  ///< makes pixels unsigned: inverts the sign bit or nothing
  const ConvShape* shape = nullptr;
  const uint8_t* image = nullptr;   ///< the first channel of the block at pixel 0
  size_t width = 0;                 ///< of the block
  size_t channels = 0;              ///< at most the width
  uint8_t outside = 0;              ///< the code of pixels outside the image
  const int8_t* filters = nullptr;  ///< [kernel row / 4][kernel column][place][4 kernel rows]
  size_t passes = 1;                ///< filters lie one after the other, whose products are added
  const int32_t* bias = nullptr;
  const float *scale = nullptr, *offset = nullptr;
  uint8_t* y = nullptr;  ///< as `image`
  size_t first = 0, lines = 0;
  uint8_t* quads = nullptr;  ///< depthwise_quads_bytes() of working memory
};
/// Columns of the padded image under `count` columns of results.
inline size_t depthwise_columns(const ConvShape& s, size_t count) {
  return (count - 1) * s.stride_w + (s.kernel_w - 1) * s.dilation_w + 1;
}
inline size_t depthwise_quads_bytes(const ConvShape& s) {
  const size_t columns = depthwise_columns(s, std::clamp(s.out_w, kDepthwiseColumns, kDepthwiseRun));
  return ceil_div(s.kernel_h, size_t(4)) * columns * 2 * codes_panel_width() * 4;
}
/// Whether the quads under a line of results are also those under the next one.
inline bool depthwise_takes_two_lines(const ConvShape& s) {
  return s.stride_h == 1 && s.dilation_h == 1 && s.kernel_h % 4 != 0;
}
void convolve_code_lines(const CodesDepthwise& lines) noexcept;

/// Copies n signed codes and makes them unsigned: each is 128 more. `to` may be `from`. Products then need no form for
/// signed pixels, which would take an instruction more for each quad.
void copy_unsigned(const uint8_t* from, size_t n, uint8_t* to) noexcept;

/// The second step of wide results with scales: makes sums of channels [c0, c1) of `pixels` neighbours floats, where
/// they are.
void finish_sums(const ConvCodesArgs& args, size_t pixel, size_t pixels, size_t c0, size_t c1) noexcept;

/// Interleaves n bytes of each of 1 to 4 planes, which are `plane` bytes apart.
void interleave_planes(const uint8_t* planes, size_t plane, size_t count, size_t n, uint8_t* to) noexcept;

}  // namespace retort::kernels::codes_detail
