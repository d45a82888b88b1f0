// Winograd convolution F(4x4, 3x3): a 4x4 tile of outputs from a 6x6 tile of inputs by 36 multiplications instead of
// 144; and F(2x2, 3x3): 16 instead of 36, with half the filters. After A. Lavin and S. Gray, "Fast Algorithms for
// Convolutional Neural Networks" (2015), for the large tile with the interpolation points 0, ±1/sqrt(2), ±sqrt(2), ∞:
// at the same cost their error is a fifth of that of 0, ±1, ±2, ∞ (measured: 2e-6 against 1e-5 of the largest output,
// 256 channels). The small tile has the points 0, ±1, ∞.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/conv/winograd.cc"
#include <hwy/foreach_target.h>  // must come before highway.h
#include <hwy/highway.h>

#include <algorithm>
#include <numbers>

#include "base/checked.h"
#include "kernels/conv/conv_plan.h"
#include "kernels/conv/finish-inl.h"
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

// V of n channels of one tile; pixels: where the 36 inputs lie. Two rows at a time: loading the inputs thrice costs
// less than spilling 36 vectors.
HWY_INLINE void transform_tile(const float* const (&pixels)[36], size_t channel, size_t n, float* v, size_t plane) {
  transform_rows<RowPair::near>(pixels, channel, n, v + channel, plane);
  transform_rows<RowPair::far>(pixels, channel, n, v + channel, plane);
  transform_rows<RowPair::ends>(pixels, channel, n, v + channel, plane);
}

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
    for (size_t j = 0; j < 4; ++j) hn::StoreU(o[j], FloatTag(), v + channel + (i * 4 + j) * plane);
  }
}

// Y = A^T · M · A of n output channels of one tile, finished and stored.
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

template <size_t kTile>
void transform_block(const ConvArgs& args, const conv_detail::WinogradPlan& plan,
                     const conv_detail::WinogradBlock& block, const float* zeros, float* v) {
  constexpr size_t kSide = kTile + 2;
  const ConvShape& s = args.shape;
  for (size_t t = block.t0; t < block.t1; ++t, v += plan.v_stride) {
    const float* image = args.input + t / (plan.tiles_h * plan.tiles_w) * s.in_h * s.in_w * s.in_pixel_stride;
    // Coordinates left of or above the image wrap around and are larger than its size too.
    const size_t y0 = t / plan.tiles_w % plan.tiles_h * kTile - s.pad_top, x0 = t % plan.tiles_w * kTile - s.pad_left;
    const float* pixels[kSide * kSide];
    for (size_t i = 0; i < kSide * kSide; ++i) {
      const size_t y = y0 + i / kSide, x = x0 + i % kSide;
      pixels[i] = y < s.in_h && x < s.in_w ? image + (y * s.in_w + x) * s.in_pixel_stride : zeros;
    }
    size_t c = 0;
    for (; c + kLanes <= s.in_c; c += kLanes) transform_tile(pixels, c, kLanes, v, plan.v_plane);
    if (c < s.in_c) transform_tile(pixels, c, s.in_c - c, v, plan.v_plane);
  }
}

template <size_t kTile>
void finish_block(const ConvArgs& args, const conv_detail::WinogradPlan& plan, const conv_detail::WinogradBlock& block,
                  const float* m) {
  const ConvShape& s = args.shape;
  const Finish finish(args);
  for (size_t t = block.t0; t < block.t1; ++t, m += plan.m_stride) {
    const size_t y = t / plan.tiles_w % plan.tiles_h * kTile, x = t % plan.tiles_w * kTile;
    const size_t b = t / (plan.tiles_h * plan.tiles_w);
    OutputTile at{(b * s.out_h + y) * s.out_w + x, s.out_w, s.out_h - y, s.out_w - x, block.n0, kLanes};
    const float* sums = m;
    for (; at.channel + kLanes <= block.n1; at.channel += kLanes, sums += kLanes) {
      finish_tile<kTile>(sums, plan.m_plane, finish, {at.pixel, at.line, at.rows, at.columns, at.channel, kLanes});
    }
    at.channels = block.n1 - at.channel;
    if (at.channels > 0) finish_tile<kTile>(sums, plan.m_plane, finish, at);
  }
}

}  // namespace

// `zeros`: in_c of them.
void winograd_input(const ConvArgs& args, const conv_detail::WinogradPlan& plan,
                    const conv_detail::WinogradBlock& block, const float* zeros, float* v) noexcept {
  plan.tile == 2 ? transform_block<2>(args, plan, block, zeros, v) : transform_block<4>(args, plan, block, zeros, v);
}

void winograd_output(const ConvArgs& args, const conv_detail::WinogradPlan& plan,
                     const conv_detail::WinogradBlock& block, const float* m) noexcept {
  plan.tile == 2 ? finish_block<2>(args, plan, block, m) : finish_block<4>(args, plan, block, m);
}

}  // namespace retort::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace retort::kernels::conv_detail {
namespace {

// A plane starts an odd number of lines after the one before, so that the stores of a tile go to different sets of
// the cache.
size_t spread_plane(size_t floats) { return (ceil_div(floats, size_t(16)) | 1) * 16; }

constexpr size_t kMinTiles = 12;  // of a block: rows of a product

// Tiles of a block, from what V and M of a tile take.
size_t fitting_tiles(const WinogradPlan& p, size_t tile_bytes) {
  constexpr size_t kMaxTiles = 96;
  if (p.keeps_filters) {
    constexpr size_t kCacheBytes = 640 << 10;  // V and M; U takes the rest of a cache of 1 or 2 MiB
    return std::clamp(kCacheBytes / tile_bytes, kMinTiles, kMaxTiles);
  }
  // Each block transforms the filters again: 48 tiles where V and M are not far larger than the cache then.
  constexpr size_t kCacheBytes = 1400 << 10, kMostBytes = 2 * kCacheBytes, kFewTiles = 48;
  const size_t few = std::clamp(kMostBytes / tile_bytes, kMinTiles, kFewTiles);
  return std::clamp(kCacheBytes / tile_bytes, few, kMaxTiles);
}

struct WinogradScratch {
  WorkerHead* head;
  float *zeros, *v, *m, *u;
};

WinogradScratch worker_scratch(const WinogradPlan& plan, size_t in_c, void* scratch, int worker) {
  WinogradScratch w;
  w.head = worker_head(scratch, plan.worker_bytes, worker);
  w.zeros = reinterpret_cast<float*>(w.head + 1);
  w.v = w.zeros + round_up(in_c, 16);
  w.m = w.v + plan.planes * plan.v_plane;
  w.u = w.m + plan.planes * plan.m_plane;
  return w;
}

// Plane i of a part.
size_t plane_of(const WinogradPlan& plan, size_t part, size_t i) {
  const size_t side = plan.tile + 2, second = i / side;
  const bool ends = part + 1 == plan.parts;
  const size_t row = ends ? second * (side - 1) : 2 * part + 1 + second;
  return row * side + i % side;
}

// The products M = V · U of a block for one part of the planes and some of its columns.
void multiply(const ConvArgs& args, const WinogradPlan& plan, const WinogradBlock& block,
              const WinogradFilters& filters, const float* u, const WinogradScratch& w, const Parallel& par) {
  GemmArgs product;
  product.m = block.t1 - block.t0;
  product.n = filters.n1 - filters.n0;
  product.k = args.shape.in_c;
  product.a_stride = plan.v_stride;
  product.c_stride = plan.m_stride;
  product.run = &par;
  for (size_t i = 0; i < plan.part_planes; ++i) {
    const size_t plane = plane_of(plan, filters.part, i);
    product.a = w.v + plane * plan.v_plane;
    product.packed_b = u + i * plan.u_plane;
    product.b_is_near = i > 0;
    product.next_b = i + 1 < plan.part_planes ? u + (i + 1) * plan.u_plane : nullptr;
    product.c = w.m + plane * plan.m_plane + (filters.n0 - block.n0);
    gemm_block(product, 0, product.n);
  }
}

void multiply_block(const ConvArgs& args, const WinogradPlan& plan, const WinogradBlock& block,
                    const WinogradScratch& w, const Parallel& par) {
  const bool transformed = plan.keeps_filters && w.head->filters == block.n0;
  for (size_t n0 = block.n0; n0 < block.n1; n0 += plan.chunk) {
    for (size_t part = 0; part < plan.parts; ++part) {
      const WinogradFilters filters{part, n0, std::min(n0 + plan.chunk, block.n1)};
      float* const u = plan.keeps_filters ? w.u + part * plan.part_planes * plan.u_plane : w.u;
      if (!transformed) winograd_filters(plan, args.shape.in_c, filters, args.packed, u);
      multiply(args, plan, block, filters, u, w, par);
    }
  }
  w.head->filters = block.n0;
}

void plan_blocks(const ConvShape& s, WinogradPlan& p) {
  constexpr size_t kMaxColumns = 128, kMinColumns = 64;  // each group transforms the input again
  const size_t wanted = wanted_tasks(p.tiles * p.planes * s.in_c * s.out_c), width = gemm_panel_width();
  const size_t least = ceil_div(s.out_c, kMaxColumns);
  const size_t most = std::max(p.keeps_filters ? s.out_c / kMinColumns : ceil_div(s.out_c, width), least);
  const size_t usual = p.keeps_filters ? group_columns(s.out_c, least) : width;
  const size_t tile_bytes = p.planes * (p.v_stride + spread_stride(usual)) * sizeof(float);
  const size_t fitting = fitting_tiles(p, tile_bytes);
  p.blocks = ceil_div(p.tiles, fitting);
  if (p.keeps_filters) p.blocks = std::max(p.blocks, std::min(wanted, p.tiles / kMinTiles));
  p.block_tiles = ceil_div(p.tiles, std::max<size_t>(p.blocks, 1));
  p.blocks = ceil_div(p.tiles, p.block_tiles);
  p.columns = group_columns(s.out_c, std::clamp(ceil_div(wanted, p.blocks), least, most));
  p.column_groups = ceil_div(s.out_c, p.columns);
}

void plan_filters(const ConvShape& s, WinogradPlan& p) {
  constexpr size_t kChunkBytes = 384 << 10;
  const size_t width = gemm_panel_width();
  p.keeps_filters = p.keeps_filters && p.blocks > 1;  // else nobody reads them again
  const size_t fitting = kChunkBytes / (p.part_planes * s.in_c * sizeof(float)) / width * width;
  p.chunk = p.keeps_filters ? p.columns : std::clamp(fitting, width, p.columns);
  p.u_plane = spread_plane(s.in_c * p.chunk);
}

}  // namespace

WinogradPlan plan_winograd(const ConvShape& s, ConvAlgorithm algorithm) {
  // Filters whose U stays in the cache from one block of tiles to the next are transformed once by each worker. Others
  // for each block, a chunk at a time: that costs less than bringing U from far, be it from another core's cache (256
  // channels at 14x14: 1.3 ms, and 2.9 with U of all filters made first).
  constexpr size_t kMostFilterBytes = 1536 << 10;
  WinogradPlan p;
  p.tile = winograd_tile(algorithm);
  p.planes = (p.tile + 2) * (p.tile + 2);
  p.parts = (p.tile + 2) / 2;
  p.part_planes = p.planes / p.parts;
  p.tiles_h = ceil_div(s.out_h, p.tile);
  p.tiles_w = ceil_div(s.out_w, p.tile);
  p.tiles = s.batch * p.tiles_h * p.tiles_w;
  p.v_stride = spread_stride(s.in_c);
  p.keeps_filters = p.planes * s.in_c * round_up(s.out_c, gemm_panel_width()) * sizeof(float) <= kMostFilterBytes;
  plan_blocks(s, p);
  plan_filters(s, p);
  p.m_stride = spread_stride(p.columns);
  p.v_plane = spread_plane(p.block_tiles * p.v_stride);
  p.m_plane = spread_plane(p.block_tiles * p.m_stride);
  const size_t floats = round_up(s.in_c, 16) + p.planes * (p.v_plane + p.m_plane) +
                        (p.keeps_filters ? p.planes : p.part_planes) * p.u_plane;
  p.worker_bytes = round_up(sizeof(WorkerHead) + floats * sizeof(float), 128);
  return p;
}

void conv_winograd(const ConvArgs& args, void* scratch, const Parallel& par) noexcept {
  const ConvShape& s = args.shape;
  const WinogradPlan plan = plan_winograd(s, args.algorithm);
  reset_workers(scratch, plan.worker_bytes, par.workers());
  const auto transform_input = RETORT_SELECT(winograd_input);
  const auto finish = RETORT_SELECT(winograd_output);
  par.for_each(plan.blocks * plan.column_groups, [&](size_t task, int worker) {
    WinogradBlock block;
    const size_t index = plan.keeps_filters ? task % plan.blocks : task / plan.column_groups;
    const size_t group = plan.keeps_filters ? task / plan.blocks : task % plan.column_groups;
    block.t0 = index * plan.block_tiles;
    block.t1 = std::min(block.t0 + plan.block_tiles, plan.tiles);
    block.n0 = group * plan.columns;
    block.n1 = std::min(block.n0 + plan.columns, s.out_c);
    const WinogradScratch w = worker_scratch(plan, s.in_c, scratch, worker);
    if (w.head->block != index) {
      if (w.head->block == kNoBlock) std::fill_n(w.zeros, s.in_c, 0.0f);
      transform_input(args, plan, block, w.zeros, w.v);
      w.head->block = index;
    }
    multiply_block(args, plan, block, w, par);
    finish(args, plan, block, w.m);
  });
}

}  // namespace retort::kernels::conv_detail
#endif
