// Depthwise convolution of codes. The lanes are channels; a product adds four kernel rows at once, for which four rows
// of the image are interleaved. The same quads serve two lines of results where the weights of the second are those of
// the first, moved by a row.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/conv/conv_codes_depthwise.cc"
#include <hwy/foreach_target.h>  // must come before highway.h
#include <hwy/highway.h>

#include <algorithm>
#include <cstring>

#include "base/checked.h"
#include "kernels/conv/codes_finish-inl.h"
#include "kernels/conv/codes_windows-inl.h"
#include "kernels/conv/conv_codes_parts.h"
#include "kernels/gemm/codes_tile.h"

HWY_BEFORE_NAMESPACE();
namespace retort::kernels::HWY_NAMESPACE {
namespace {

using codes_detail::CodesDepthwise;
using codes_detail::kDepthwiseColumns;

/// A block of channels, of which a vector of bytes has `kGroup` columns. Its channels are ordered as interleaving four
/// vectors of bytes gives them, see depthwise_channel().
template <size_t kGroup>
struct Block {
  static constexpr size_t kWidth = HWY_MAX_BYTES / kGroup;        ///< channels
  static constexpr size_t kVectors = 4 / kGroup;                  ///< of sums of a column
  static constexpr size_t kQuadBytes = kVectors * HWY_MAX_BYTES;  ///< of the quads of a column
  using Tag = hn::FixedTag<uint8_t, kWidth>;

  /// Column `i` of a vector of bytes.
  static HWY_INLINE hn::Vec<Tag> column(Bytes v, size_t i) {
    if constexpr (kGroup == 1) {
      return v;
    } else if constexpr (kGroup == 2) {
      return i == 0 ? hn::LowerHalf(Tag(), v) : hn::UpperHalf(Tag(), v);
    } else {
      const hn::Half<ByteTag> half;
      const auto two = i < 2 ? hn::LowerHalf(half, v) : hn::UpperHalf(half, v);
      return i % 2 == 0 ? hn::LowerHalf(Tag(), two) : hn::UpperHalf(Tag(), two);
    }
  }
  /// A vector of the columns that `part(i)` returns.
  template <typename F>
  static HWY_INLINE Bytes joined(F&& part) {
    if constexpr (kGroup == 1) {
      return part(0);
    } else if constexpr (kGroup == 2) {
      return hn::Combine(ByteTag(), part(1), part(0));
    } else {
      const hn::Half<ByteTag> half;
      return hn::Combine(ByteTag(), hn::Combine(half, part(3), part(2)), hn::Combine(half, part(1), part(0)));
    }
  }
};

/// The order, in units of four codes, that makes columns of channels of what pack_bytes() packed from the sums of
/// `kGroup` columns.
template <size_t kGroup>
struct ColumnsOrder {
  alignas(64) int32_t at[kSumLanes];
  constexpr ColumnsOrder() : at() {
    using B = Block<kGroup>;
    constexpr size_t kBlocks = B::kWidth / 16, kUnits = B::kWidth / 4, kOfVector = HWY_MAX_BYTES / 16;
    for (size_t i = 0; i < kSumLanes; ++i) {
      const size_t column = i / kUnits, unit = i % kUnits, piece = unit % 4 * kBlocks + unit / 4;
      at[i] = int32_t(piece % kOfVector * 4 + column * B::kVectors + piece / kOfVector);
    }
  }
};

/// Four rows of `kGroup` columns, of which the first `count` are stored as quads of one channel each.
template <size_t kGroup>
HWY_INLINE void store_quads(const Bytes (&rows)[4], size_t count, uint8_t* to) {
  using B = Block<kGroup>;
  const ByteTag d;
  const hn::Repartition<uint16_t, ByteTag> pairs;
  const auto pair = [&](Bytes v) HWY_ATTR { return hn::BitCast(pairs, v); };
  const auto low01 = pair(hn::InterleaveLower(d, rows[0], rows[1])),
             low23 = pair(hn::InterleaveLower(d, rows[2], rows[3]));
  const auto high01 = pair(hn::InterleaveUpper(d, rows[0], rows[1])),
             high23 = pair(hn::InterleaveUpper(d, rows[2], rows[3]));
  const Bytes quads[4] = {hn::BitCast(d, hn::InterleaveLower(pairs, low01, low23)),
                          hn::BitCast(d, hn::InterleaveUpper(pairs, low01, low23)),
                          hn::BitCast(d, hn::InterleaveLower(pairs, high01, high23)),
                          hn::BitCast(d, hn::InterleaveUpper(pairs, high01, high23))};
#pragma GCC unroll 4
  for (size_t i = 0; i < kGroup; ++i) {
    if (i >= count) return;
#pragma GCC unroll 4
    for (size_t v = 0; v < 4; ++v)
      hn::Store(B::column(quads[v], i), typename B::Tag(), to + i * B::kQuadBytes + v * B::kWidth);
  }
}

/// Columns [0, count) of four rows, whose first pixels `rows` points to; null rows are outside the image.
template <size_t kGroup, bool kWhole>
HWY_INLINE void interleave_rows(const CodesDepthwise& w, const uint8_t* const (&rows)[4], size_t count, uint8_t* to) {
  using B = Block<kGroup>;
  const ByteTag d;
  const typename B::Tag part;
  const Bytes flip = hn::Set(d, w.flip), outside = hn::Set(d, uint8_t(w.outside ^ w.flip));
  const size_t step = w.shape->in_pixel_stride;
  for (size_t x = 0; x < count; x += kGroup, to += kGroup * B::kQuadBytes) {
    Bytes v[4];
#pragma GCC unroll 4
    for (size_t r = 0; r < 4; ++r) {
      v[r] = outside;
      if (!rows[r]) continue;
      v[r] = hn::Xor(flip, B::joined([&](size_t i) HWY_ATTR {
                       const uint8_t* from = rows[r] + std::min(x + i, count - 1) * step;
                       return kWhole ? hn::LoadU(part, from) : load_bytes(part, from, w.channels);
                     }));
    }
    store_quads<kGroup>(v, count - x, to);
  }
}

/// A run of columns of a line of results: what lies under them in the padded image.
struct Columns {
  size_t first, count;
  size_t under(const ConvShape& s) const { return codes_detail::depthwise_columns(s, count); }
};

/// Interleaves four rows under columns of line `line` of the results, from kernel row `first` on, with their padding.
template <size_t kGroup>
void gather_quads(const CodesDepthwise& w, const Columns& of, size_t line, size_t first, size_t rows_used,
                  uint8_t* to) {
  constexpr size_t kQuadBytes = Block<kGroup>::kQuadBytes;
  const ConvShape& s = *w.shape;
  const size_t columns = of.under(s), left = of.first * s.stride_w;  // in the padded image
  const size_t begin = std::clamp(s.pad_left, left, left + columns) - left;
  const size_t end = std::clamp(s.pad_left + s.in_w, left + begin, left + columns) - left;
  const uint8_t* rows[4];
  for (size_t r = 0; r < 4; ++r) {
    const size_t kernel_row = std::min(first + r, rows_used - 1);                  // after the last one, weights are 0
    const size_t row = line * s.stride_h + kernel_row * s.dilation_h - s.pad_top;  // wraps around above the image
    rows[r] = nullptr;
    if (row < s.in_h && begin < end) rows[r] = w.image + (row * s.in_w + left + begin - s.pad_left) * s.in_pixel_stride;
  }
  const auto pad = [&](size_t from, size_t until) {
    std::memset(to + from * kQuadBytes, w.outside ^ w.flip, (until - from) * kQuadBytes);
  };
  pad(0, begin);
  if (w.channels == Block<kGroup>::kWidth)
    interleave_rows<kGroup, true>(w, rows, end - begin, to + begin * kQuadBytes);
  else
    interleave_rows<kGroup, false>(w, rows, end - begin, to + begin * kQuadBytes);
  pad(end, columns);
}

/// What one run of columns has in common.
struct Run {
  const CodesDepthwise& w;
  CodeRange range;
  size_t sets;    ///< of four rows
  size_t stride;  ///< bytes of quads from a set to the next
};

/// The weights of quads for the second line: those of the first, one row later. `before` is how many bytes before them
/// the weights of the four rows above are, or 0.
template <size_t kLines>
HWY_INLINE Sums next_line(const int8_t* weights, size_t before) {
  if constexpr (kLines == 1) {
    return hn::Zero(SumTag());
  } else {
    const Sums moved = hn::ShiftLeft<8>(load_quads(weights));
    if (before == 0) return moved;
    const hn::RebindToUnsigned<SumTag> d;
    const Sums last = hn::BitCast(SumTag(), hn::ShiftRight<24>(hn::BitCast(d, load_quads(weights - before))));
    return hn::Or(moved, last);
  }
}

template <size_t kLines>
using ColumnSums = Sums[kLines][kDepthwiseColumns];

/// Sums of `kAtOnce` vectors, from vector v on, of kDepthwiseColumns columns, for `kLines` lines.
template <size_t kGroup, size_t kLines, size_t kAtOnce, CodesUnit kUnit>
HWY_INLINE void sum_columns(const Run& r, const uint8_t* from, size_t v, ColumnSums<kLines>* sums) {
  constexpr size_t kQuadBytes = Block<kGroup>::kQuadBytes;
  const ConvShape& s = *r.w.shape;
  const size_t step = s.stride_w * kQuadBytes;
#pragma GCC unroll 2
  for (size_t n = 0; n < kAtOnce; ++n) {
    const Sums bias = hn::LoadU(SumTag(), r.w.bias + (v + n) * kSumLanes);
#pragma GCC unroll 8
    for (size_t i = 0; i < kLines * kDepthwiseColumns; ++i)
      sums[n][i / kDepthwiseColumns][i % kDepthwiseColumns] = bias;
  }
  const int8_t* filters = r.w.filters + v * HWY_MAX_BYTES;
  const size_t set_bytes = s.kernel_w * kQuadBytes;
  from += v * HWY_MAX_BYTES;
  for (size_t i = 0, k = 0; i < r.w.passes * r.sets; ++i, filters += set_bytes) {
    const uint8_t* quads = from + k * r.stride;
    for (size_t j = 0; j < s.kernel_w; ++j, quads += s.dilation_w * kQuadBytes) {
#pragma GCC unroll 2
      for (size_t n = 0; n < kAtOnce; ++n) {
        const int8_t* rows = filters + j * kQuadBytes + n * HWY_MAX_BYTES;
        const QuadA weights(load_quads(rows)), below(next_line<kLines>(rows, k > 0 ? set_bytes : 0));
#pragma GCC unroll 4
        for (size_t c = 0; c < kDepthwiseColumns; ++c) {
          const QuadB x(quads + c * step + n * HWY_MAX_BYTES);
          dot<kUnit>(weights, x, sums[n][0][c]);
          if constexpr (kLines > 1) dot<kUnit>(below, x, sums[n][1][c]);
        }
      }
    }
    if (++k == r.sets) k = 0;
  }
}

template <size_t kLines, size_t kAtOnce, bool kPlain>
HWY_INLINE void round_columns(const CodesDepthwise& w, size_t v, ColumnSums<kLines>* sums) {
#pragma GCC unroll 2
  for (size_t n = 0; n < kAtOnce; ++n) {
    const Scaling by = load_scaling(w.scale + (v + n) * kSumLanes, w.offset + (v + n) * kSumLanes);
#pragma GCC unroll 8
    for (size_t i = 0; i < kLines * kDepthwiseColumns; ++i) {
      Sums& sum = sums[n][i / kDepthwiseColumns][i % kDepthwiseColumns];
      sum = rounded<kPlain>(sum, by);
    }
  }
}

/// Pairs of vectors of numbers for each line: of a column, or if a column has only one vector, of two columns.
template <size_t kGroup>
using ColumnPairs = Pairs[kDepthwiseColumns * Block<kGroup>::kVectors / 2];

/// Stores the first `count` of kDepthwiseColumns columns.
template <size_t kGroup>
HWY_INLINE void store_columns(const Run& r, const ColumnPairs<kGroup>& pairs, size_t count, uint8_t* to) {
  using B = Block<kGroup>;
  static constexpr ColumnsOrder<kGroup> order;
  const SumTag units;
  const typename B::Tag part;
  const CodesDepthwise& w = r.w;
#pragma GCC unroll 4
  for (size_t c = 0; c < kDepthwiseColumns; c += kGroup) {
    const size_t at = c * B::kVectors / 2;
    Bytes codes = pack_bytes(pairs[at], pairs[at + 1], r.range);
    if constexpr (kGroup > 1)
      codes =
          hn::BitCast(ByteTag(), hn::TableLookupLanes(hn::BitCast(units, codes), hn::SetTableIndices(units, order.at)));
#pragma GCC unroll 4
    for (size_t i = 0; i < kGroup; ++i, to += w.shape->out_pixel_stride) {
      if (c + i >= count) return;
      if (HWY_LIKELY(w.channels == B::kWidth))
        hn::StoreU(B::column(codes, i), part, to);
      else
        store_bytes(part, B::column(codes, i), to, w.channels);
    }
  }
}

/// The first `count` columns of vector v of sums, as they are: a vector has four channels of each sixteen, see
/// depthwise_channel(). Not inlined, since there are many forms.
template <size_t kGroup>
HWY_NOINLINE void store_sums(const CodesDepthwise& w, size_t v, const int32_t* sums, size_t count, uint8_t* to) {
  constexpr size_t kPiece = 4;
  size_t channels[kSumLanes / kPiece];
  for (size_t i = 0; i < kSumLanes / kPiece; ++i)
    channels[i] = codes_detail::depthwise_channel(Block<kGroup>::kWidth, v * kSumLanes + i * kPiece);
  for (size_t c = 0; c < count; ++c, to += w.shape->out_pixel_stride * sizeof(int32_t)) {
    for (const size_t channel : channels) {
      uint8_t* const at = to + channel * sizeof(int32_t);
      if (channel + kPiece <= w.channels)
        std::memcpy(at, sums, kPiece * sizeof(int32_t));
      else if (channel < w.channels)
        std::memcpy(at, sums, (w.channels - channel) * sizeof(int32_t));
      sums += kPiece;
    }
  }
}

/// The sums of kDepthwiseColumns columns, of which the first `count` are stored as they are. This is for single lines only:
/// forms for two would be as much code again.
template <size_t kGroup, CodesUnit kUnit>
HWY_NOINLINE void convolve_sums(const Run& r, const uint8_t* quads, size_t count, uint8_t* y) {
  for (size_t v = 0; v < Block<kGroup>::kVectors; ++v) {
    ColumnSums<1> sums[1];
    sum_columns<kGroup, 1, 1, kUnit>(r, quads, v, sums);
    alignas(64) int32_t lanes[kDepthwiseColumns * kSumLanes];
#pragma GCC unroll 4
    for (size_t c = 0; c < kDepthwiseColumns; ++c) hn::Store(sums[0][0][c], SumTag(), lanes + c * kSumLanes);
    store_sums<kGroup>(r.w, v, lanes, count, y);
  }
}

/// kDepthwiseColumns columns of `kLines` lines, of which the first `count` are stored.
template <size_t kGroup, size_t kLines, CodesUnit kUnit, bool kPlain>
HWY_INLINE void convolve_columns(const Run& r, const uint8_t* quads, size_t count, uint8_t* y) {
  constexpr size_t kColumns = kDepthwiseColumns, kVectors = Block<kGroup>::kVectors;
  constexpr size_t kBoth = kVectors > 1 ? 2 : 1, kAtOnce = kLines == 1 ? kBoth : 1, kStep = 3 - kBoth;
  ColumnPairs<kGroup> pairs[kLines];
#pragma GCC unroll 2
  for (size_t v = 0; v < kVectors; v += kBoth) {
    ColumnSums<kLines> sums[kBoth];
#pragma GCC unroll 2
    for (size_t n = 0; n < kBoth; n += kAtOnce) {
      sum_columns<kGroup, kLines, kAtOnce, kUnit>(r, quads, v + n, sums + n);
      round_columns<kLines, kAtOnce, kPlain>(r.w, v + n, sums + n);
    }
#pragma GCC unroll 2
    for (size_t l = 0; l < kLines; ++l) {
#pragma GCC unroll 4
      for (size_t c = 0; c < kColumns; c += kStep) {
        const Sums second = kBoth > 1 ? sums[kBoth - 1][l][c] : sums[0][l][(c + 1) % kColumns];
        pairs[l][(c * kVectors + v) / 2] = pack_pairs(sums[0][l][c], second, r.range);
      }
    }
  }
#pragma GCC unroll 2
  for (size_t l = 0; l < kLines; ++l)
    store_columns<kGroup>(r, pairs[l], count, y + l * r.w.shape->out_w * r.w.shape->out_pixel_stride);
}

template <size_t kGroup, size_t kLines, CodesUnit kUnit, bool kPlain>
void convolve_run(const CodesDepthwise& w, const Columns& of, size_t line) {
  constexpr size_t kQuadBytes = Block<kGroup>::kQuadBytes;
  const ConvShape& s = *w.shape;
  // At most as many rows are used as the kernel has, and one more for a second line.
  const size_t rows = s.kernel_h + kLines - 1, stride = codes_detail::depthwise_columns(s, of.count) * kQuadBytes;
  const Run r{w, CodeRange(w.form.zero, w.form.is_signed), ceil_div(s.kernel_h, size_t(4)), stride};
  for (size_t k = 0; k < r.sets; ++k) gather_quads<kGroup>(w, of, line, 4 * k, rows, w.quads + k * stride);
  const size_t y_stride = s.out_pixel_stride * w.form.bytes();
  uint8_t* y = w.y + (line * s.out_w + of.first) * y_stride;
  for (size_t x = 0; x < of.count; x += kDepthwiseColumns) {
    // The last columns are computed again if fewer remain.
    if (x > 0) x = std::min(x, of.count - kDepthwiseColumns);
    const uint8_t* const under = w.quads + x * s.stride_w * kQuadBytes;
    if (kLines == 1 && kPlain && w.form.wide)
      convolve_sums<kGroup, kUnit>(r, under, std::min(of.count - x, kDepthwiseColumns), y + x * y_stride);
    else
      convolve_columns<kGroup, kLines, kUnit, kPlain>(r, under, of.count - x, y + x * y_stride);
  }
}

template <size_t kGroup, CodesUnit kUnit, bool kPlain>
void convolve_lines(const CodesDepthwise& w) {
  const ConvShape& s = *w.shape;
  [[maybe_unused]] const bool two = codes_detail::depthwise_takes_two_lines(s) && !w.form.wide;
  for (Columns of{0, 0}; of.first < s.out_w; of.first += of.count) {
    of.count = std::min(codes_detail::kDepthwiseRun, s.out_w - of.first);
    size_t line = w.first;
    if constexpr (kPlain) {  // others are rare, and each form is much code
      for (; two && line + 2 <= w.first + w.lines; line += 2) convolve_run<kGroup, 2, kUnit, kPlain>(w, of, line);
    }
    for (; line < w.first + w.lines; ++line) convolve_run<kGroup, 1, kUnit, kPlain>(w, of, line);
  }
}

template <size_t kGroup, CodesUnit kUnit>
void convolve_block(const CodesDepthwise& w) {
  bool plain = true;
  for (size_t v = 0; v < Block<kGroup>::kVectors; ++v)
    plain = plain && load_scaling(w.scale + v * kSumLanes, w.offset + v * kSumLanes).is_plain();
#if HWY_TARGET <= HWY_AVX3
  if (plain && suits_windows(w)) return convolve_windows<Block<kGroup>::kWidth>(w);
#endif
  plain ? convolve_lines<kGroup, kUnit, true>(w) : convolve_lines<kGroup, kUnit, false>(w);
}

template <CodesUnit kUnit>
void convolve_by(const CodesDepthwise& w) {
  if constexpr (HWY_MAX_BYTES == 64) {
    if (w.width == 16) return convolve_block<4, kUnit>(w);
  }
  if constexpr (HWY_MAX_BYTES >= 32) {
    if (w.width < HWY_MAX_BYTES) return convolve_block<2, kUnit>(w);
  }
  convolve_block<1, kUnit>(w);
}

}  // namespace

void codes_depthwise(const CodesDepthwise& w, [[maybe_unused]] CodesUnit unit) noexcept {
  if constexpr (kTwoUnits) {
    if (unit == CodesUnit::pairs) return convolve_by<CodesUnit::pairs>(w);
  }
  convolve_by<CodesUnit::quads>(w);
}

}  // namespace retort::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace retort::kernels::codes_detail {

void convolve_code_lines(const CodesDepthwise& lines) noexcept {
  RETORT_SELECT_CODES(codes_depthwise)(lines, codes_unit());
}

}  // namespace retort::kernels::codes_detail
#endif
