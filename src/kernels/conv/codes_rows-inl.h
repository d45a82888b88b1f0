// Stores sums of two rows and a panel of columns, as codes or as they are. Included once per instruction level
// (see dispatch.h).
#if defined(RETORT_KERNELS_CONV_CODES_ROWS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef RETORT_KERNELS_CONV_CODES_ROWS_INL_H_
#undef RETORT_KERNELS_CONV_CODES_ROWS_INL_H_
#else
#define RETORT_KERNELS_CONV_CODES_ROWS_INL_H_
#endif

#include <cstring>

#include "kernels/conv/codes_finish-inl.h"

HWY_BEFORE_NAMESPACE();
namespace retort::kernels::HWY_NAMESPACE {
namespace {

constexpr size_t kPanel = 2 * kSumLanes;

/// The place, in units of four bytes, of four results of one of two rows in a vector that pack_bytes() packed from the
/// sums of both.
struct RowsOrder {
  alignas(64) int32_t at[kSumLanes];
  constexpr RowsOrder() : at() {
    constexpr size_t kBlocks = kSumLanes / 4;
    for (size_t i = 0; i < kSumLanes; ++i) {
      const size_t row = i / (2 * kBlocks), part = i % (2 * kBlocks);
      at[i] = int32_t(part % kBlocks * 4 + part / kBlocks + 2 * row);
    }
  }
};

/// Up to a panel of columns of the result.
struct Columns {
  Scaling by[2];
  CodeRange range;
  size_t count;
  bool wide;  ///< sums are stored as they are: the scalings are plain
};

/// Stores `rows` rows of a panel of sums as they are. Not inlined, since tiles have many forms.
HWY_NOINLINE HWY_MAYBE_UNUSED void store_sums(const Columns& c, const int32_t* sums, size_t rows, uint8_t* y,
                                              size_t y_stride) {
  constexpr size_t kBytes = kPanel * sizeof(int32_t);
  for (size_t r = 0; r < rows; ++r, sums += kPanel, y += y_stride) {
    if (HWY_LIKELY(c.count >= kPanel))
      std::memcpy(y, sums, kBytes);
    else
      std::memcpy(y, sums, c.count * sizeof(int32_t));
  }
}

/// Whether a form may skip steps, see CodeRange. Narrower vectors gain little for as much code.
template <bool kPlain>
constexpr bool kSkips = HWY_MAX_BYTES == 64 && kPlain;

template <bool kPlain>
HWY_INLINE void store_rows(const Columns& c, const Sums (&first)[2], const Sums (&second)[2], uint8_t* y0,
                           uint8_t* y1) {
  static constexpr RowsOrder order;
  const auto pairs = [&](const Sums(&s)[2]) HWY_ATTR {
    return pack_pairs<kSkips<kPlain>>(rounded<kPlain>(s[0], c.by[0]), rounded<kPlain>(s[1], c.by[1]), c.range);
  };
  const Bytes packed = pack_bytes<kSkips<kPlain>>(pairs(first), pairs(second), c.range);
  const hn::Half<ByteTag> half;
  const ByteTag bytes;
  const Bytes sorted = kSumLanes == 4
                           ? packed
                           : hn::BitCast(bytes, hn::TableLookupLanes(hn::BitCast(SumTag(), packed),
                                                                     hn::SetTableIndices(SumTag(), order.at)));
  if (HWY_LIKELY(c.count >= kPanel)) {
    hn::StoreU(hn::LowerHalf(half, sorted), half, y0);
    hn::StoreU(hn::UpperHalf(half, sorted), half, y1);
  } else {
    store_bytes(half, hn::LowerHalf(half, sorted), y0, c.count);
    store_bytes(half, hn::UpperHalf(half, sorted), y1, c.count);
  }
}

/// The place of four results of one of four rows, as in RowsOrder, if each has one vector of sums.
struct NarrowOrder {
  alignas(64) int32_t at[kSumLanes];
  constexpr NarrowOrder() : at() {
    constexpr size_t kBlocks = kSumLanes / 4;
    for (size_t i = 0; i < kSumLanes; ++i) at[i] = int32_t(i % kBlocks * 4 + i / kBlocks);
  }
};

/// Stores four rows of the first vector of a panel.
template <bool kPlain>
HWY_INLINE void store_narrow(const Columns& c, const Sums (&rows)[4], uint8_t* y, size_t y_stride) {
  static constexpr NarrowOrder order;
  const auto pairs = [&](Sums a, Sums b) HWY_ATTR {
    return pack_pairs<kSkips<kPlain>>(rounded<kPlain>(a, c.by[0]), rounded<kPlain>(b, c.by[0]), c.range);
  };
  const Bytes packed = pack_bytes<kSkips<kPlain>>(pairs(rows[0], rows[1]), pairs(rows[2], rows[3]), c.range);
  const auto sorted = hn::TableLookupLanes(hn::BitCast(SumTag(), packed), hn::SetTableIndices(SumTag(), order.at));
  alignas(64) uint8_t codes[4 * kSumLanes];
  hn::Store(hn::BitCast(ByteTag(), sorted), ByteTag(), codes);
#pragma GCC unroll 4
  for (size_t r = 0; r < 4; ++r) {
    if (HWY_LIKELY(c.count >= kSumLanes))
      std::memcpy(y + r * y_stride, codes + r * kSumLanes, kSumLanes);
    else
      std::memcpy(y + r * y_stride, codes + r * kSumLanes, c.count);
  }
}

}  // namespace
}  // namespace retort::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif  // per-target include guard
