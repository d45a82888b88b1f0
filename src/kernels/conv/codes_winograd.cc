// The transforms of Winograd's method for codes, and the products between them.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/conv/codes_winograd.cc"
#include "kernels/conv/codes_winograd.h"

#include <hwy/foreach_target.h>  // must come before highway.h
#include <hwy/highway.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "kernels/conv/codes_rows-inl.h"
#include "kernels/gemm/codes_tile.h"

HWY_BEFORE_NAMESPACE();
namespace retort::kernels::HWY_NAMESPACE {
#if HWY_ARCH_X86
namespace {

using codes_detail::CodesWinograd;
using codes_detail::kWinogradPlanes;
using codes_detail::kWinogradSide;
using codes_detail::kWinogradTile;
using codes_detail::WinogradMemory;
using codes_detail::WinogradPanel;
constexpr size_t kPairLanes = 2 * kSumLanes;  ///< 16-bit numbers of a vector
/// Lines whose transforms the compiler interleaves. The 32 registers of AVX-512 hold what is between both directions.
constexpr size_t kLinesAtOnce = HWY_MAX_BYTES == 64 ? kWinogradSide : 1;

// o = B^T · d for the points 0, 1, -1, 2, -2, ∞; both directions keep codes within 16 bits: 68 · 255 at most.
HWY_INLINE void transform_pixels(const Pairs (&d)[6], Pairs (&o)[6]) {
  const Pairs even = hn::Sub(d[4], d[2]), odd = hn::Sub(d[3], d[1]), twice = hn::Add(odd, odd);
  o[0] = hn::Add(hn::ShiftLeft<2>(hn::Sub(d[0], d[2])), even);
  o[1] = hn::Sub(hn::Add(d[3], d[4]), hn::ShiftLeft<2>(hn::Add(d[1], d[2])));
  o[2] = hn::Add(hn::ShiftLeft<2>(hn::Sub(d[1], d[2])), hn::Sub(d[4], d[3]));
  o[3] = hn::Add(even, twice);
  o[4] = hn::Sub(even, twice);
  o[5] = hn::Sub(hn::Sub(d[5], d[3]), hn::ShiftLeft<2>(odd));
}

// V of one tile for the channels of a vector; `pixels` are the addresses of the 36 pixels.
HWY_INLINE void transform_tile(const uint8_t* const (&pixels)[kWinogradPlanes], size_t channel, Pairs flip,
                               size_t plane, int16_t* v) {
  const PairTag d;
  const hn::Rebind<uint8_t, PairTag> narrow;
  Pairs rows[kWinogradSide][kWinogradSide];  // in memory: registers would not hold them
#pragma GCC unroll 1
  for (size_t j = 0; j < kWinogradSide; ++j) {
    Pairs column[6], o[6];
#pragma GCC unroll 6
    for (size_t i = 0; i < 6; ++i)
      column[i] = hn::Xor(hn::PromoteTo(d, hn::LoadU(narrow, pixels[i * 6 + j] + channel)), flip);
    transform_pixels(column, o);
#pragma GCC unroll 6
    for (size_t i = 0; i < 6; ++i) rows[i][j] = o[i];
  }
#pragma GCC unroll 1
  for (size_t i = 0; i < kWinogradSide; ++i) {
    Pairs o[6];
    transform_pixels(rows[i], o);
#pragma GCC unroll 6
    for (size_t j = 0; j < 6; ++j) hn::StoreU(o[j], d, v + (i * 6 + j) * plane + channel);
  }
}

void transform_block(const ConvCodesArgs& a, const CodesWinograd& p, size_t t0, size_t t1, const uint8_t* outside,
                     int16_t* v) {
  const CodesConvShape& s = a.shape;
  const Pairs flip = hn::Set(PairTag(), int16_t(s.input_signed ? 0x80 : 0));
  for (size_t t = t0; t < t1; ++t, v += s.in_c) {
    const uint8_t* image = a.input + t / (p.tiles_h * p.tiles_w) * s.in_h * s.in_w * s.in_pixel_stride;
    // Coordinates left of or above the image wrap around, so they are larger than its size too.
    const size_t y0 = t / p.tiles_w % p.tiles_h * kWinogradTile - s.pad_top;
    const size_t x0 = t % p.tiles_w * kWinogradTile - s.pad_left;
    const uint8_t* pixels[kWinogradPlanes];
    for (size_t i = 0; i < kWinogradPlanes; ++i) {
      const size_t y = y0 + i / kWinogradSide, x = x0 + i % kWinogradSide;
      pixels[i] = y < s.in_h && x < s.in_w ? image + (y * s.in_w + x) * s.in_pixel_stride : outside;
    }
    for (size_t c = 0; c < s.in_c; c += kPairLanes)  // the last vector may overlap the one before
      transform_tile(pixels, std::min(c, s.in_c - kPairLanes), flip, p.v_plane(), v);
  }
}

// o = 24 · G · w, but of the points 1 and -1 with the other sign, and of ∞ a third.
HWY_INLINE void transform_taps(Pairs a, Pairs b, Pairs c, Pairs (&o)[6]) {
  const Pairs twice = hn::Add(a, a), four = hn::ShiftLeft<2>(c), odd = hn::Add(b, b);
  const Pairs near = hn::ShiftLeft<2>(hn::Add(a, c)), near_odd = hn::Add(odd, odd), far = hn::Add(a, four);
  o[0] = hn::Add(twice, hn::Add(twice, twice));
  o[1] = hn::Add(near, near_odd);
  o[2] = hn::Sub(near, near_odd);
  o[3] = hn::Add(far, odd);
  o[4] = hn::Sub(far, odd);
  o[5] = hn::Add(four, four);
}

/// U [plane][pair of channels][column][2] from a panel of filters.
void transform_filters(const CodesWinograd& p, const int8_t* panel, size_t tap_bytes, int16_t* u) {
  alignas(16) static constexpr uint8_t halves[2][16] = {{0, 0, 0, 1, 4, 4, 4, 5, 8, 8, 8, 9, 12, 12, 12, 13},
                                                        {2, 2, 2, 3, 6, 6, 6, 7, 10, 10, 10, 11, 14, 14, 14, 15}};
  const PairTag d;
  const hn::Repartition<int8_t, SumTag> codes;
  const hn::Repartition<uint8_t, SumTag> bytes;
  const size_t plane = p.u_plane();
  for (size_t q = 0; q < p.in_c * kPanel; q += HWY_MAX_BYTES) {  // a vector of quads: half of the columns
    for (size_t half = 0; half < 2; ++half) {
      const auto order = hn::LoadDup128(bytes, halves[half]);
      const auto tap = [&](size_t i) HWY_ATTR {
        const auto quads = hn::Load(codes, panel + i * tap_bytes + q);
        return hn::ShiftRight<8>(hn::BitCast(d, hn::TableLookupBytes(quads, order)));  // two codes of each quad
      };
      Pairs rows[3][6];
#pragma GCC unroll kLinesAtOnce
      for (size_t j = 0; j < 3; ++j) transform_taps(tap(j), tap(3 + j), tap(6 + j), rows[j]);
      // A step of four channels is two of pairs.
      const size_t step = q / (4 * kPanel), column = q % (4 * kPanel);
      int16_t* to = u + ((2 * step + half) * 4 * kPanel + column) / sizeof(int16_t);
#pragma GCC unroll kLinesAtOnce
      for (size_t i = 0; i < kWinogradSide; ++i, to += kWinogradSide * plane) {
        Pairs o[6];
        transform_taps(rows[0][i], rows[1][i], rows[2][i], o);
#pragma GCC unroll 6
        for (size_t j = 0; j < 6; ++j) hn::Store(o[j], d, to + j * plane);
      }
    }
  }
}

/// Sums, two vectors of U, one of V and a product, which is added apart before AVX-512, are in registers.
constexpr size_t kMostTiles = HWY_MAX_BYTES == 64 ? 14 : 6;

/// sums [kTiles][kPanel] = V · U of one plane.
template <size_t kTiles>
void multiply_tiles(const int16_t* v, size_t depth, const int16_t* u, int32_t* sums) noexcept {
  const SumTag d;
  const PairTag pairs;
  const int16_t* rows[(kTiles + 2) / 3];
#pragma GCC unroll 5
  for (size_t g = 0; g < (kTiles + 2) / 3; ++g) rows[g] = v + g * 3 * depth;
  Sums s[kTiles][2];
#pragma GCC unroll 14
  for (size_t t = 0; t < kTiles; ++t) s[t][0] = s[t][1] = hn::Zero(d);
  for (size_t k = 0; k < depth; k += 2, u += 2 * kPairLanes) {
    const Pairs u0 = hn::Load(pairs, u), u1 = hn::Load(pairs, u + kPairLanes);
#pragma GCC unroll 14
    for (size_t t = 0; t < kTiles; ++t) {
      const auto* const at = reinterpret_cast<const int8_t*>(rows[t / 3] + t % 3 * depth + k);
      const Pairs x = hn::BitCast(pairs, hn::Set(d, load_quad(at)));
      add_pair(x, u0, s[t][0]);
      add_pair(x, u1, s[t][1]);
    }
  }
#pragma GCC unroll 14
  for (size_t t = 0; t < kTiles; ++t) {
    hn::Store(s[t][0], d, sums + t * kPanel);
    hn::Store(s[t][1], d, sums + t * kPanel + kSumLanes);
  }
}

template <size_t... kHalf>
constexpr std::array<decltype(&multiply_tiles<2>), sizeof...(kHalf)> forms_of(std::index_sequence<kHalf...>) {
  return {&multiply_tiles<2 * kHalf + 2>...};
}

/// There are forms for even numbers of tiles only: a last tile may be none.
void multiply_plane(const int16_t* v, size_t tiles, size_t depth, const int16_t* u, int32_t* sums) {
  static constexpr auto forms = forms_of(std::make_index_sequence<kMostTiles / 2>());
  const size_t even = round_up(ceil_div(tiles, ceil_div(tiles, kMostTiles)), 2);
  for (size_t t = 0; t < tiles; t += even)
    forms[(std::min(even, tiles - t) + 1) / 2 - 1](v + t * depth, depth, u, sums + t * kPanel);
}

// o = 24 · A^T · m
HWY_INLINE void transform_sums(const Sums (&m)[6], Sums (&o)[4]) {
  const Sums near = hn::Add(m[1], m[2]), near_odd = hn::Sub(m[1], m[2]);
  const Sums far = hn::Add(m[3], m[4]), far_odd = hn::Sub(m[3], m[4]);
  o[0] = hn::Add(hn::Sub(m[0], near), far);
  o[1] = hn::Sub(hn::Add(far_odd, far_odd), near_odd);
  o[2] = hn::Sub(hn::ShiftLeft<2>(far), near);
  o[3] = hn::Add(hn::Sub(hn::ShiftLeft<3>(far_odd), near_odd), hn::Add(m[5], hn::Add(m[5], m[5])));
}

/// The sums of a tile, [pixel][column], with the bias.
HWY_INLINE void sum_tile(const int32_t* m, size_t plane, Sums bias, int32_t* to) {
  const SumTag d;
  const Sums ninth = hn::Set(d, 0x38e38e39);  // times 9 it is 1 modulo 2^32
  Sums rows[kWinogradTile][kWinogradSide];
#pragma GCC unroll kLinesAtOnce
  for (size_t j = 0; j < kWinogradSide; ++j) {
    Sums column[6], o[4];
#pragma GCC unroll 6
    for (size_t i = 0; i < 6; ++i) column[i] = hn::Load(d, m + (i * 6 + j) * plane);
    transform_sums(column, o);
#pragma GCC unroll 4
    for (size_t i = 0; i < 4; ++i) rows[i][j] = o[i];
  }
#pragma GCC unroll kLinesAtOnce
  for (size_t i = 0; i < kWinogradTile; ++i) {
    Sums o[4];
    transform_sums(rows[i], o);
#pragma GCC unroll 4
    for (size_t j = 0; j < 4; ++j)
      hn::Store(hn::Add(hn::ShiftRight<6>(hn::Mul(o[j], ninth)), bias), d, to + (i * kWinogradTile + j) * kPanel);
  }
}

/// Tiles from t on, one after the other in a line of tiles: the first of their pixels, and how many the result has.
struct TileRun {
  size_t count, pixel, pixels, lines;
  TileRun(const CodesConvShape& s, const CodesWinograd& p, size_t t, size_t end)
      : count(std::min(end - t, p.tiles_w - t % p.tiles_w)) {
    const size_t x = t % p.tiles_w * kWinogradTile, y = t / p.tiles_w % p.tiles_h * kWinogradTile;
    pixel = (t / (p.tiles_h * p.tiles_w) * s.out_h + y) * s.out_w + x;
    pixels = std::min(count * kWinogradTile, s.out_w - x);
    lines = std::min(kWinogradTile, s.out_h - y);
  }
};

/// Stores the sums of `count` pixels as codes.
void store_pixels(const Columns& columns, const int32_t* sums, size_t count, uint8_t* to, size_t stride) {
  const SumTag d;
  for (size_t j = 0; j < count; j += 2) {
    const size_t next = std::min(j + 1, count - 1);
    const int32_t *s0 = sums + j * kPanel, *s1 = s0 + (next - j) * kPanel;
    const Sums first[2] = {hn::Load(d, s0), hn::Load(d, s0 + kSumLanes)};
    const Sums second[2] = {hn::Load(d, s1), hn::Load(d, s1 + kSumLanes)};
    store_rows<false>(columns, first, second, to + j * stride, to + next * stride);
  }
}

/// Adds the other image to the codes of the run, and stores the results.
void add_residual(const ConvCodesArgs& a, const TileRun& run, size_t n, const uint8_t* codes) {
  const CodesResidual& r = a.residual;
  const size_t stride = a.shape.out_pixel_stride;
  for (size_t i = 0; i < run.lines; ++i, codes += run.count * kWinogradTile * kPanel) {
    const size_t pixel = run.pixel + i * a.shape.out_w;
    CodeRun sum = r.sum, other = r.other;
    sum.codes = a.output + pixel * stride + n;
    other.codes = static_cast<const uint8_t*>(other.codes) + pixel * r.pixel_stride + n;
    add_codes({codes, a.output_signed, a.output_zero, r.scale}, other, sum,
              {run.pixels, std::min(kPanel, a.shape.out_c - n), kPanel, r.pixel_stride, stride});
  }
}

void finish_run(const ConvCodesArgs& a, const CodesWinograd& p, const TileRun& run, size_t n, const Columns& columns,
                const int32_t* m, uint8_t* codes) {
  const SumTag d;
  const CodesConvShape& s = a.shape;
  const bool adds = a.residual.other.codes != nullptr;
  const size_t stride = adds ? kPanel : s.out_pixel_stride * codes_detail::form_of(a).bytes();
  const Sums bias[2] = {hn::LoadU(d, a.bias + n), hn::LoadU(d, a.bias + n + kSumLanes)};
  alignas(64) int32_t sums[kWinogradTile * kWinogradTile * kPanel];
  for (size_t x = 0; x < run.pixels; x += kWinogradTile, m += kPanel) {
    for (size_t v = 0; v < 2; ++v) sum_tile(m + v * kSumLanes, p.sums_plane(), bias[v], sums + v * kSumLanes);
    const size_t count = std::min(kWinogradTile, run.pixels - x);
    for (size_t i = 0; i < run.lines; ++i) {
      const int32_t* const line = sums + i * kWinogradTile * kPanel;
      const size_t pixel = run.pixel + i * s.out_w + x;
      if (columns.wide) {
        store_sums(columns, line, count, codes_detail::results_of(a, pixel, n), stride);
        codes_detail::finish_sums(a, pixel, count, n, std::min(n + kPanel, s.out_c));
      } else {
        uint8_t* const to =
            adds ? codes + (i * run.count * kWinogradTile + x) * kPanel : codes_detail::results_of(a, pixel, n);
        store_pixels(columns, line, count, to, stride);
      }
    }
  }
  if (adds) add_residual(a, run, n, codes);
}

}  // namespace

void codes_winograd_pixels(const ConvCodesArgs& a, const CodesWinograd& p, size_t t0, size_t t1,
                           const WinogradMemory& w) noexcept {
  transform_block(a, p, t0, t1, w.outside, w.v);
}

void codes_winograd_panel(const ConvCodesArgs& a, const CodesWinograd& p, const WinogradPanel& at,
                          const WinogradMemory& w) noexcept {
  transform_filters(p, at.filters, at.tap_bytes, w.u);
  const auto scaling = [&](size_t n) HWY_ATTR { return load_scaling(a.scale + n, a.offset + n); };
  const Columns columns{{scaling(at.n), scaling(at.n + kSumLanes)},
                        CodeRange(a.output_zero, a.output_signed),
                        a.shape.out_c - at.n,
                        a.wide.data != nullptr};
  for (size_t t = at.t0; t < at.t1; t += p.sums_tiles) {
    const size_t end = std::min(t + p.sums_tiles, at.t1);
    const int16_t* const v = w.v + (t - at.t0) * p.in_c;
    for (size_t i = 0; i < kWinogradPlanes; ++i)
      multiply_plane(v + i * p.v_plane(), end - t, p.in_c, w.u + i * p.u_plane(), w.sums + i * p.sums_plane());
    for (size_t first = t; first < end;) {
      const TileRun run(a.shape, p, first, end);
      finish_run(a, p, run, at.n, columns, w.sums + (first - t) * kPanel, w.codes);
      first += run.count;
    }
  }
}
#endif

}  // namespace retort::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace retort::kernels::codes_detail {

#if defined(__x86_64__)
namespace {

/// Copies the filters of a panel, with their excess.
void restore_filters(const ConvCodesArgs& a, const CodesWinograd& p, size_t n, int8_t* to) {
  const size_t width = codes_panel_width(), bytes = p.in_c * width, tap_bytes = p.tap_bytes(), panel = n / width;
  const int8_t* const packed = a.packed + panel * 9 * bytes;
  for (size_t tap = 0; tap < 9; ++tap) std::memcpy(to + tap * tap_bytes, packed + tap * bytes, bytes);
  const Excess excess = excess_in(a.shape, a.packed);
  const ExcessChain* chain = excess.chains(panel);
  for (const ExcessChain* const end = chain + excess.count(panel); chain < end; ++chain) {
    for (size_t i = 0; i < kExcessChain; ++i) {
      const size_t tap = chain->k[i] / p.in_c, channel = chain->k[i] % p.in_c;
      int8_t& weight = to[tap * tap_bytes + (channel / 4 * width + chain->column) * 4 + channel % 4];
      weight = int8_t(weight + chain->weights[i / 2][i % 2]);
    }
  }
}

}  // namespace

void convolve_codes_winograd(const ConvCodesArgs& a, void* scratch, const Parallel& par) {
  const CodesConvShape& s = a.shape;
  const CodesWinograd plan(s);
  const auto pixels = RETORT_SELECT_CODES(codes_winograd_pixels);
  const auto multiply = RETORT_SELECT_CODES(codes_winograd_panel);
  const bool residual = a.residual.other.codes != nullptr, corrects = corrects_pairs(s);
  const size_t bytes = codes_winograd_bytes(s, residual);
  const auto memory = [&](int worker) {
    return WinogradMemory(plan, residual, static_cast<char*>(scratch) + size_t(worker) * bytes);
  };
  for (int worker = 0; worker < par.workers(); ++worker) *memory(worker).block = WinogradMemory::kNone;
  par.for_each(plan.blocks * plan.groups, [&](size_t task, int worker) {
    const WinogradMemory w = memory(worker);
    const size_t block = task / plan.groups, t0 = block * plan.block_tiles;
    const size_t t1 = std::min(t0 + plan.block_tiles, plan.tiles);
    if (*w.block != block) {
      if (*w.block == WinogradMemory::kNone) std::memset(w.outside, a.input_zero, s.in_c);
      pixels(a, plan, t0, t1, w);
      *w.block = block;
    }
    const size_t first = task % plan.groups * plan.columns, end = std::min(first + plan.columns, s.out_c);
    for (size_t n = first; n < end && !par.cancelled(); n += codes_panel_width()) {
      WinogradPanel panel{t0, t1, n, a.packed + n * 9 * s.in_c, s.in_c * codes_panel_width()};
      if (corrects) {
        restore_filters(a, plan, n, w.filters);
        panel.filters = w.filters;
        panel.tap_bytes = plan.tap_bytes();
      }
      multiply(a, plan, panel, w);
    }
  });
}
#else
void convolve_codes_winograd(const ConvCodesArgs&, void*, const Parallel&) {}
#endif

}  // namespace retort::kernels::codes_detail
#endif
