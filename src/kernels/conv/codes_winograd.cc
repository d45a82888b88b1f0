// The transforms of Winograd's method for codes, and the products between them.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/conv/codes_winograd.cc"
#include "kernels/conv/codes_winograd.h"

#include <hwy/foreach_target.h>  // must come before highway.h
#include <hwy/highway.h>

#include <algorithm>
#include <cstring>

#include "kernels/conv/codes_rows-inl.h"
#include "kernels/dispatch.h"

HWY_BEFORE_NAMESPACE();
namespace retort::kernels::HWY_NAMESPACE {
// Processors that multiply quads have no need of it.
#if HWY_ARCH_X86 && HWY_TARGET > HWY_AVX3
namespace {

using codes_detail::CodesWinograd;
using codes_detail::kWinogradPlanes;
using codes_detail::kWinogradSide;
using codes_detail::kWinogradTile;
using codes_detail::WinogradMemory;
using codes_detail::WinogradPanel;
constexpr size_t kPairLanes = 2 * kSumLanes;  ///< 16-bit numbers of a vector

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
    for (size_t c = 0; c < s.in_c; c += kPairLanes) transform_tile(pixels, c, flip, p.v_plane(), v);
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
void transform_filters(const CodesWinograd& p, const int8_t* panel, int16_t* u) {
  alignas(16) static constexpr uint8_t halves[2][16] = {{0, 0, 0, 1, 4, 4, 4, 5, 8, 8, 8, 9, 12, 12, 12, 13},
                                                        {2, 2, 2, 3, 6, 6, 6, 7, 10, 10, 10, 11, 14, 14, 14, 15}};
  const PairTag d;
  const hn::Repartition<int8_t, SumTag> codes;
  const hn::Repartition<uint8_t, SumTag> bytes;
  const size_t tap_bytes = p.tap_bytes(), plane = p.u_plane();
  for (size_t q = 0; q < p.in_c * kPanel; q += HWY_MAX_BYTES) {  // a vector of quads: half of the columns
    for (size_t half = 0; half < 2; ++half) {
      const auto order = hn::LoadDup128(bytes, halves[half]);
      const auto tap = [&](size_t i) HWY_ATTR {
        const auto quads = hn::Load(codes, panel + i * tap_bytes + q);
        return hn::ShiftRight<8>(hn::BitCast(d, hn::TableLookupBytes(quads, order)));  // two codes of each quad
      };
      Pairs rows[3][6];
#pragma GCC unroll 1
      for (size_t j = 0; j < 3; ++j) transform_taps(tap(j), tap(3 + j), tap(6 + j), rows[j]);
      // A step of four channels is two of pairs.
      const size_t step = q / (4 * kPanel), column = q % (4 * kPanel);
      int16_t* to = u + ((2 * step + half) * 4 * kPanel + column) / sizeof(int16_t);
#pragma GCC unroll 1
      for (size_t i = 0; i < kWinogradSide; ++i, to += kWinogradSide * plane) {
        Pairs o[6];
        transform_taps(rows[0][i], rows[1][i], rows[2][i], o);
#pragma GCC unroll 6
        for (size_t j = 0; j < 6; ++j) hn::Store(o[j], d, to + j * plane);
      }
    }
  }
}

constexpr size_t kMostTiles = 6;  ///< twelve sums, two vectors of U, one of V and a product are in registers

/// sums [kTiles][kPanel] = V · U of one plane.
template <size_t kTiles>
void multiply_tiles(const int16_t* v, size_t depth, const int16_t* u, int32_t* sums) noexcept {
  const SumTag d;
  const PairTag pairs;
  const int16_t* rows[(kTiles + 2) / 3];
#pragma GCC unroll 2
  for (size_t g = 0; g < (kTiles + 2) / 3; ++g) rows[g] = v + g * 3 * depth;
  Sums s[kTiles][2];
#pragma GCC unroll 6
  for (size_t t = 0; t < kTiles; ++t) s[t][0] = s[t][1] = hn::Zero(d);
  for (size_t k = 0; k < depth; k += 2, u += 2 * kPairLanes) {
    const Pairs u0 = hn::Load(pairs, u), u1 = hn::Load(pairs, u + kPairLanes);
#pragma GCC unroll 6
    for (size_t t = 0; t < kTiles; ++t) {
      const auto* const at = reinterpret_cast<const int8_t*>(rows[t / 3] + t % 3 * depth + k);
      const Pairs x = hn::BitCast(pairs, hn::Set(d, load_quad(at)));
      s[t][0] = add_pairs(x, u0, s[t][0]);
      s[t][1] = add_pairs(x, u1, s[t][1]);
    }
  }
#pragma GCC unroll 6
  for (size_t t = 0; t < kTiles; ++t) {
    hn::Store(s[t][0], d, sums + t * kPanel);
    hn::Store(s[t][1], d, sums + t * kPanel + kSumLanes);
  }
}

void multiply_plane(const int16_t* v, size_t tiles, size_t depth, const int16_t* u, int32_t* sums) {
  static constexpr decltype(&multiply_tiles<1>) forms[kMostTiles] = {&multiply_tiles<1>, &multiply_tiles<2>,
                                                                     &multiply_tiles<3>, &multiply_tiles<4>,
                                                                     &multiply_tiles<5>, &multiply_tiles<6>};
  const size_t even = ceil_div(tiles, ceil_div(tiles, kMostTiles));
  for (size_t t = 0; t < tiles; t += even)
    forms[std::min(even, tiles - t) - 1](v + t * depth, depth, u, sums + t * kPanel);
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
#pragma GCC unroll 1
  for (size_t j = 0; j < kWinogradSide; ++j) {
    Sums column[6], o[4];
#pragma GCC unroll 6
    for (size_t i = 0; i < 6; ++i) column[i] = hn::Load(d, m + (i * 6 + j) * plane);
    transform_sums(column, o);
#pragma GCC unroll 4
    for (size_t i = 0; i < 4; ++i) rows[i][j] = o[i];
  }
#pragma GCC unroll 1
  for (size_t i = 0; i < kWinogradTile; ++i) {
    Sums o[4];
    transform_sums(rows[i], o);
#pragma GCC unroll 4
    for (size_t j = 0; j < 4; ++j)
      hn::Store(hn::Add(hn::ShiftRight<6>(hn::Mul(o[j], ninth)), bias), d, to + (i * kWinogradTile + j) * kPanel);
  }
}

void finish_block(const ConvCodesArgs& a, const CodesWinograd& p, const WinogradPanel& at, const Columns& columns,
                  const int32_t* m) {
  const SumTag d;
  const CodesConvShape& s = a.shape;
  const size_t n = at.n, stride = s.out_pixel_stride * codes_detail::form_of(a).bytes();
  const Sums bias[2] = {hn::LoadU(d, a.bias + n), hn::LoadU(d, a.bias + n + kSumLanes)};
  alignas(64) int32_t sums[kWinogradTile * kWinogradTile * kPanel];
  for (size_t t = at.t0; t < at.t1; ++t, m += kPanel) {
    for (size_t v = 0; v < 2; ++v) sum_tile(m + v * kSumLanes, p.sums_plane(), bias[v], sums + v * kSumLanes);
    const size_t y = t / p.tiles_w % p.tiles_h * kWinogradTile, x = t % p.tiles_w * kWinogradTile;
    const size_t count = std::min(kWinogradTile, s.out_w - x);
    const size_t pixel = (t / (p.tiles_h * p.tiles_w) * s.out_h + y) * s.out_w + x;
    for (size_t i = 0; i < std::min(kWinogradTile, s.out_h - y); ++i) {
      uint8_t* const to = codes_detail::results_of(a, pixel + i * s.out_w, n);
      if (columns.wide) {
        store_sums(columns, sums + i * kWinogradTile * kPanel, count, to, stride);
        codes_detail::finish_sums(a, pixel + i * s.out_w, count, n, std::min(n + kPanel, s.out_c));
        continue;
      }
      for (size_t j = 0; j < count; j += 2) {
        const size_t next = std::min(j + 1, count - 1);
        const int32_t *s0 = sums + (i * kWinogradTile + j) * kPanel, *s1 = s0 + (next - j) * kPanel;
        const Sums first[2] = {hn::Load(d, s0), hn::Load(d, s0 + kSumLanes)};
        const Sums second[2] = {hn::Load(d, s1), hn::Load(d, s1 + kSumLanes)};
        store_rows<false>(columns, first, second, to + j * stride, to + next * stride);
      }
    }
  }
}

}  // namespace

void codes_winograd_pixels(const ConvCodesArgs& a, const CodesWinograd& p, size_t t0, size_t t1,
                           const WinogradMemory& w) noexcept {
  transform_block(a, p, t0, t1, w.outside, w.v);
}

void codes_winograd_panel(const ConvCodesArgs& a, const CodesWinograd& p, const WinogradPanel& at,
                          const WinogradMemory& w) noexcept {
  transform_filters(p, w.filters, w.u);
  for (size_t i = 0; i < kWinogradPlanes; ++i)
    multiply_plane(w.v + i * p.v_plane(), at.t1 - at.t0, p.in_c, w.u + i * p.u_plane(), w.sums + i * p.sums_plane());
  const auto scaling = [&](size_t n) HWY_ATTR { return load_scaling(a.scale + n, a.offset + n); };
  const Columns columns{{scaling(at.n), scaling(at.n + kSumLanes)},
                        CodeRange(a.output_zero, a.output_signed),
                        a.shape.out_c - at.n,
                        a.wide.data != nullptr};
  finish_block(a, p, at, columns, w.sums);
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
  const bool narrow = current_isa() == Isa::v2;
  const auto pixels = narrow ? &N_SSE4::codes_winograd_pixels : &N_AVX2::codes_winograd_pixels;
  const auto multiply = narrow ? &N_SSE4::codes_winograd_panel : &N_AVX2::codes_winograd_panel;
  const size_t bytes = WinogradMemory(plan, nullptr).bytes;
  const auto memory = [&](int worker) {
    return WinogradMemory(plan, static_cast<char*>(scratch) + size_t(worker) * bytes);
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
      restore_filters(a, plan, n, w.filters);
      multiply(a, plan, {t0, t1, n}, w);
    }
  });
}
#else
void convolve_codes_winograd(const ConvCodesArgs&, void*, const Parallel&) {}
#endif

}  // namespace retort::kernels::codes_detail
#endif
