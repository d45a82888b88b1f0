// The division of Winograd convolutions into blocks of tiles and groups of columns, and the loop over them. The
// transforms are in winograd.cc (images), winograd_line.cc (lines) and winograd_filters.cc.
#include <algorithm>

#include "base/checked.h"
#include "base/grid_order.h"
#include "kernels/conv/conv_plan.h"
#include "kernels/conv/winograd.h"
#include "kernels/gemm/gemm_bf16.h"

namespace retort::kernels::conv_detail {
namespace {

// A plane starts an odd number of cache lines after the previous one, so that the stores of a tile use different sets
// of the cache.
size_t spread_plane(size_t floats) { return (ceil_div(floats, size_t(16)) | 1) * 16; }

constexpr size_t kMinTiles = 12;  // of a block: rows of a product

// Number of tiles in a block, from the bytes of V and M per tile.
size_t fitting_tiles(const WinogradPlan& p, size_t tile_bytes) {
  constexpr size_t kMaxTiles = 96;
  if (p.keeps_filters) {
    constexpr size_t kCacheBytes = 640 << 10;  // for V and M; U takes the rest of a cache of 1 or 2 MiB
    return std::clamp(kCacheBytes / tile_bytes, kMinTiles, kMaxTiles);
  }
  // Each block transforms the filters again, so a block has 48 tiles unless V and M would then be far larger than the
  // cache.
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
  w.m = w.v + plan.planes * plan.v.plane;
  w.u = w.m + plan.planes * plan.m.plane;
  return w;
}

// Index of plane i of a part.
size_t plane_of(const WinogradPlan& plan, size_t part, size_t i) {
  if (plan.taps.of_group > 0) return plan.part_planes * part + i;
  const size_t side = plan.tiles.edge + 2, second = i / side;
  const bool ends = part + 1 == plan.parts;
  const size_t row = ends ? second * (side - 1) : 2 * part + 1 + second;
  return row * side + i % side;
}

// Computes the products M = V · U of a block for one part of the planes and some of its columns.
void multiply(const WinogradPlan& plan, const WinogradBlock& block, const WinogradFilters& filters, const float* u,
              const WinogradScratch& w, const Parallel& par) {
  GemmArgs product;
  product.m = block.t1 - block.t0;
  product.n = filters.n1 - filters.n0;
  product.k = plan.depth;
  product.a_stride = plan.v.stride;
  product.c_stride = plan.m.stride;
  product.run = &par;
  const size_t planes = std::min(plan.part_planes, plan.planes - plan.part_planes * filters.part);
  for (size_t i = 0; i < planes; ++i) {
    const size_t plane = plane_of(plan, filters.part, i);
    product.a = w.v + plane * plan.v.plane;
    product.packed_b = {u + i * plan.u_plane, plan.rounds ? PackedType::bf16_pairs : PackedType::f32};
    product.b_is_near = i > 0;
    product.next_b = i + 1 < planes ? u + (i + 1) * plan.u_plane : nullptr;
    product.c = w.m + plane * plan.m.plane + (filters.n0 - block.n0);
    gemm_block(product, 0, product.n);
  }
}

void multiply_block(const ConvArgs& args, const WinogradPlan& plan, const WinogradBlock& block,
                    const WinogradTransforms& transforms, const WinogradScratch& w, const Parallel& par) {
  const bool transformed = plan.keeps_filters && w.head->filters == block.n0;
  for (size_t n0 = block.n0; n0 < block.n1; n0 += plan.chunk) {
    for (size_t part = 0; part < plan.parts; ++part) {
      const WinogradFilters filters{part, n0, std::min(n0 + plan.chunk, block.n1)};
      const size_t first = part * plan.part_planes * plan.u_plane;
      if (plan.packs_filters) {
        multiply(plan, block, filters, args.packed + first + n0 * plan.depth, w, par);
        continue;
      }
      float* const u = plan.keeps_filters ? w.u + first : w.u;
      if (!transformed) transforms.filters(args, plan, filters, u);
      multiply(plan, block, filters, u, w, par);
    }
  }
  w.head->filters = block.n0;
}

void plan_blocks(const ConvShape& s, WinogradPlan& p) {
  constexpr size_t kMaxColumns = 128, kMinColumns = 64;  // each group transforms the input again
  const size_t wanted = wanted_tasks(p.tiles.all * p.planes * p.depth * s.out_c), width = gemm_panel_width();
  const size_t least = ceil_div(s.out_c, kMaxColumns);
  const size_t most = std::max(p.keeps_filters ? s.out_c / kMinColumns : ceil_div(s.out_c, width), least);
  const size_t usual = p.keeps_filters ? group_columns(s.out_c, least) : width;
  const size_t tile_bytes = p.planes * (p.v.stride + spread_stride(usual)) * sizeof(float);
  const size_t fitting = fitting_tiles(p, tile_bytes);
  p.blocks = ceil_div(p.tiles.all, fitting);
  if (p.keeps_filters) p.blocks = std::max(p.blocks, std::min(wanted, p.tiles.all / kMinTiles));
  p.block_tiles = ceil_div(p.tiles.all, std::max<size_t>(p.blocks, 1));
  p.blocks = ceil_div(p.tiles.all, p.block_tiles);
  p.columns = group_columns(s.out_c, std::clamp(ceil_div(wanted, p.blocks), least, most));
  p.column_groups = ceil_div(s.out_c, p.columns);
}

void plan_filters(const ConvShape& s, WinogradPlan& p) {
  constexpr size_t kChunkBytes = 384 << 10;
  const size_t width = gemm_panel_width();
  p.keeps_filters = p.keeps_filters && p.blocks > 1;  // otherwise they are not read again
  const size_t fitting = kChunkBytes / (p.part_planes * p.depth * sizeof(float)) / width * width;
  p.chunk = p.keeps_filters || p.packs_filters ? p.columns : std::clamp(fitting, width, p.columns);
  p.u_plane = p.packs_filters ? packed_plane(p.depth, s.out_c) : spread_plane(p.depth * p.chunk);
}

// Plans the tiles of images.
void plan_tiles(const ConvShape& s, size_t edge, WinogradPlan& p) {
  p.tiles.edge = edge;
  p.planes = (edge + 2) * (edge + 2);
  p.part_planes = 2 * (edge + 2);
  p.tiles.h = ceil_div(ceil_div(s.out_h, s.dilation_h), edge);
  p.tiles.w = ceil_div(ceil_div(s.out_w, s.dilation_w), edge);
  p.tiles.all = s.batch * row_phases(s) * phases(s) * p.tiles.h * p.tiles.w;
  p.depth = p.rounds ? bf16_pairs(s.in_c) : s.in_c;
  p.v.stride = spread_stride(p.depth);
}

// Plans the tiles of lines.
void plan_lines_of_tiles(const ConvShape& s, WinogradPlan& p) {
  p.tiles.edge = kLineTile;
  p.taps = line_taps(s.kernel_w);
  p.planes = p.taps.of_group + kLineTile - 1;
  p.part_planes = 2;
  p.tiles.w = ceil_div(ceil_div(s.out_w, s.dilation_w), kLineTile);
  p.tiles.line_rows = p.tiles.w + p.taps.groups - 1;
  p.tiles.all = s.batch * s.in_h * phases(s) * p.tiles.line_rows;
  p.depth = p.taps.groups * s.in_c;
  p.v.stride = p.taps.groups > 1 ? s.in_c : spread_stride(s.in_c);
}

}  // namespace

LineTaps line_taps(size_t kernel) {
  if (kernel <= 3) return {3, 1};
  const size_t of_group = kernel % kLineTile == 1 ? 5 : 4;
  return {of_group, ceil_div(kernel - of_group, kLineTile) + 1};
}

ImageTile image_tile(const ConvShape& s, const WinogradPlan& plan, size_t t) {
  const size_t edge = plan.tiles.edge, row = t / plan.tiles.w, grid = row / plan.tiles.h;
  const size_t y = (row - grid * plan.tiles.h) * edge, x = (t - row * plan.tiles.w) * edge;
  // Divisions take as long as the transform of a vector, and dilations are rare.
  if (s.dilation_h * s.dilation_w == 1) return {grid, y, x, s.out_h - y, s.out_w - x};
  const size_t line = grid / phases(s), image = line / row_phases(s);
  const size_t top = y * s.dilation_h + line % row_phases(s), left = x * s.dilation_w + grid % phases(s);
  const auto count = [](size_t from, size_t to, size_t step) { return from < to ? ceil_div(to - from, step) : 0; };
  return {image, top, left, count(top, s.out_h, s.dilation_h), count(left, s.out_w, s.dilation_w)};
}

LineTile line_tile(const ConvShape& s, const WinogradPlan& plan, size_t t) {
  const size_t strip = t / plan.tiles.line_rows, i = t % plan.tiles.line_rows;
  return {strip / phases(s), strip % phases(s) + i * kLineTile * s.dilation_w, i >= plan.tiles.w};
}

WinogradPlan plan_winograd(const ConvShape& s, ConvAlgorithm algorithm) {
  // Filters whose U stays in the cache from one block of tiles to the next are transformed once by each worker. Others
  // are transformed for each block, a chunk at a time: that costs less than reading U from memory or from another
  // core's cache (256 channels at 14x14: 1.3 ms, and 2.9 ms if U of all filters is made first).
  constexpr size_t kMostFilterBytes = 1536 << 10;
  constexpr size_t kSlack = 16;  // in floats: the transform writes whole vectors
  WinogradPlan p;
  if (algorithm == ConvAlgorithm::winograd_line) {
    plan_lines_of_tiles(s, p);
  } else {
    const bool small = algorithm == ConvAlgorithm::winograd2 || algorithm == ConvAlgorithm::winograd2_packed;
    p.rounds = algorithm == ConvAlgorithm::bf16_winograd;
    plan_tiles(s, small || p.rounds ? 2 : 4, p);
  }
  p.parts = ceil_div(p.planes, p.part_planes);
  p.packs_filters = algorithm == ConvAlgorithm::winograd2_packed || p.rounds;
  p.keeps_filters = !p.packs_filters &&
                    p.planes * p.depth * round_up(s.out_c, gemm_panel_width()) * sizeof(float) <= kMostFilterBytes;
  plan_blocks(s, p);
  plan_filters(s, p);
  p.m.stride = spread_stride(p.columns);
  p.v.plane = spread_plane((p.block_tiles + p.taps.groups - 1) * p.v.stride + kSlack);
  p.m.plane = spread_plane(p.block_tiles * p.m.stride);
  const size_t u_planes = p.packs_filters ? 0 : p.keeps_filters ? p.parts * p.part_planes : p.part_planes;
  const size_t floats = round_up(s.in_c, 16) + p.planes * (p.v.plane + p.m.plane) + u_planes * p.u_plane;
  p.worker_bytes = round_up(sizeof(WorkerHead) + floats * sizeof(float), 128);
  return p;
}

void conv_winograd(const ConvArgs& args, void* scratch, const Parallel& par) noexcept {
  const ConvShape& s = args.shape;
  const WinogradPlan plan = plan_winograd(s, args.algorithm);
  reset_workers(scratch, plan.worker_bytes, par.workers());
  const WinogradTransforms transforms = plan.taps.of_group > 0 ? line_transforms() : image_transforms();
  const GridOrder order(plan.blocks, plan.column_groups, par.workers());
  par.for_each(order.tasks(), [&](size_t task, int worker) {
    WinogradBlock block;
    const auto [index, group] =
        plan.keeps_filters ? order.at(task) : GridOrder::Cell{task / plan.column_groups, task % plan.column_groups};
    block.t0 = index * plan.block_tiles;
    block.t1 = std::min(block.t0 + plan.block_tiles, plan.tiles.all);
    block.n0 = group * plan.columns;
    block.n1 = std::min(block.n0 + plan.columns, s.out_c);
    const WinogradScratch w = worker_scratch(plan, s.in_c, scratch, worker);
    if (w.head->block != index) {
      if (w.head->block == kNoBlock) std::fill_n(w.zeros, s.in_c, 0.0f);
      transforms.input(args, plan, block, w.zeros, w.v);
      w.head->block = index;
    }
    multiply_block(args, plan, block, transforms, w, par);
    transforms.output(args, plan, block, w.m);
  });
}

}  // namespace retort::kernels::conv_detail
