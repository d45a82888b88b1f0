// Computes a part of a product: blocks of panels of B are the outer loop, tiles of rows the inner. A block of a panel is
// read from memory once and then from the nearest caches by the following row tiles, while the next block is
// prefetched.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/gemm/block.cc"
#include <hwy/foreach_target.h>  // must come before highway.h
#include <hwy/highway.h>

#include <algorithm>
#include <cstring>

#include "base/checked.h"
#include "kernels/dispatch.h"
#include "kernels/elementwise/blocks-inl.h"
#include "kernels/gemm/amx-inl.h"
#include "kernels/gemm/gemm_bf16.h"
#include "kernels/gemm/gemm_plan.h"
#include "kernels/gemm/tile-inl.h"
#include "kernels/gemm/wide-inl.h"

HWY_BEFORE_NAMESPACE();
namespace retort::kernels::HWY_NAMESPACE {
namespace {

using gemm_detail::bytes_of;
using gemm_detail::PanelTask;

/// Copies rows of less than a panel four floats at a time, the last four possibly twice: for each row, a call of memcpy
/// takes longer than a product of a few steps.
void copy_block(const float* from, size_t from_stride, size_t rows, size_t columns, float* to, size_t to_stride) {
  const auto copy = [&](size_t i) { std::memcpy(to + i, from + i, 4 * sizeof(float)); };
  for (; rows > 0; --rows, from += from_stride, to += to_stride) {
    if (columns < 4) {
      to[0] = from[0];  // no loop, which would become a call
      if (columns > 1) to[1] = from[1];
      if (columns > 2) to[2] = from[2];
    } else {
      for (size_t i = 0; i + 4 <= columns; i += 4) copy(i);
      if (columns % 4 != 0) copy(columns - 4);
    }
  }
}

template <int kLevel = 3>
HWY_INLINE void prefetch_block(const float* p, size_t stride, size_t rows, size_t columns) {
  for (size_t r = 0; r < rows; ++r, p += stride) {
    for (size_t i = 0; i < columns; i += 16) __builtin_prefetch(p + i, 0, kLevel);
  }
}

// Called per block of k for all rows of a part, which takes tens of microseconds.
bool is_cancelled(const GemmArgs& g) { return g.run && g.run->cancelled(); }

/// Panels of pairs always have the tile of a full panel.
size_t kind_of(const PanelTask& task) {
  return task.stored == PackedType::bf16_pairs ? kColumnKinds - 1 : (task.columns - 1) / kColumnStep;
}

void run_tile(const PanelTask& task, const TileArgs& t, size_t tile_rows) {
  if (task.amx.count() > 0) return amx_tile(t, task.amx, tile_rows);
  if (task.gathered) return gathered_tile_of(tile_rows)(t);
  const TileFunction tile = t.other_b                               ? full_tile<SumReader>(task.stored, tile_rows)
                            : task.stored == PackedType::f32        ? kTiles[kind_of(task)][tile_rows - 1]
                            : task.stored == PackedType::bf16_pairs ? pairs_tile(tile_rows)
                                                                    : full_tile<PanelReader>(task.stored, tile_rows);
  tile(t);
}

/// Rows that are a multiple of 4 KiB apart share one set of the first-level cache, which has eight lines in many
/// processors: twelve rows would evict each other. Tiles of seven rows run at full speed (99 % of the peak, instead of
/// 90 %).
bool rows_collide(size_t stride) { return stride % 1024 == 0; }
constexpr size_t kFewRows = 7;

size_t most_rows(const PanelTask& task) {
  if (task.amx.count() > 0) return kAmxRows;
  if (task.gathered) return gemm_detail::kMostGathered;
  const size_t fitting = max_rows(kind_of(task));
  return rows_collide(task.tile.a_stride) ? std::min(kFewRows, fitting) : fitting;
}

/// Whether a panel comes from memory faster if nothing prefetches it: with a load per line, and so few instructions for
/// it that the processor has many lines under way: on Zen 4, 31 and 33 GB/s of floats for a row, 21 and 30 for 4, 17 and
/// 25 for 8, and of 16 bits 23 and 31 for a row; two rows of float16 read 28 and 23. Others use prefetch_panel().
bool processor_reads_ahead(PackedType stored, size_t rows) {
  if (kLanes < 16 || (bytes_of(stored) < sizeof(float) && rows > 1)) return false;
  return gemm_detail::reads_ahead();
}

/// Activates the stored tiles of a panel, several at once while they are in the first-level cache: the coefficients are
/// loaded for all of them. Rows a multiple of 1 KiB apart share few sets of it and are activated tile by tile.
class ActivatedTiles {
 public:
  explicit ActivatedTiles(const PanelTask& task)
      : activation_(task.activation), together_(task.tile.c_stride % 256 == 0 ? 1 : 32) {}

  /// Rows from t.c on were stored.
  void add(const TileArgs& t, size_t rows, size_t columns, bool is_last) {
    if (activation_.kind == Activation::Kind::none) return;
    rows_ += rows;
    if (rows_ < together_ && !is_last) return;
    activate_rows(activation_, t.c - (rows_ - rows) * t.c_stride, rows_, columns, t.c_stride);
    rows_ = 0;
  }

 private:
  const Activation activation_;
  size_t together_, rows_ = 0;
};

/// With fewer steps, prefetching C takes longer than it saves: 4096 x K x 256 take 1.14 times as long with it if K is 1
/// or 2, 1.1 with 4, 1.08 with 8, 1.04 with 16 (Zen 4).
constexpr size_t kShortestAhead = 16;

/// Goes on to the rows after the first `rows`.
void step_down(TileArgs& t, size_t rows) {
  t.a += rows * t.a_stride;
  t.c += rows * t.c_stride;
  if (t.addend) t.addend += rows * t.addend_stride;
}

/// Columns that do not fill vectors are computed in a buffer, because memory after them must not be accessed.
template <size_t kMost>
void run_ragged_tile(const PanelTask& task, const TileArgs& t, size_t tile_rows) {
  HWY_ALIGN float buffer[kMost * kWidth];
  if (t.addend) {
    std::fill_n(buffer, tile_rows * kWidth, 0.0f);
    copy_block(t.addend, t.addend_stride, tile_rows, task.columns, buffer, kWidth);
  }
  TileArgs inner = t;
  inner.c = buffer;
  inner.c_stride = kWidth;
  inner.addend = t.addend ? buffer : nullptr;
  inner.addend_stride = kWidth;
  run_tile(task, inner, tile_rows);
  if (task.activation.kind != Activation::Kind::none) {
    activate_rows(task.activation, buffer, tile_rows, (kind_of(task) + 1) * kColumnStep, kWidth);
  }
  copy_block(buffer, kWidth, tile_rows, task.columns, t.c, t.c_stride);
}

/// Some tiles share the prefetching of a panel, of which four steps read `panel` cache lines: how many each prefetches
/// in its four steps.
size_t lines_of_tile(size_t panel, size_t tiles) {
  size_t lines = panel;
  while (tiles > 0 && lines > 1 && lines / 2 * tiles >= panel) lines /= 2;
  return lines;
}

}  // namespace

void run_panel(const PanelTask& whole) noexcept {
  PanelTask task = whole;
  TileArgs t = whole.tile;
  const size_t line_rows = task.line_rows > 0 ? task.line_rows : task.rows;
  const gemm_detail::RowTiles line(line_rows, most_rows(task));
  const size_t tiles = task.rows / line_rows * line.count;
  HWY_ALIGN float last_b[kAmxStep * kWidth];
  // The row tiles share the prefetching of the next panel. The first tile of a panel that nothing has prefetched, and
  // the only tile of a thin product, prefetch the panel itself a little ahead. Others prefetch the next tile's rows: 1x1
  // convolutions of large maps to few channels are up to twice as fast.
  const size_t first = tiles == 1 || task.is_first ? 1 : 0;
  const bool reads_ahead = processor_reads_ahead(task.stored, line.base);
  const size_t fetched = lines_of_tile(panel_lines(bytes_of(task.next_stored)), tiles - first);
  const size_t stretch = t.k / 4 * fetched * 64, panel = t.k * kWidth * bytes_of(task.next_stored);
  ActivatedTiles activated(task);
  if (task.amx.count() > 0 && t.k % kAmxStep != 0) t.amx.last_b = copy_last_steps(t, last_b);
  for (size_t i = 0, of_line = 0; i < tiles; ++i) {
    const bool is_first = i < first;
    t.prefetch_own = is_first && !reads_ahead;
    if (!is_first) {
      const size_t done = (i - first) * stretch;
      t.prefetch_lines = task.next_b && done < panel ? fetched : 0;
      t.prefetch = t.prefetch_lines == 0 ? nullptr : task.next_b + done;
    }
    const size_t tile_rows = line.base + (of_line < line.longer ? 1 : 0);
    if (task.fetches_rows && !is_first && t.prefetch_lines == 0) {
      t.prefetch = reinterpret_cast<const char*>(t.a + tile_rows * t.a_stride);
      t.prefetch_lines = 4;  // 16 rows of k floats, if `prefetch` is used for k steps
    }
    if (t.k > kShortestAhead) prefetch_block(t.c, t.c_stride, tile_rows, task.columns);
    if (t.addend && t.addend != t.c) prefetch_block(t.addend, t.addend_stride, tile_rows, task.columns);
    if (task.next_c) {
      prefetch_block<2>(task.next_c, task.next_c_stride, tile_rows, 2 * kWidth);
      task.next_c += tile_rows * task.next_c_stride;
    }
    if (task.columns == (kind_of(task) + 1) * kColumnStep) {
      run_tile(task, t, tile_rows);
      activated.add(t, tile_rows, task.columns, i + 1 == tiles);
    } else {
      (task.amx.count() > 0 ? run_ragged_tile<kAmxRows> : run_ragged_tile<kMaxRows>)(task, t, tile_rows);
    }
    if (t.other_b) {
      t.b = t.sum;
      t.other_b = nullptr;
      task.stored = PackedType::f32;
    }
    step_down(t, tile_rows);
    if (++of_line == line.count) t.a += task.line_gap, of_line = 0;
  }
}

namespace {

size_t panel_steps(const GemmArgs& g) { return g.panel_steps > 0 ? g.panel_steps : g.k; }

/// Steps [k0, k1) of the panel that starts with column n.
struct PanelBlock {
  size_t n, k0, k1;
};

/// The order of the blocks of a part. All steps of a panel follow each other, so that C stays near. But if the rows of A
/// do not stay in the second-level cache that way, all panels follow each other for each block of k.
class BlockOrder {
 public:
  BlockOrder(const GemmArgs& g, const gemm_detail::Part& part)
      : g_(g),
        part_(part),
        panels_(ceil_div(part.n1 - part.n0, kWidth)),
        k_blocks_(std::max<size_t>(ceil_div(g.k, part.k_block), 1)),
        panels_first_(!g.windows && (part.m1 - part.m0) * g.k * sizeof(float) > kNearBytes) {}

  size_t count() const { return panels_ * k_blocks_; }
  PanelBlock at(size_t i) const {
    const size_t panel = panels_first_ ? i % panels_ : i / k_blocks_;
    const size_t k_block = panels_first_ ? i / panels_ : i % k_blocks_;
    const size_t k0 = k_block * part_.k_block;
    return {part_.n0 + panel * kWidth, k0, std::min(k0 + part_.k_block, g_.k)};
  }
  size_t columns(const PanelBlock& block) const { return std::min(kWidth, part_.n1 - block.n); }
  PackedType type(const PanelBlock& block) const {
    const bool whole = columns(block) == kWidth || g_.packed_b.type == PackedType::bf16_pairs;
    return whole ? g_.packed_b.type : PackedType::f32;
  }
  const char* data(const PanelBlock& block) const {
    return static_cast<const char*>(g_.packed_b.data) + block.n * panel_steps(g_) * bytes_of(g_.packed_b.type) +
           block.k0 * kWidth * bytes_of(type(block));
  }

 private:
  /// Processors with AVX-512 have at least 512 KiB of second-level cache, mostly twice as much; others have 256 or 512.
  static constexpr size_t kNearBytes = (kLanes == 16 ? 512 : 192) << 10;
  const GemmArgs& g_;
  const gemm_detail::Part& part_;
  size_t panels_, k_blocks_;
  bool panels_first_;
};

// The product of all rows of a part and a block of a panel.
PanelTask block_task(const GemmArgs& g, const gemm_detail::Part& part, const BlockOrder& order,
                     const PanelBlock& block) {
  const Epilogue& e = g.epilogue;
  PanelTask task;
  task.amx = part.amx;
  task.tile.amx.a_step = part.a_step;
  task.rows = part.m1 - part.m0;
  task.columns = order.columns(block);
  task.stored = order.type(block);
  TileArgs& t = task.tile;
  t.a = g.a + part.m0 * g.a_stride + block.k0;
  t.a_stride = g.a_stride;
  t.b = order.data(block);
  t.k = block.k1 - block.k0;
  if (part.gathered && task.columns == kWidth) {
    task.gathered = true;
    t.a = part.gathered + block.k0 * task.rows;
    t.a_stride = round_up(t.k, kGatheredSteps);
  }
  if (const Windows* w = g.windows) {
    const size_t run = g.k / w->runs;
    t.a = g.a + block.k0 / run * w->run_step + block.k0 % run;
    task.line_rows = w->line_rows, task.line_gap = w->line_step - w->line_rows * g.a_stride;
  }
  t.c = g.c + part.m0 * g.c_stride + block.n;
  t.c_stride = g.c_stride;
  if (block.k0 > 0) {
    t.addend = t.c;
    t.addend_stride = t.c_stride;
  } else {
    t.addend = e.residual ? e.residual + part.m0 * e.residual_stride + block.n : nullptr;
    t.addend_stride = e.residual_stride;
    t.bias = e.bias ? e.bias + block.n : nullptr;
  }
  if (block.k1 == g.k) task.set_activation(e.activation);
  return task;
}

// Multiplies all rows of a part by a block of a panel. Steps of k are taken in blocks, so that a block of the panel
// stays in the first-level cache for all tiles of rows; between blocks, C is in the second-level cache.
void multiply_block(const GemmArgs& g, const gemm_detail::Part& part, const BlockOrder& order, size_t i) {
  const PanelBlock block = order.at(i);
  HWY_ALIGN float bias[kWidth];
  PanelTask task = block_task(g, part, order, block);
  TileArgs& t = task.tile;
  if (t.bias && task.columns < kWidth) {
    std::fill(std::copy_n(t.bias, task.columns, bias), bias + kWidth, 0.0f);
    t.bias = bias;
  }
  task.fetches_rows = block.n == part.n0 && g.a_stride == t.k && !task.gathered && !g.windows;
  task.is_first = i == 0 && !g.b_is_near;
  if (i + 1 < order.count()) {
    task.next_b = order.data(order.at(i + 1));
    task.next_stored = order.type(order.at(i + 1));
  } else {
    task.next_b = static_cast<const char*>(g.next_b);
    task.next_stored = task.stored;
  }
  run_panel(task);
}

/// Multiplies the rows of a part by a block of three panels, a few rows at a time.
void multiply_wide_block(const GemmArgs& g, const gemm_detail::Part& part, const PanelTask& task) {
  TileArgs t = task.tile;
  for (size_t left = part.m1 - part.m0; left > 0;) {
    const size_t rows = std::min(left, kWideRows);
    (rows == kWideRows ? wide_tile<kWideRows> : wide_tile<1>)(t, panel_steps(g) * kWidth);
    if (task.activation.kind != Activation::Kind::none) {
      activate_rows(task.activation, t.c, rows, kWideColumns, t.c_stride);
    }
    left -= rows;
    step_down(t, rows);
  }
}

/// Multiplies as many panels of a part as there are three together. Returns the first column that is left.
size_t multiply_wide(const GemmArgs& g, const gemm_detail::Part& part) {
  const BlockOrder order(g, part);
  size_t n = part.n0;
  for (; n + kWideColumns <= part.n1; n += kWideColumns) {
    for (size_t k0 = 0; k0 < g.k && !is_cancelled(g); k0 += part.k_block) {
      const size_t k1 = std::min(k0 + part.k_block, g.k);
      multiply_wide_block(g, part, block_task(g, part, order, {n, k0, k1}));
    }
  }
  return n;
}

/// Full panels of a few rows, with few steps or with B in the second-level cache: what run_panel() decides takes a good
/// part of the time of such a tile. Panels are read in order, so nothing is prefetched. Returns the first column left.
size_t multiply_short(const GemmArgs& g, const gemm_detail::Part& part) {
  const size_t rows = part.m1 - part.m0, most = max_rows(kColumnKinds - 1);
  const size_t fitting = g.b_stays && !rows_collide(g.a_stride) ? most : std::min(kFewRows, most);
  const size_t longest = g.b_stays ? part.k_block : std::min(kShortestAhead, part.k_block);
  if (g.k == 0 || g.k > longest || rows > fitting || g.windows) return part.n0;
  PanelTask task = block_task(g, part, BlockOrder(g, part), {part.n0, 0, g.k});
  if (task.activation.kind != Activation::Kind::none) return part.n0;
  TileArgs& t = task.tile;
  size_t n = part.n0;
  for (; n + kWidth <= part.n1 && !is_cancelled(g); n += kWidth) {
    kTiles[kColumnKinds - 1][rows - 1](t);
    t.b = static_cast<const float*>(t.b) + panel_steps(g) * kWidth;
    t.c += kWidth;
    if (t.bias) t.bias += kWidth;
    if (t.addend) t.addend += kWidth;
  }
  return n;
}

}  // namespace

void gemm_part(const GemmArgs& g, const gemm_detail::Part& whole) noexcept {
  if (whole.m0 == whole.m1) return;
  gemm_detail::Part part = whole;
  // tile() sums one or two rows in several parts, and so does the product with B in 16 bits, which must have the same
  // bits. The wide tile sums in order, so it takes only more rows.
  if constexpr (kHasWideTile) {
    const bool thin = whole.m1 - whole.m0 <= kWideRows;
    if (g.packed_b.type == PackedType::f32 && g.k > 0 && !thin) part.n0 = multiply_wide(g, whole);
  }
  if (g.packed_b.type == PackedType::f32 && !part.gathered) part.n0 = multiply_short(g, part);
  if (g.packed_b.type == PackedType::bf16_pairs && has_bf16_tiles()) part.amx = amx_rows(part, g.k);
  const bool uses_amx = part.amx.count() > 0;
  const size_t step_pairs = part.a_step > 0 ? part.a_step_pairs : amx::kStepPairs;
  if (uses_amx) amx::begin(part.amx.first, part.amx.second, step_pairs * sizeof(float));
  const BlockOrder order(g, part);
  for (size_t i = 0; i < order.count() && !is_cancelled(g); ++i) multiply_block(g, part, order, i);
  if (uses_amx) amx::end();
}

}  // namespace retort::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace retort::kernels {

gemm_detail::PartFunction gemm_detail::select_gemm_part() { return RETORT_SELECT(gemm_part); }

void gemm_block(const GemmArgs& args, size_t n0, size_t n1) noexcept {
  gemm_detail::Part part{.m0 = 0, .m1 = args.m, .n0 = n0, .n1 = n1};
  part.k_block = gemm_detail::k_block_of(args.m, args.k, args.packed_b.type);
  if (args.windows) {  // steps of a block are neighbours in a row of A
    const size_t run = args.k / args.windows->runs, parts = ceil_div(run, part.k_block);
    part.k_block = run % parts == 0 ? run / parts : run;
  }
  gemm_detail::select_gemm_part()(args, part);
}

}  // namespace retort::kernels
#endif
