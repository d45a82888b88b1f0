// Sums of code products in registers, the conversion of sums to results, and the packing of A.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/gemm/codes_tile.cc"
#include "kernels/gemm/codes_tile.h"

#if defined(__aarch64__)
#include <sys/auxv.h>
#else
#include <cpuid.h>
#endif

#include <hwy/foreach_target.h>  // must come before highway.h
#include <hwy/highway.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "base/checked.h"
#include "base/features.h"
#include "kernels/dispatch.h"
#include "kernels/gemm/codes_columns-inl.h"
#include "kernels/gemm/codes_excess.h"
#include "kernels/simd_math.h"

HWY_BEFORE_NAMESPACE();
namespace retort::kernels::HWY_NAMESPACE {
namespace {

using codes_detail::Ahead;
using codes_detail::kTileRows;
using codes_detail::Part;
using ByteTag = hn::CappedTag<uint8_t, 2 * HWY_MAX_BYTES / sizeof(int32_t)>;  // a byte for each column of a panel
constexpr size_t kHeader = 2 * kPanel * sizeof(int32_t);
constexpr size_t kLine = 64;  ///< bytes of the cache

/// The quad of a row at p.
template <CodesUnit kUnit>
HWY_INLINE auto load_a(const int8_t* p, [[maybe_unused]] size_t depth) {
  if constexpr (kUnit == CodesUnit::magnitudes)
    return SplitA(load_quad(p), load_quad(p + depth));
  else
    return QuadA(load_quad(p));
}

/// sums [kRows][kPanel] = A · B, where `b` points to the codes of a panel. The next panel, which may come from far away,
/// is requested meanwhile, except by one or two rows, which wait for memory anyway. With few rows, an addition would wait
/// for the one before it, so the sums of consecutive steps are separate where registers hold them.
template <size_t kRows, CodesUnit kUnit>
void sum_rows(const int8_t* a, size_t depth, const uint8_t* b, int32_t* sums) noexcept {
  constexpr size_t kMost = HWY_MAX_BYTES == 64 ? 4 : 2, kSets = kRows <= 2 ? kMost : kRows <= 4 ? kMost / 2 : 1;
  const SumTag d;
  const size_t stride = kUnit == CodesUnit::magnitudes ? 2 * depth : depth;
  const int8_t* rows[(kRows + 2) / 3];
#pragma GCC unroll 4
  for (size_t g = 0; g < (kRows + 2) / 3; ++g) rows[g] = a + g * 3 * stride;
  Sums s[kSets][kRows][2];
#pragma GCC unroll 4
  for (size_t set = 0; set < kSets; ++set) {
#pragma GCC unroll 12
    for (size_t r = 0; r < kRows; ++r) s[set][r][0] = s[set][r][1] = hn::Zero(d);
  }
  const size_t next = kHeader + depth * kPanel;
  const auto step = [&](size_t i, Sums(&to)[kRows][2]) HWY_ATTR {
    for (size_t line = 0; kRows > 2 && line < 4 * kPanel; line += kLine) __builtin_prefetch(b + next + line, 0, 2);
    const QuadB b0(b), b1(b + HWY_MAX_BYTES);
#pragma GCC unroll 12
    for (size_t r = 0; r < kRows; ++r) {
      const auto x = load_a<kUnit>(rows[r / 3] + r % 3 * stride + i, depth);
      dot<kUnit>(x, b0, to[r][0]);
      dot<kUnit>(x, b1, to[r][1]);
    }
    b += 4 * kPanel;
  };
  size_t i = 0;
  for (; i + 4 * kSets <= depth; i += 4 * kSets) {
#pragma GCC unroll 4
    for (size_t set = 0; set < kSets; ++set) step(i + 4 * set, s[set]);
  }
  for (; kSets > 1 && i < depth; i += 4) step(i, s[0]);
#pragma GCC unroll 12
  for (size_t r = 0; r < kRows; ++r) {
    for (size_t v = 0; v < 2; ++v) {
#pragma GCC unroll 4
      for (size_t set = 1; set < kSets; ++set) s[0][r][v] = hn::Add(s[0][r][v], s[set][r][v]);
      hn::Store(s[0][r][v], d, sums + r * kPanel + v * kSumLanes);
    }
  }
}

/// Computes at least as many rows as needed; the sums of surplus rows are ignored.
template <CodesUnit kUnit>
void sum_few_rows(size_t rows, const int8_t* a, size_t depth, const uint8_t* b, int32_t* sums) noexcept {
  if (rows <= 2) return (rows == 1 ? sum_rows<1, kUnit> : sum_rows<2, kUnit>)(a, depth, b, sums);
  if (rows <= 4) return sum_rows<4, kUnit>(a, depth, b, sums);
  if constexpr (kRowsAtOnce > 8) {  // what is left of 128 rows, and of 197
    if (rows <= 6) return sum_rows<6, kUnit>(a, depth, b, sums);
    if (rows <= 8) return sum_rows<8, kUnit>(a, depth, b, sums);
  }
  sum_rows<kRowsAtOnce, kUnit>(a, depth, b, sums);
}

/// The same with pairs that saturate, in tiles of at most four rows: each product takes a register more.
constexpr size_t kSaturatedRows = 4;
template <CodesUnit kUnit>
void saturate_few_rows(size_t rows, const int8_t* a, size_t depth, const uint8_t* b, int32_t* sums) noexcept {
  const auto sum = rows == 1 ? sum_rows<1, kUnit> : rows == 2 ? sum_rows<2, kUnit> : sum_rows<kSaturatedRows, kUnit>;
  sum(a, depth, b, sums);
}

/// The form of sum_few_rows.
HWY_INLINE auto sums_by([[maybe_unused]] CodesUnit unit) {
  if (unit == CodesUnit::saturating) return &saturate_few_rows<CodesUnit::saturating>;
  if (unit == CodesUnit::turned) return &saturate_few_rows<CodesUnit::turned>;
  if constexpr (HWY_ARCH_X86 && HWY_TARGET > HWY_AVX3) {
    if (unit == CodesUnit::magnitudes) return &saturate_few_rows<CodesUnit::magnitudes>;
  }
  if constexpr (kTwoUnits) {
    if (unit == CodesUnit::pairs) return &sum_few_rows<CodesUnit::pairs>;
  }
  return &sum_few_rows<CodesUnit::quads>;
}

/// What a block of rows, one of `blocks`, requests of a panel that is needed soon. Weights come from memory: products of
/// 128 rows with all weights of BERT-base, one after the other, take 0.73 of the time that they take without, those of
/// 32 rows 0.66 (one thread).
Ahead share_of(const char* panel, size_t depth, size_t block, size_t blocks) {
  constexpr size_t kStep = codes_detail::kTileDepth * kPanel;
  const size_t lines = ceil_div(kStep / kLine, blocks), first = block * lines * kLine;
  return {panel + first * (depth / codes_detail::kTileDepth), first < kStep ? lines : 0};
}

void multiply_part(const GemmCodesArgs& g, const Part& part, CodesUnit unit) {
  const bool tiles = unit == CodesUnit::tiles, saturates = g.sums != CodesSums::exact;
  const auto sum_few = sums_by(unit);
  const size_t few = g.near ? 1 : 4;  // rows that a tile of sixteen does not make faster
  const size_t at_once = saturates ? kSaturatedRows : kRowsAtOnce, most = tiles ? 2 * kTileRows : at_once;
  alignas(64) int32_t sums[2 * kTileRows * kPanel], beyond[kCodesBlockRows * kPanel];
  const size_t depth = codes_depth(g.k), bytes = kHeader + depth * kPanel, a_row = codes_row_bytes(g.k, g.sums);
  const size_t next = ceil_div(part.n1 - part.n0, kPanel) * bytes, blocks = ceil_div(part.m1 - part.m0, most);
  const auto header_at = [&](size_t n0) {
    const char* panel = static_cast<const char*>(g.packed_b) + n0 / kPanel * bytes;
    return Header{reinterpret_cast<const int32_t*>(panel), g.same_zero, saturates ? 0 : kTurn};
  };
  const RowBlock block(g, part.m0, part.m1, header_at(part.n0));
  const auto multiply = [&](size_t i, size_t rows, size_t n0) {
    const Header header = header_at(n0);
    const char* panel = reinterpret_cast<const char*>(header.at);
    const auto* codes = reinterpret_cast<const uint8_t*>(panel + kHeader);
    const bool floats = finishes_floats(g, n0, block);
    if (floats) request_floats(g, i, rows, n0);
    if (tiles && part.m1 - i > few)
      codes_detail::sum_tiles(g.a + i * depth, depth, rows > kTileRows ? 2 : 1, codes,
                              g.near ? Ahead() : share_of(panel + next, depth, (i - part.m0) / most, blocks), sums);
    else
      sum_few(rows, g.a + i * a_row, depth, codes, sums);
    const int32_t* added = nullptr;
    if (g.excess) added = codes_detail::add_excess(g, n0 / kPanel, {i, rows, i == part.m0}, beyond, sums);
    if (floats)
      return (g.c.residual ? finish_floats<true> : finish_floats<false>)(g, i, rows, n0, header, block, {sums, added});
    finish_rows(g, i, rows, n0, header, block, {sums, added});
  };
  if (!tiles) {
    for (size_t n0 = part.n0; n0 < part.n1; n0 += kPanel) {
      for (size_t i = part.m0; i < part.m1; i += at_once) multiply(i, std::min(part.m1 - i, at_once), n0);
    }
    return;
  }
  codes_detail::begin_tiles();
  for (size_t i = part.m0; i < part.m1; i += most) {  // these rows stay in the first-level cache
    for (size_t n0 = part.n0; n0 < part.n1; n0 += kPanel) multiply(i, std::min(part.m1 - i, most), n0);
  }
  codes_detail::end_tiles();
}

}  // namespace

void codes_part(const GemmCodesArgs& g, const Part& part, CodesUnit unit) noexcept {
  for (size_t m = part.m0; m < part.m1; m += RowBlock::kMost)
    multiply_part(g, {m, std::min(m + RowBlock::kMost, part.m1), part.n0, part.n1}, unit);
}

void codes_panel_sums(void* panel, size_t depth) noexcept {
  const SumTag d;
  auto* header = static_cast<int32_t*>(panel);
  const auto* codes = reinterpret_cast<const uint8_t*>(header + 2 * kPanel);
  const QuadA ones(0x01010101);
  Sums s[2] = {hn::Zero(d), hn::Zero(d)};
  for (size_t i = 0; i < depth; i += 4, codes += 4 * kPanel) {
    dot<CodesUnit::pairs>(ones, QuadB(codes), s[0]);
    dot<CodesUnit::pairs>(ones, QuadB(codes + HWY_MAX_BYTES), s[1]);
  }
  const Sums count = hn::Set(d, int32_t(uint32_t(depth)));
  for (size_t v = 0; v < 2; ++v) {
    const Sums zero = hn::Sub(hn::Load(d, header + v * kSumLanes), hn::Set(d, kTurn));
    hn::Store(hn::Sub(s[v], hn::Mul(zero, count)), d, header + kPanel + v * kSumLanes);
  }
}

void codes_interleave(const uint8_t* const (&runs)[4], uint8_t flip, size_t n, uint8_t* to) noexcept {
  const ByteTag d;
  const size_t lanes = hn::Lanes(d);
  const auto turn = hn::Set(d, flip);
  alignas(64) uint8_t few[4][hn::MaxLanes(d)] = {}, quads[4 * hn::MaxLanes(d)];
  for (size_t i = 0; i < n; i += lanes) {
    const size_t count = std::min(lanes, n - i);
    hn::Vec<ByteTag> v[4];
    for (size_t r = 0; r < 4; ++r) {
      v[r] = hn::Zero(d);
      if (!runs[r]) continue;
      if (count < lanes) std::memcpy(few[r], runs[r] + i, count);
      v[r] = hn::Xor(hn::LoadU(d, count < lanes ? few[r] : runs[r] + i), turn);
    }
    hn::StoreInterleaved4(v[0], v[1], v[2], v[3], d, count < lanes ? quads : to + 4 * i);
    if (count < lanes) std::memcpy(to + 4 * i, quads, 4 * count);
  }
}

void codes_taps(const CodeTaps& t, size_t n, int32_t* sums) noexcept {
  constexpr size_t kVectors = 4, kStep = kVectors * kSumLanes;
  static_assert(kCodeTapsStep % kStep == 0);
  const SumTag d;
  const hn::Rebind<uint8_t, SumTag> narrow;
  for (size_t i = 0; i < n; i += kStep) {
    Sums s[kVectors] = {hn::Zero(d), hn::Zero(d), hn::Zero(d), hn::Zero(d)};
    for (size_t tap = 0; tap < t.taps; ++tap) {
      const uint8_t* x = t.x + t.offsets[tap] + i;
      const Sums weight = hn::Set(d, t.weights[tap] & 0xffff);
#pragma GCC unroll 4
      for (size_t v = 0; v < kVectors; ++v)
        add_product(hn::PromoteTo(d, hn::LoadU(narrow, x + v * kSumLanes)), weight, s[v]);
    }
#pragma GCC unroll 4
    for (size_t v = 0; v < kVectors; ++v) hn::StoreU(s[v], d, sums + i + v * kSumLanes);
  }
}

void codes_line(const CodeRow& row, const CodesResult& c, const int32_t* sums, size_t n, size_t at) noexcept {
  const auto scale = hn::Set(hn::ScalableTag<float>(), row.scale);
  const auto offset = hn::Set(hn::ScalableTag<float>(), row.offset);
  const Sums bias = hn::Set(SumTag(), row.bias);
  for (size_t i = 0; i < n; i += kSumLanes)
    store_result(c, hn::Add(hn::LoadU(SumTag(), sums + i), bias), scale, offset, n - i, at + i);
}

/// The whole vectors of codes_row from code i on.
template <class D>
HWY_INLINE uint32_t copy_vectors(D d, const uint8_t* from, uint8_t flip, size_t n, int8_t* to, size_t& i) {
  const hn::Repartition<uint64_t, D> wide;
  const size_t lanes = hn::Lanes(d), first = i;
  auto sums = hn::Zero(wide);  // of codes that are 128 more
  for (; i + lanes <= n; i += lanes) {
    const auto codes = hn::Xor(hn::LoadU(d, from + i), hn::Set(d, flip));
    hn::StoreU(codes, d, reinterpret_cast<uint8_t*>(to) + i);
    sums = hn::Add(sums, hn::SumsOf8(hn::Xor(codes, hn::Set(d, 0x80))));
  }
  return uint32_t(hn::GetLane(hn::SumOfLanes(wide, sums))) - uint32_t(128 * (i - first));
}

/// Copies codes with the sign bit inverted by `flip`; returns their sum as signed numbers. `to` may be `from`.
int32_t codes_row(const uint8_t* from, uint8_t flip, size_t n, int8_t* to) noexcept {
  size_t i = 0;
  uint32_t sum = copy_vectors(hn::ScalableTag<uint8_t>(), from, flip, n, to, i);
  if (HWY_MAX_BYTES > 16) sum += copy_vectors(hn::CappedTag<uint8_t, 16>(), from, flip, n, to, i);
  for (; i < n; ++i) {
    to[i] = int8_t(from[i] ^ flip);
    sum += uint32_t(int32_t(to[i]));
  }
  return int32_t(sum);
}

}  // namespace retort::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace retort::kernels {
namespace {

CodesUnit best_unit = CodesUnit::tiles;

#if defined(__x86_64__)
bool processor_has_avx_vnni() {
  unsigned a = 0, b = 0, c = 0, d = 0;
  return __get_cpuid_count(7, 1, &a, &b, &c, &d) && (a >> 4 & 1);
}
#endif

/// The best unit at an instruction level.
CodesUnit unit_of([[maybe_unused]] Isa isa) {
  if (!allows(Feature::vnni)) return CodesUnit::pairs;
#if defined(__x86_64__)
  if (isa == Isa::avx512 && __builtin_cpu_supports("avx512vnni"))
    return codes_detail::has_tiles() && allows(Feature::amx) ? CodesUnit::tiles : CodesUnit::quads;
  return isa == Isa::avx2 && processor_has_avx_vnni() ? CodesUnit::quads : CodesUnit::pairs;
#else
  return getauxval(AT_HWCAP) & HWCAP_ASIMDDP ? CodesUnit::quads : CodesUnit::pairs;
#endif
}

}  // namespace

// Asked for several times in each step of a small LSTM, which takes less than 1 µs.
CodesUnit codes_unit() {
  static const auto units = [] {
    std::array<CodesUnit, kIsaCount> all;
    for (int i = 0; i < kIsaCount; ++i) all[i] = unit_of(Isa(i));
    return all;
  }();
  return std::min(best_unit, units[int(current_isa())]);
}
void limit_codes_unit(CodesUnit best) { best_unit = best; }

size_t codes_panel_width() {
  if (current_isa() == Isa::v2) return 8;
  return current_isa() == Isa::avx2 || codes_unit() == CodesUnit::pairs ? 16 : 32;
}

void gemm_codes_block(const GemmCodesArgs& args, size_t m0, size_t m1, size_t n0, size_t n1) noexcept {
  const CodesUnit unit = args.sums == CodesSums::exact        ? codes_unit()
                         : args.sums == CodesSums::saturating ? CodesUnit::saturating
                         : args.sums == CodesSums::magnitudes ? CodesUnit::magnitudes
                                                              : CodesUnit::turned;
  RETORT_SELECT_CODES(codes_part)(args, {m0, m1, n0, n1}, unit);
}

void sum_code_taps(const CodeTaps& taps, size_t n, int32_t* sums) noexcept {
  RETORT_SELECT_CODES(codes_taps)(taps, n, sums);
}
void finish_codes(const CodeRow& row, const CodesResult& c, const int32_t* sums, size_t n, size_t at) noexcept {
  RETORT_SELECT_CODES(codes_line)(row, c, sums, n, at);
}

codes_detail::Interleave codes_detail::interleave() noexcept { return RETORT_SELECT_CODES(codes_interleave); }
void interleave_codes(const Codes& like, const uint8_t* const (&runs)[4], size_t n, uint32_t* to) noexcept {
  codes_detail::interleave()(runs, like.is_signed ? 0x80 : 0, n, reinterpret_cast<uint8_t*>(to));
}

void finish_code_panel(void* panel, size_t k, int32_t zero, bool sums) noexcept {
  std::fill_n(static_cast<int32_t*>(panel), codes_panel_width(), zero);
  if (sums) codes_detail::sum_panel(panel, codes_depth(k));
}
void codes_detail::sum_panel(void* panel, size_t depth) noexcept {
  RETORT_SELECT_CODES(codes_panel_sums)(panel, depth);
}

int32_t sum_codes(const int8_t* codes, size_t n) noexcept {
  constexpr size_t kPiece = 4096;
  const auto copy = RETORT_SELECT_CODES(codes_row);
  int8_t piece[kPiece];
  uint32_t sum = 0;
  for (size_t i = 0; i < n; i += kPiece)
    sum += uint32_t(copy(reinterpret_cast<const uint8_t*>(codes) + i, 0, std::min(kPiece, n - i), piece));
  return int32_t(sum);
}

void pack_code_rows(const Codes& a, size_t stride, size_t m, size_t k, const Codes& zero, int8_t* to, CodeRow* rows,
                    CodesSums sums) noexcept {
  const auto pack = RETORT_SELECT_CODES(codes_row);
  const size_t depth = codes_depth(k), bytes = codes_row_bytes(k, sums);
  for (size_t i = 0; i < m; ++i, to += bytes) {
    rows[i] = {.zero = zero_of_a(a, zero[i])};
    uint32_t sum = uint32_t(pack(a.bytes(i * stride), a.is_signed ? 0 : 0x80, k, to));
    if (sums == CodesSums::turned || sums == CodesSums::corrected) {  // unsigned: 128 more
      for (size_t j = 0; j < k; ++j) to[j] = int8_t(to[j] ^ 0x80);
      rows[i].zero += 128;
      sum += 128 * uint32_t(k);
    }
    rows[i].sum = int32_t(sum + uint32_t(rows[i].zero) * uint32_t(depth - k));
    std::memset(to + k, rows[i].zero, depth - k);
    if (sums == CodesSums::magnitudes) rows[i].bias = codes_detail::split_row(to, depth);
  }
}

}  // namespace retort::kernels
#endif
