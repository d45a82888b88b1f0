// The register tile of matrix multiplication: up to 12 rows of A times one panel of packed B, accumulated in registers.
// Included once per instruction level (see dispatch.h).
#if defined(RETORT_KERNELS_GEMM_TILE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef RETORT_KERNELS_GEMM_TILE_INL_H_
#undef RETORT_KERNELS_GEMM_TILE_INL_H_
#else
#define RETORT_KERNELS_GEMM_TILE_INL_H_
#endif

#include <hwy/highway.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <limits>
#include <type_traits>
#include <utility>

#include "kernels/gemm/panel.h"
#include "kernels/gemm/prefetch-inl.h"
#include "kernels/gemm/rows-inl.h"
#include "kernels/gemm/stored-inl.h"
#include "kernels/simd_math.h"

HWY_BEFORE_NAMESPACE();
namespace retort::kernels::HWY_NAMESPACE {
namespace {

using gemm_detail::TileArgs;
using HalfTag = hn::Half<FloatTag>;
using HalfFloat = hn::Vec<HalfTag>;

/// A partly filled panel needs fewer vectors. At 512 bits also half vectors are used, because 256-bit operations are
/// twice as fast there on some processors (Zen 4), and networks with 8, 24 or 40 channels are common.
constexpr bool kHalves = kLanes == 16;
constexpr size_t kColumnStep = kHalves ? kLanes / 2 : kLanes;
constexpr size_t kColumnKinds = kWidth / kColumnStep;

/// Rows of a tile: as many accumulators as fit the registers beside two vectors of B and one of A.
constexpr size_t kMaxRows = 12;
constexpr size_t max_rows(size_t column_kind) {
  const size_t vectors = kHalves ? (column_kind + 2) / 2 : column_kind + 1;
  return kAccumulators / vectors < kMaxRows ? kAccumulators / vectors : kMaxRows;
}

/// Whether both multiply-adds of a row read its element of A from memory, which costs one more load, instead of one
/// broadcast, which costs one more instruction. For every two multiply-adds a core has time for two loads, and for as
/// many instructions as it decodes, which are half as many while another thread shares the core. If two rows of three
/// are read twice, neither limit is exceeded: 2 to 10 % faster beside another thread (whole models), within 1 % alone.
constexpr bool is_read_twice(size_t row) { return kLanes == 16 && row % 3 != 0; }

/// With a short sum, prefetching the rows of C and the next rows of A takes a good part of the loads, so no row is read
/// twice: on Zen 5, 1.1 times as fast with 8 to 24 steps, 1.06 with 32, 1.03 with 64.
constexpr size_t kShortSum = 64;
template <class Reader, size_t kRows, size_t kFull>
constexpr bool kTellsShortSums = kLanes == 16 && kFull == 2 && kRows > 8 && Reader::kIsPlain;

/// Reads a panel as it is stored.
template <class Stored>
struct PanelReader {
  using Products = Stored;
  using Element = typename Stored::Element;
  static constexpr bool kIsPlain = std::is_same_v<Stored, StoredF32>;
  const Element* b;

  explicit HWY_INLINE PanelReader(const TileArgs& t) : b(static_cast<const Element*>(t.b)) {}
  HWY_INLINE void advance(size_t steps) { b += steps * kWidth; }
  /// Loads the vectors of the step that is `ahead` steps after the current one.
  template <size_t kFull>
  HWY_INLINE void load(size_t ahead, Float* vectors) const {
    Stored::template load<kFull>(b + ahead * kWidth, vectors);
  }
};

/// Reads the sum or the difference of two full panels, and stores it for the tiles that follow.
template <class Stored>
struct SumReader {
  using Products = Stored;
  using Element = typename Stored::Element;
  static constexpr bool kIsPlain = false;
  const Element *b, *other;
  float* sum;
  Float sign;  // the sign bit to apply

  explicit HWY_INLINE SumReader(const TileArgs& t)
      : b(static_cast<const Element*>(t.b)),
        other(static_cast<const Element*>(t.other_b)),
        sum(t.sum),
        sign(hn::Set(FloatTag(), t.subtracts ? -0.0f : 0.0f)) {}
  HWY_INLINE void advance(size_t steps) {
    b += steps * kWidth;
    other += steps * kWidth;
    sum += steps * kWidth;
  }
  template <size_t kFull>
  HWY_INLINE void load(size_t ahead, Float* vectors) const {
    static_assert(kFull == 2);
    Float addends[kFull];
    Stored::template load<kFull>(b + ahead * kWidth, vectors);
    Stored::template load<kFull>(other + ahead * kWidth, addends);
#pragma GCC unroll 2
    for (size_t v = 0; v < kFull; ++v) {
      vectors[v] = hn::Add(vectors[v], hn::Xor(addends[v], sign));
      hn::Store(vectors[v], FloatTag(), sum + ahead * kWidth + v * kLanes);
    }
  }
};

/// The accumulators of kRows rows by kFull vectors and, if kHalf, half a vector.
template <size_t kRows, size_t kFull, bool kHalf>
struct Accumulators {
  static constexpr size_t kRowCount = kRows;
  Float full[kRows][kFull + 1];  // + 1, because no array may be empty
  HalfFloat half[kRows];

  HWY_INLINE void zero() {
#pragma GCC unroll 16
    for (size_t r = 0; r < kRows; ++r) {
#pragma GCC unroll 2
      for (size_t v = 0; v < kFull; ++v) full[r][v] = hn::Zero(FloatTag());
      if constexpr (kHalf) half[r] = hn::Zero(HalfTag());
    }
  }

  /// Calls f(tag, accumulator, offset of its column) for each accumulator.
  template <typename F>
  HWY_INLINE void for_each(const F& f) {
#pragma GCC unroll 16
    for (size_t r = 0; r < kRows; ++r) {
#pragma GCC unroll 2
      for (size_t v = 0; v < kFull; ++v) f(FloatTag(), full[r][v], r, v * kLanes);
      if constexpr (kHalf) f(HalfTag(), half[r], r, kFull * kLanes);
    }
  }

  /// Uses the step that is `ahead` of the positions in A and in the panel.
  template <bool kReadsTwice, class Rows, class Reader>
  HWY_INLINE void step(const Rows& a, const Reader& panel, size_t ahead) {
    Float bv[kFull + 1];
    HalfFloat bh;
    panel.template load<kFull>(ahead, bv);
    if constexpr (kHalf) bh = hn::Load(HalfTag(), panel.b + ahead * kWidth + kFull * kLanes);
#pragma GCC unroll 16
    for (size_t r = 0; r < kRows; ++r) {
      const float& x = a.at(r, ahead);
      if constexpr (kFull == 2) {
        static_assert(!kHalf);
        if (kReadsTwice && is_read_twice(r)) {
          Reader::Products::add_from(x, bv[0], full[r][0]);
          Reader::Products::add_from(x, bv[1], full[r][1]);
          continue;
        }
      }
      if constexpr (kLanes == 16 && kFull == 1 && !kHalf) {
        Reader::Products::add_from(x, bv[0], full[r][0]);
        continue;
      }
#pragma GCC unroll 2
      for (size_t v = 0; v < kFull; ++v) Reader::Products::add(hn::Set(FloatTag(), x), bv[v], full[r][v]);
      if constexpr (kHalf) add_product(hn::Set(HalfTag(), x), bh, half[r]);
    }
  }

  HWY_INLINE void add(const Accumulators& other) {
#pragma GCC unroll 16
    for (size_t r = 0; r < kRows; ++r) {
#pragma GCC unroll 2
      for (size_t v = 0; v < kFull; ++v) full[r][v] = hn::Add(full[r][v], other.full[r][v]);
      if constexpr (kHalf) half[r] = hn::Add(half[r], other.half[r]);
    }
  }
};

/// The accumulators of kRows rows by a vector and a half. A vector holds the halves of two rows: three multiply-adds for
/// two rows instead of four, where one of half a vector takes as long as others (networks with 24 channels).
template <size_t kRows>
struct PairedHalves {
  static constexpr size_t kRowCount = kRows, kPairs = (kRows + 1) / 2;
  Float full[kRows], pair[kPairs];

  HWY_INLINE void zero() {
#pragma GCC unroll 16
    for (Float& v : full) v = hn::Zero(FloatTag());
#pragma GCC unroll 16
    for (Float& v : pair) v = hn::Zero(FloatTag());
  }

  /// See Accumulators.
  template <bool kReadsTwice, class Rows, class Reader>
  HWY_INLINE void step(const Rows& a, const Reader& panel, size_t ahead) {
    const FloatTag d;
    const float* const b = panel.b + ahead * kWidth;
    const Float first = hn::Load(d, b), half = load_half_twice(b + kLanes);
#pragma GCC unroll 16
    for (size_t p = 0; p < kPairs; ++p) {
      const size_t r = 2 * p, s = std::min(r + 1, kRows - 1);
      const Float x = hn::Set(d, a.at(r, ahead)), y = hn::Set(d, a.at(s, ahead));
      add_product(x, first, full[r]);
      if (s > r) add_product(y, first, full[s]);
      add_product(s > r ? hn::ConcatUpperLower(d, y, x) : x, half, pair[p]);
    }
  }

  HWY_INLINE void split(Accumulators<kRows, 1, true>& to) const {
#pragma GCC unroll 16
    for (size_t r = 0; r < kRows; ++r) {
      to.full[r][0] = full[r];
      to.half[r] = r % 2 == 0 ? hn::LowerHalf(pair[r / 2]) : hn::UpperHalf(HalfTag(), pair[r / 2]);
    }
  }

  HWY_INLINE void add(const PairedHalves&) {}  // there is one set

 private:
  static HWY_INLINE Float load_half_twice(const float* p) {
#if HWY_TARGET <= HWY_AVX3 && HWY_ARCH_X86
    return Float{_mm512_broadcast_f32x8(_mm256_load_ps(p))};
#else
    const HalfFloat half = hn::Load(HalfTag(), p);
    return hn::Combine(FloatTag(), half, half);
#endif
  }
};

/// acc += a[kRows, k] · b[k, …]. Few rows make few chains of dependent additions; kSets sets of accumulators take the
/// steps of k in turn, so that there are at least eight chains.
template <class Reader, size_t kSets, bool kReadsTwice, class Sums, class Rows = PlainRows<Sums::kRowCount>>
HWY_INLINE void multiply(const TileArgs& t, Sums& acc) {
  const size_t k = t.k;  // read once, because the compiler assumes that a reader's stores may change it
  Rows a(t);
  Sums more[kSets];  // the first set is `acc` itself
#pragma GCC unroll 4
  for (size_t s = 1; s < kSets; ++s) more[s].zero();
  Reader panel(t);
  const char* ahead = t.prefetch;
  const size_t lines = t.prefetch_lines;
  const bool own = t.prefetch_own;
  const size_t apart = k / 4 * 64;  // so that each line of the memory is prefetched once
  size_t i = 0;
  for (; i + 4 <= k; i += 4, a.advance(4), panel.advance(4), ahead += 64) {
    if (own)
      prefetch_panel<typename Reader::Element, Sums::kRowCount>(panel.b);
    else
      prefetch_some(ahead, lines, apart);
#pragma GCC unroll 4
    for (size_t s = 0; s < 4; ++s) {
      (s % kSets == 0 ? acc : more[s % kSets]).template step<kReadsTwice>(a, panel, s);
    }
  }
  for (; i < k; ++i, a.advance(1), panel.advance(1)) acc.template step<kReadsTwice>(a, panel, 0);
#pragma GCC unroll 4
  for (size_t s = 1; s < kSets; ++s) acc.add(more[s]);
}

/// Stores act(acc + bias + addend).
template <size_t kRows, size_t kFull, bool kHalf>
HWY_INLINE void finish(const TileArgs& t, Accumulators<kRows, kFull, kHalf>& acc) {
  // Bias and addend are added last: a sum that started with them would be rounded to their size at every step.
  if (t.bias) {
    acc.for_each([&t](auto d, auto& v, size_t, size_t at) HWY_ATTR { v = hn::Add(v, hn::LoadU(d, t.bias + at)); });
  }
  if (t.addend) {
    acc.for_each([&t](auto d, auto& v, size_t r, size_t at)
                     HWY_ATTR { v = hn::Add(v, hn::LoadU(d, t.addend + r * t.addend_stride + at)); });
  }
  if (t.clamp) {
    acc.for_each([&t](auto d, auto& v, size_t, size_t) HWY_ATTR { v = MaxKeepNaN(hn::Set(d, t.low), v); });
    if (t.high < std::numeric_limits<float>::infinity()) {
      acc.for_each([&t](auto d, auto& v, size_t, size_t) HWY_ATTR { v = MinKeepNaN(hn::Set(d, t.high), v); });
    }
  }
  acc.for_each([&t](auto d, auto& v, size_t r, size_t at) HWY_ATTR { hn::StoreU(v, d, t.c + r * t.c_stride + at); });
}

template <class Reader, size_t kRows, size_t kFull, bool kHalf>
void tile(const TileArgs& t) noexcept {
  Accumulators<kRows, kFull, kHalf> acc;
  // Six chains wait for their additions: three rows took 1.25 times as long with one set (Zen 4). At SSE, wide_tile()
  // multiplies three rows, in order.
  constexpr size_t kFewChains = HWY_TARGET <= HWY_AVX2 ? 6 : 4;
  constexpr size_t kChains = kRows * (kFull + kHalf), kSets = kChains <= 2 ? 4 : kChains <= kFewChains ? 2 : 1;
  if constexpr (kHalf && kFull == 1 && kSets == 1) {
    PairedHalves<kRows> paired;
    paired.zero();
    multiply<Reader, kSets, false>(t, paired);
    paired.split(acc);
  } else {
    acc.zero();
    if (kTellsShortSums<Reader, kRows, kFull> && t.k <= kShortSum) {
      multiply<Reader, kSets, false>(t, acc);
    } else {
      multiply<Reader, kSets, true>(t, acc);
    }
  }
  finish(t, acc);
}

/// The tile of gathered rows and a full panel.
template <size_t kRows>
void gathered_tile(const TileArgs& t) noexcept {
  using Sums = Accumulators<kRows, 2, false>;
  Sums acc;
  acc.zero();
  multiply<PanelReader<StoredF32>, 1, true, Sums, GatheredRows<kRows>>(t, acc);
  finish(t, acc);
}

using TileFunction = void (*)(const TileArgs&) noexcept;

template <class Reader, size_t kKind, size_t... kRow>
constexpr std::array<TileFunction, kMaxRows> tiles_of_kind(std::index_sequence<kRow...>) {
  constexpr size_t kFull = kHalves ? (kKind + 1) / 2 : kKind + 1;
  constexpr bool kHalf = kHalves && kKind % 2 == 0;
  return {&tile<Reader, kRow + 1, kFull, kHalf>...};
}

template <size_t... kKind>
constexpr std::array<std::array<TileFunction, kMaxRows>, kColumnKinds> all_tiles(std::index_sequence<kKind...>) {
  return {tiles_of_kind<PanelReader<StoredF32>, kKind>(std::make_index_sequence<max_rows(kKind)>())...};
}

/// [kind of columns][rows - 1]
constexpr auto kTiles = all_tiles(std::make_index_sequence<kColumnKinds>());

/// For full panels: [rows - 1]
template <class Reader>
constexpr auto kFullTiles =
    tiles_of_kind<Reader, kColumnKinds - 1>(std::make_index_sequence<max_rows(kColumnKinds - 1)>());

/// Only the highest level gathers rows (gathers_rows()).
inline TileFunction gathered_tile_of(size_t rows) {
  static_assert(gemm_detail::kFewestGathered == 11 && kMaxRows == 12);
#if HWY_TARGET <= HWY_AVX3
  constexpr TileFunction kGathered[] = {&gathered_tile<11>, &gathered_tile<12>};
  return kGathered[rows - gemm_detail::kFewestGathered];
#else
  return kTiles[kColumnKinds - 1][rows - 1];
#endif
}

template <template <class> class Reader>
TileFunction full_tile(PackedType type, size_t rows) {
  if constexpr (kHasF16) {
    if (type == PackedType::f16) return kFullTiles<Reader<StoredF16>>[rows - 1];
  }
  if (type == PackedType::bf16) return kFullTiles<Reader<StoredBf16>>[rows - 1];
  return kFullTiles<Reader<StoredF32>>[rows - 1];
}

/// The tile of a panel of pairs. Only processors of the highest level have it.
inline TileFunction pairs_tile(size_t rows) {
#if HWY_TARGET <= HWY_AVX3
  return kFullTiles<PanelReader<StoredBf16Pairs>>[rows - 1];
#else
  return kFullTiles<PanelReader<StoredF32>>[rows - 1];
#endif
}

}  // namespace
}  // namespace retort::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif  // per-target include guard
