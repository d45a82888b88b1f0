#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/gemm/codes_excess.cc"
#include "kernels/gemm/codes_excess.h"

#include <hwy/foreach_target.h>  // must come before highway.h
#include <hwy/highway.h>

#include <cstring>
#include <utility>

#include "kernels/dispatch.h"
#include "kernels/gemm/codes_store-inl.h"
#include "kernels/gemm/codes_tile.h"
#include "kernels/gemm/excess_search.h"

HWY_BEFORE_NAMESPACE();
namespace retort::kernels::HWY_NAMESPACE {
// Processors that multiply quads have no need of it.
#if HWY_ARCH_X86 && HWY_TARGET > HWY_AVX3
namespace {

using codes_detail::CodeLines;
using codes_detail::ExcessChain;
using codes_detail::kExcessRows;
using ByteTag = hn::Repartition<uint8_t, SumTag>;
using Bytes = hn::Vec<ByteTag>;
constexpr size_t kStepBytes = 16;                          ///< of a row, transposed at once
constexpr size_t kRowsOfVector = HWY_MAX_BYTES;            ///< transposed rows
constexpr size_t kVectors = kExcessRows / kRowsOfVector;   ///< of a block
constexpr size_t kRowBlocks = HWY_MAX_BYTES / kStepBytes;  ///< of 16 rows, in a vector

/// Up to sixteen bytes of a row; `count` is a multiple of four.
HWY_INLINE auto load_part(const uint8_t* p, size_t count) {
  const hn::FixedTag<uint8_t, kStepBytes> d;
  if (HWY_LIKELY(count >= kStepBytes)) return hn::LoadU(d, p);
  const hn::Repartition<uint64_t, decltype(d)> halves;
  uint64_t low = 0, high = 0;
  if (count == 4) {
    std::memcpy(&low, p, 4);
  } else {
    std::memcpy(&low, p, 8);
    if (count > 8) std::memcpy(&high, p + 8, 4);
  }
  return hn::BitCast(d, hn::InterleaveLower(halves, hn::Set(halves, low), hn::Set(halves, high)));
}

/// Element i of the vectors 2i and 2i + 1, and of the rest: a step of a transposition.
HWY_INLINE void interleave(const Bytes (&from)[16], Bytes (&to)[16]) {
  const ByteTag d;
#pragma GCC unroll 8
  for (size_t i = 0; i < 8; ++i) {
    to[2 * i] = hn::InterleaveLower(d, from[i], from[i + 8]);
    to[2 * i + 1] = hn::InterleaveUpper(d, from[i], from[i + 8]);
  }
}

/// Transposes `count` bytes of kRowsOfVector rows, which `row(i)` points to.
template <typename F>
HWY_INLINE void transpose_step(F&& row, size_t count, uint8_t* to) {
  const ByteTag d;
  Bytes a[16], b[16];
#pragma GCC unroll 16
  for (size_t i = 0; i < 16; ++i) {
    if constexpr (kRowBlocks == 1)
      a[i] = load_part(row(i), count);
    else
      a[i] = hn::Combine(d, load_part(row(i + 16), count), load_part(row(i), count));
  }
  interleave(a, b);
  interleave(b, a);
  interleave(a, b);
  interleave(b, a);
#pragma GCC unroll 16
  for (size_t i = 0; i < 16; ++i) {
    if (i < count) hn::Store(a[i], d, to + i * kExcessRows);
  }
}

void transpose_rows(const CodeLines& l, const uint8_t* const (&rows)[kRowsOfVector], uint8_t* to) {
  for (size_t part = 0; part < l.parts; ++part, to += l.depth * kExcessRows) {
    const size_t offset = part * l.part_stride;
    for (size_t i = 0; i < l.depth; i += kStepBytes) {
      // The last bytes are transposed again if fewer remain.
      if (i > 0) i = std::min(i, l.depth - kStepBytes);
      transpose_step([&](size_t r) { return rows[r] + offset + i; }, l.depth - i, to + i * kExcessRows);
    }
  }
}

/// to [row][0, 4) = the transposed sums of four columns. A vector has every second one of eight rows, and at 256 bits
/// four more that follow sixteen rows later.
HWY_INLINE void store_columns(const Sums (&columns)[4], int32_t* to) {
  constexpr size_t kPanel = 2 * kSumLanes;
  const SumTag d;
  const hn::Repartition<int64_t, SumTag> pairs;
  const auto wide = [&](Sums v) HWY_ATTR { return hn::BitCast(pairs, v); };
  const auto a = wide(hn::InterleaveLower(d, columns[0], columns[1])),
             b = wide(hn::InterleaveLower(d, columns[2], columns[3])),
             e = wide(hn::InterleaveUpper(d, columns[0], columns[1])),
             f = wide(hn::InterleaveUpper(d, columns[2], columns[3]));
  const Sums rows[4] = {
      hn::BitCast(d, hn::InterleaveLower(pairs, a, b)), hn::BitCast(d, hn::InterleaveUpper(pairs, a, b)),
      hn::BitCast(d, hn::InterleaveLower(pairs, e, f)), hn::BitCast(d, hn::InterleaveUpper(pairs, e, f))};
#pragma GCC unroll 4
  for (size_t r = 0; r < 4; ++r) {
    if constexpr (kRowBlocks == 1) {
      hn::StoreU(rows[r], d, to + 2 * r * kPanel);
    } else {
      const hn::Half<SumTag> half;
      hn::StoreU(hn::LowerHalf(half, rows[r]), half, to + 2 * r * kPanel);
      hn::StoreU(hn::UpperHalf(half, rows[r]), half, to + (2 * r + kStepBytes) * kPanel);
    }
  }
}

HWY_INLINE Pairs multiply_pairs(Bytes unsigned_codes, Sums signed_codes) {
#if HWY_TARGET == HWY_AVX2
  return Pairs{_mm256_maddubs_epi16(unsigned_codes.raw, signed_codes.raw)};
#else
  return Pairs{_mm_maddubs_epi16(unsigned_codes.raw, signed_codes.raw)};
#endif
}

/// sums += the products of a chain and kRowsOfVector rows.
HWY_INLINE void add_chain(const ExcessChain& chain, const uint8_t* x, Sums (&sums)[4]) {
  const SumTag d;
  const PairTag pairs;
  const ByteTag bytes;
  const auto step = [&](size_t i, Pairs& low, Pairs& high) HWY_ATTR {
    const Bytes a = hn::Load(bytes, x + chain.k[2 * i] * kExcessRows),
                b = hn::Load(bytes, x + chain.k[2 * i + 1] * kExcessRows);
    const Sums weights = hn::Set(d, load_quad(chain.weights[i]));
    low = multiply_pairs(hn::InterleaveLower(bytes, a, b), weights);
    high = multiply_pairs(hn::InterleaveUpper(bytes, a, b), weights);
  };
  Pairs low, high, second_low, second_high;
  step(0, low, high);
  step(1, second_low, second_high);
  low = hn::Add(low, second_low);
  high = hn::Add(high, second_high);
  // The even and the odd rows of each, widened.
  const Pairs first = hn::BitCast(pairs, hn::Set(d, 1));
  sums[0] = add_pairs(low, first, sums[0]);
  sums[1] = hn::Add(sums[1], hn::ShiftRight<16>(hn::BitCast(d, low)));
  sums[2] = add_pairs(high, first, sums[2]);
  sums[3] = hn::Add(sums[3], hn::ShiftRight<16>(hn::BitCast(d, high)));
}

}  // namespace

void codes_transpose(const CodeLines& l, uint8_t* to) noexcept {
  const size_t count = l.count(), k = l.k();
  for (size_t first = 0; first < count; first += kExcessRows, to += k * kExcessRows) {
    for (size_t v = 0; v < kVectors; ++v) {
      const uint8_t* rows[kRowsOfVector];
      for (size_t r = 0; r < kRowsOfVector; ++r) rows[r] = l.row(std::min(first + v * kRowsOfVector + r, count - 1));
      transpose_rows(l, rows, to + v * kRowsOfVector);
    }
  }
}

void codes_excess(const ExcessChain* chains, size_t count, const int32_t* bias, const uint8_t* transposed, size_t k,
                  size_t blocks, int32_t* sums) noexcept {
  constexpr size_t kPanel = 2 * kSumLanes;
  for (size_t block = 0; block < blocks * kVectors; ++block, sums += kRowsOfVector * kPanel) {
    const uint8_t* x = transposed + block / kVectors * k * kExcessRows + block % kVectors * kRowsOfVector;
    Sums columns[kPanel][4];
    const ExcessChain *chain = chains, *const end = chains + count;
    for (size_t c = 0; c < kPanel; ++c) {
      const Sums first = hn::Set(SumTag(), bias[c]);
      Sums of[4] = {first, first, first, first};
      for (; chain < end && chain->column == c; ++chain) add_chain(*chain, x, of);
#pragma GCC unroll 4
      for (size_t v = 0; v < 4; ++v) columns[c][v] = of[v];
    }
    for (size_t c = 0; c < kPanel; c += 4) {
#pragma GCC unroll 4
      for (size_t v = 0; v < 4; ++v) {
        const Sums of[4] = {columns[c][v], columns[c + 1][v], columns[c + 2][v], columns[c + 3][v]};
        store_columns(of, sums + (v / 2 * 8 + v % 2) * kPanel + c);
      }
    }
  }
}
#endif

}  // namespace retort::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace retort::kernels::codes_detail {
namespace {

#if defined(__x86_64__)
void transpose_lines(const CodeLines& lines, uint8_t* to) {
  (current_isa() == Isa::v2 ? &N_SSE4::codes_transpose : &N_AVX2::codes_transpose)(lines, to);
}
/// multiply_excess() of blocks.
void multiply_blocks(const ExcessChain* chains, size_t count, const int32_t* bias, const uint8_t* transposed, size_t k,
                     size_t blocks, int32_t* sums) {
  (current_isa() == Isa::v2 ? &N_SSE4::codes_excess : &N_AVX2::codes_excess)(chains, count, bias, transposed, k, blocks,
                                                                             sums);
}
#else
void transpose_lines(const CodeLines&, uint8_t*) {}
void multiply_blocks(const ExcessChain*, size_t, const int32_t*, const uint8_t*, size_t, size_t, int32_t*) {}
#endif

/// Copies rows one after the other.
void join_lines(const CodeLines& l, uint8_t* to) {
  for (size_t i = 0; i < l.count(); ++i) {
    const uint8_t* from = l.row(i);
    for (size_t part = 0; part < l.parts; ++part, from += l.part_stride) to = std::copy_n(from, l.depth, to);
  }
}

void add_row_excess(const ExcessChain* chain, size_t count, const uint8_t* x, int32_t* sums) {
  for (const ExcessChain* const end = chain + count; chain < end; ++chain) {
    uint32_t sum = 0;
    for (size_t i = 0; i < kExcessChain; ++i) sum += uint32_t(x[chain->k[i]] * chain->weights[i / 2][i % 2]);
    sums[chain->column] = int32_t(uint32_t(sums[chain->column]) + sum);
  }
}

}  // namespace

void arrange_lines(const CodeLines& lines, uint8_t* to) noexcept {
  lines.count() < kLeastTransposed ? join_lines(lines, to) : transpose_lines(lines, to);
}
void multiply_excess(const ExcessChain* chains, size_t count, const int32_t* bias, const uint8_t* arranged, size_t k,
                     size_t rows, int32_t* sums) noexcept {
  if (rows >= kLeastTransposed) return multiply_blocks(chains, count, bias, arranged, k, excess_blocks(rows), sums);
  const size_t width = codes_panel_width();
  for (size_t r = 0; r < rows; ++r, arranged += k, sums += width) {
    std::copy_n(bias, width, sums);
    add_row_excess(chains, count, arranged, sums);
  }
}

}  // namespace retort::kernels::codes_detail

namespace retort::kernels {

using codes_detail::CodeLines;
using codes_detail::Excess;
using codes_detail::ExcessChain;
using codes_detail::ExcessSlots;
using codes_detail::PairExcess;

bool corrects_code_pairs() {
#if defined(__x86_64__)
  return codes_unit() == CodesUnit::pairs;
#else
  return false;
#endif
}

namespace {

constexpr size_t kMostColumns = 32;  ///< of a panel

/// Calls f(column, k, excess, weights) for the pairs of a packed panel, by increasing k.
template <typename F>
void each_excess(int8_t* codes, size_t k, size_t columns, F&& f) {
  const size_t width = codes_panel_width();
  for (size_t i = 0; i + 1 < k; i += 4, codes += 4 * width) {
    codes_detail::each_large_pair(codes, 2 * columns, [&](size_t pair) {
      int8_t* const weights = codes + 2 * pair;
      const PairExcess excess(weights[0], weights[1]);
      const size_t of_k = i + pair % 2 * 2;
      if (of_k + 1 < k) f(pair / 2, of_k + excess.second, excess.weight, weights[excess.second]);
    });
  }
}

/// Moves each chain to one of the places of its column, in place.
void sort_by_column(ExcessChain* chains, const ExcessChain* end) {
  uint32_t next[kMostColumns + 1] = {}, ends[kMostColumns];
  for (const ExcessChain* chain = chains; chain < end; ++chain) ++next[chain->column + 1];
  for (size_t c = 0; c < kMostColumns; ++c) ends[c] = next[c + 1] += next[c];
  for (size_t c = 0; c < kMostColumns; ++c) {
    while (next[c] < ends[c]) {
      ExcessChain& chain = chains[next[c]];
      const size_t column = chain.column;
      if (column == c)
        ++next[c];
      else
        std::swap(chain, chains[next[column]++]);
    }
  }
}

}  // namespace

size_t code_excess_bytes(const Codes& b, size_t stride, size_t k, size_t n) {
  constexpr size_t kColumns = 256;  // read from each row at once
  const uint8_t flip = b.is_signed ? 0 : 0x80;
  size_t chains = 0;
  for (size_t j = 0; j < n; j += kColumns) {
    ExcessSlots slots[kColumns];
    const size_t columns = std::min(kColumns, n - j);
    for (size_t i = 0; i + 1 < k; i += 2) {
      const uint8_t *w0 = b.bytes(i * stride + j), *w1 = w0 + stride;
      codes_detail::each_large_pair(w0, w1, flip, columns, [&](size_t c) {
        slots[c].add(PairExcess(int8_t(w0[c] ^ flip), int8_t(w1[c] ^ flip)).weight);
      });
    }
    for (const ExcessSlots& of_column : slots) chains += of_column.chains();
  }
  return Excess::bytes(ceil_div(n, codes_panel_width()), chains);
}

// The chains fit the memory that code_excess_bytes() has counted from the weights, even if packing was cancelled midway:
// panels that were not packed are zeros then (packed weights begin as zeros), so they have no excess.
void split_code_excess(size_t k, size_t n, void* packed, void* excess) noexcept {
  const size_t width = codes_panel_width(), panels = ceil_div(n, width);
  auto* const first = static_cast<uint32_t*>(excess);
  auto* const chains = reinterpret_cast<ExcessChain*>(first + panels + 1);
  ExcessChain* end = chains;
  first[0] = 0;
  for (size_t panel = 0; panel < panels; ++panel) {
    auto* const codes = static_cast<int8_t*>(packed) + panel * codes_panel_bytes(k) + 2 * width * sizeof(int32_t);
    const size_t columns = std::min(width, n - panel * width);
    ExcessSlots slots[kMostColumns];
    each_excess(codes, k, columns, [&](size_t c, size_t at_k, int32_t weight, int8_t& code) {
      slots[c].put(end, c, at_k, weight);
      code = int8_t(code - weight);
    });
    sort_by_column(chains + first[panel], end);
    first[panel + 1] = uint32_t(end - chains);
  }
}

namespace codes_detail {

const int32_t* add_excess(const GemmCodesArgs& g, size_t panel, const ExcessRows& rows, int32_t* beyond,
                          int32_t* sums) noexcept {
  const size_t width = codes_panel_width(), depth = codes_depth(g.k), at = rows.first % kExcessRows;
  const Excess excess(g.excess, ceil_div(g.n, width));
  if (!excess.any(panel, panel + 1)) return nullptr;
  const ExcessChain* const chains = excess.chains(panel);
  if (g.m < kLeastTransposed) {
    const auto* x = reinterpret_cast<const uint8_t*>(g.a) + rows.first * depth;
    for (size_t r = 0; r < rows.count; ++r)
      add_row_excess(chains, excess.count(panel), x + r * depth, sums + r * width);
    return nullptr;
  }
  const int32_t zeros[kMostColumns] = {};
  if (at == 0 || rows.begins)
    multiply_blocks(chains, excess.count(panel), zeros, g.transposed + (rows.first - at) * depth, depth, 1, beyond);
  return beyond + at * width;
}

}  // namespace codes_detail

size_t codes_transposed_bytes(size_t m, size_t k) {
  if (m < codes_detail::kLeastTransposed) return 0;
  return checked_mul(checked_mul(ceil_div(m, kCodesBlockRows), kCodesBlockRows, "rows of codes"), codes_depth(k),
                     "rows of codes");
}
void transpose_code_rows(const int8_t* rows, size_t m, size_t k, size_t first, uint8_t* to) noexcept {
  const size_t depth = codes_depth(k);
  if (m < codes_detail::kLeastTransposed) return;
  CodeLines lines{.data = reinterpret_cast<const uint8_t*>(rows) + first * depth};
  lines.rows = std::min(kCodesBlockRows, m - first);
  lines.row_stride = lines.depth = depth;
  codes_detail::transpose_lines(lines, to + first * depth);
}

}  // namespace retort::kernels
#endif
