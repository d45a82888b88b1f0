#include "kernels/gemm/gemm.h"

#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "base/checked.h"
#include "base/cpu.h"
#include "base/grid_order.h"
#include "kernels/gemm/gather.h"
#include "kernels/gemm/gemm_bf16.h"
#include "kernels/gemm/gemm_plan.h"
#include "kernels/gemm/strassen.h"

namespace retort::kernels {
namespace gemm_detail {
namespace {

/// Bytes of A that one task keeps in the second-level cache.
constexpr size_t kBlockBytes = 512 << 10;
constexpr size_t kMinBlockRows = 48, kMaxBlockRows = 240;
/// A task takes at least about 10 µs: this many multiply-adds, or this many bytes of B if B is read once.
constexpr size_t kTaskMacs = 640 << 10, kTaskBytes = 256 << 10;
constexpr size_t kMaxTasks = 64;
/// With this many tasks, threads that start late or are interrupted do not delay the others for long.
constexpr size_t kEnoughTasks = 16;
/// Narrower groups of columns would read A too often, unless it has only a few rows.
constexpr size_t kMinGroupColumns = 64, kThinRows = 24;

/// Largest block of k. That part of a panel (32 KiB at 512 bits) stays near the first-level cache while all rows of A
/// are multiplied. At AVX2 it is 24 KiB: tiles of six rows add to C often, and with 16 KiB, products were 1.5 % slower
/// (Zen 4, whose first-level cache has 32 KiB); with 32 KiB, 0.5 %.
/// Zen 4 reads a panel of pairs from the second-level cache as fast as it multiplies them: sums of 768 and 1,024 numbers
/// take 0.975 of the time in one block, those of 3,072 take 0.99 in blocks of 512 pairs.
size_t most_steps(PackedType type) {
  if (type == PackedType::bf16_pairs && reads_ahead()) return 512;
  return current_isa() == Isa::avx2 ? 384 : 256;
}

}  // namespace

size_t k_block_of(size_t m, size_t k, PackedType type) {
  constexpr size_t kRows = 12;
  const size_t blocks = m <= kRows ? 1 : std::max<size_t>(ceil_div(k, most_steps(type)), 1);
  return round_up(std::max<size_t>(ceil_div(k, blocks), 1), 16);
}

Grid make_grid(size_t m, size_t n, size_t k, size_t speed, PackedType type) {
  Grid g;
  g.k_block = k_block_of(m, k, type);
  const size_t fitting = std::clamp(kBlockBytes / sizeof(float) / g.k_block, kMinBlockRows, kMaxBlockRows);
  const size_t width = gemm_panel_width(), panels = ceil_div(n, width);
  const size_t wanted =
      std::clamp<size_t>(std::max(m * n * k / (kTaskMacs * speed), n * k * sizeof(float) / kTaskBytes), 1, kMaxTasks);
  const size_t most_groups = std::max<size_t>(m > kThinRows ? n / kMinGroupColumns : panels, 1);
  size_t blocks = ceil_div(m, fitting);
  const size_t groups = std::clamp<size_t>(ceil_div(wanted, blocks), 1, most_groups);
  blocks = std::max(blocks, std::min(std::min(wanted, kEnoughTasks) / groups, m / kMinBlockRows));
  g.block_rows = ceil_div(m, blocks);
  g.row_blocks = ceil_div(m, g.block_rows);
  g.group_columns = ceil_div(panels, groups) * width;
  g.column_groups = ceil_div(n, g.group_columns);
  return g;
}

bool reads_ahead() noexcept {
#ifdef _SC_LEVEL1_DCACHE_SIZE
  static const bool small_cache = sysconf(_SC_LEVEL1_DCACHE_SIZE) == 32 << 10;
  return small_cache && has_bf16_products();
#else
  return false;
#endif
}

bool gathers_rows(size_t m, size_t n, size_t k) {
  // A copied element takes about a quarter of a cycle, a product a 32nd. With fewer products, threads that wait for the
  // copy lose what it gains.
  constexpr size_t kFewestRows = 48, kFewestColumns = 256, kFewestSteps = 128, kFewestProducts = 8 << 20;
  return current_isa() == Isa::avx512 && m >= kFewestRows && n >= kFewestColumns && k >= kFewestSteps &&
         m * n * k >= kFewestProducts && !strassen_pays(m, n, k);
}

bool is_gathered(size_t part_rows) { return RowTiles(part_rows, kMostGathered).base >= kFewestGathered; }

void gather_rows(const float* a, size_t a_stride, size_t rows, size_t steps, float* to) {
  constexpr size_t kBytes = kGatheredSteps * sizeof(float);
  const auto [tiles, base, longer] = RowTiles(rows, kMostGathered);
  for (size_t t = 0; t < tiles; ++t) {
    const size_t tile_rows = base + (t < longer ? 1 : 0);
    size_t i = 0;
    for (; i + kGatheredSteps <= steps; i += kGatheredSteps) {
      for (size_t r = 0; r < tile_rows; ++r, to += kGatheredSteps) std::memcpy(to, a + r * a_stride + i, kBytes);
    }
    for (size_t r = 0; i < steps && r < tile_rows; ++r, to += kGatheredSteps)
      std::memcpy(to, a + r * a_stride + i, (steps - i) * sizeof(float));
    a += tile_rows * a_stride;
  }
}

namespace {

/// Whether gemm_gathered() gathers rows. Each worker reads all of the copy, much of it from another processor's cache:
/// with two threads, MiniLM (128 x 384 x 1536, 38 million products each) took 1.05 to 1.1 times as long, BERT less.
bool gathers(const GemmArgs& g, const Parallel& par) {
  constexpr size_t kFewestOfWorker = 64 << 20;
  const auto workers = size_t(par.workers());
  return g.packed_b.type == PackedType::f32 && gathers_rows(g.m, g.n, g.k) &&
         (workers == 1 || g.m * g.n * g.k / workers >= kFewestOfWorker);
}

/// Gathers the rows of all parts that have tiles for them.
void gather_parts(const GemmArgs& g, const Grid& grid, const Parallel& par, float* to) {
  const size_t k_blocks = ceil_div(g.k, grid.k_block), stride = round_up(g.k, kGatheredSteps);
  par.for_each(grid.row_blocks * k_blocks, [&](size_t task, int) {
    const size_t m0 = task / k_blocks * grid.block_rows, rows = std::min(grid.block_rows, g.m - m0);
    const size_t k0 = task % k_blocks * grid.k_block, steps = std::min(grid.k_block, g.k - k0);
    if (!is_gathered(rows)) return;
    gather_rows(g.a + m0 * g.a_stride + k0, g.a_stride, rows, steps, to + m0 * stride + k0 * rows);
  });
}

}  // namespace
}  // namespace gemm_detail

size_t gemm_panel_width() {
  switch (current_isa()) {
    case Isa::avx512:
      return 32;
    case Isa::avx2:
      return 16;
    case Isa::v2:
      break;
  }
  return 8;
}

size_t gemm_packed_bytes(size_t k, size_t n, PackedType type) {
  const size_t full = n / gemm_panel_width() * gemm_panel_width();
  return (full * gemm_detail::bytes_of(type) + round_up(n - full, gemm_panel_width()) * sizeof(float)) * k;
}

bool gemv_packed_pays(size_t bytes) noexcept {
  // gemm() prefetches B from farther away than the second-level cache. On Zen 4, that pays only at AVX2 and from memory:
  // steps of recurrent layers with 4 MiB of weights take 0.8 of the time without, with 16 MiB 1.14 (0.92 at AVX-512).
  constexpr size_t kOneTask = 512 << 10;  // gemm() makes one task of less
  if (bytes < kOneTask || gemm_detail::reads_ahead()) return true;
#ifdef _SC_LEVEL2_CACHE_SIZE
  static const auto near = sysconf(_SC_LEVEL2_CACHE_SIZE);
  return near > 0 && bytes <= (current_isa() == Isa::avx512 ? 1 : 4) * size_t(near);
#else
  return false;
#endif
}

bool gemm_b_stays([[maybe_unused]] size_t bytes) noexcept {
#ifdef _SC_LEVEL2_CACHE_SIZE
  static const auto near = sysconf(_SC_LEVEL2_CACHE_SIZE);
  return near > 0 && 2 * bytes <= size_t(near);
#else
  return false;
#endif
}

bool gemm_gathers() noexcept {
#ifdef _SC_LEVEL2_CACHE_SIZE
  static const bool has_room = sysconf(_SC_LEVEL2_CACHE_SIZE) >= 2 << 20;
  return has_room;
#else
  return false;
#endif
}

size_t gemm_gather_bytes(size_t m, size_t n, size_t k) {
  return gemm_detail::gathers_rows(m, n, k) ? m * round_up(k, gemm_detail::kGatheredSteps) * sizeof(float) : 0;
}

size_t gemm_fit_bytes(size_t k, size_t n) {
  constexpr size_t kManyRows = size_t(1) << 20;
  return gemm_detail::strassen_pays(kManyRows, n, k) ? n / (2 * gemm_panel_width()) : 0;
}

void gemm_compare_b(const PackedB& b, size_t k, size_t n, uint8_t* fit, const Parallel& run) noexcept {
  const auto is_fit = gemm_detail::select_strassen().fit;
  const size_t pairs = n / (2 * gemm_panel_width());
  const size_t bytes = 2 * gemm_panel_width() * k * gemm_detail::bytes_of(b.type);
  const auto* panels = static_cast<const char*>(b.data);
  for (size_t i = 0; i < pairs && !run.cancelled(); ++i) fit[i] = is_fit({panels + i * bytes, b.type}, k);
}

size_t gemm_scratch_bytes(size_t m, size_t n, size_t k, int workers) {
  if (!gemm_detail::strassen_pays(m, n, k)) return 0;
  return gemm_detail::strassen_bytes(gemm_detail::plan_strassen(m, n, k, workers), workers);
}

namespace {

/// The product with rows of A that gather_parts() has gathered; null: with A as it is.
void multiply_parts(const GemmArgs& args, const gemm_detail::Grid& grid, const Parallel& par, const float* gathered) {
  const auto compute = gemm_detail::select_gemm_part();
  const GridOrder order(grid.row_blocks, grid.column_groups, par.workers());
  par.for_each(order.tasks(), [&](size_t task, int) {
    const auto [row, column] = order.at(task);
    gemm_detail::Part part;
    part.m0 = row * grid.block_rows;
    part.m1 = std::min(part.m0 + grid.block_rows, args.m);
    part.n0 = column * grid.group_columns;
    part.n1 = std::min(part.n0 + grid.group_columns, args.n);
    part.k_block = grid.k_block;
    if (gathered && gemm_detail::is_gathered(part.m1 - part.m0))
      part.gathered = gathered + part.m0 * round_up(args.k, gemm_detail::kGatheredSteps);
    compute(args, part);
  });
}

}  // namespace

void gemm(const GemmArgs& whole, const Parallel& par, void* scratch) noexcept {
  if (whole.m == 0 || whole.n == 0) return;
  if (scratch && whole.packed_b.fit && gemm_detail::strassen_pays(whole.m, whole.n, whole.k)) {
    const gemm_detail::StrassenPlan plan = gemm_detail::plan_strassen(whole.m, whole.n, whole.k, par.workers());
    return gemm_detail::multiply_strassen(whole, plan, par, scratch);
  }
  GemmArgs args = whole;
  args.run = &par;
  const bool by_amx = args.packed_b.type == PackedType::bf16_pairs && has_bf16_tiles();
  multiply_parts(args, gemm_detail::make_grid(args.m, args.n, args.k, by_amx ? kTilesSpeed : 1, args.packed_b.type),
                 par, nullptr);
}

void gemm_gathered(const GemmArgs& whole, const Parallel& par, void* scratch) noexcept {
  if (!gemm_detail::gathers(whole, par)) return gemm(whole, par);
  GemmArgs args = whole;
  args.run = &par;
  const gemm_detail::Grid grid = gemm_detail::make_grid(args.m, args.n, args.k, 1);
  auto* const gathered = static_cast<float*>(scratch);
  gemm_detail::gather_parts(args, grid, par, gathered);
  multiply_parts(args, grid, par, gathered);
}

}  // namespace retort::kernels
