#include "kernels/gemm/gemm.h"

#include <algorithm>

#include "base/checked.h"
#include "kernels/gemm/gemm_plan.h"

namespace retort::kernels {
namespace gemm_detail {
namespace {

/// Rows of A that one task keeps in the second-level cache.
constexpr size_t kBlockBytes = 512 << 10;
constexpr size_t kMinBlockRows = 48, kMaxBlockRows = 240;
/// A task takes about 10 µs at least: so many multiply-adds, or so many bytes of B when B is read once.
constexpr size_t kTaskMacs = 640 << 10, kTaskBytes = 256 << 10;
constexpr size_t kMaxTasks = 64;
/// Narrower groups would read, and perhaps copy, A too often.
constexpr size_t kMinGroupColumns = 128, kThinRows = 24;

}  // namespace

size_t k_block_of(size_t m, size_t k) {
  constexpr size_t kRows = 12;
  const size_t blocks = m <= kRows ? 1 : std::max<size_t>(ceil_div(k, kMaxKBlock), 1);
  return round_up(std::max<size_t>(ceil_div(k, blocks), 1), 16);
}

Grid make_grid(size_t m, size_t n, size_t k) {
  Grid g;
  g.k_block = k_block_of(m, k);
  const size_t fitting = std::clamp(kBlockBytes / sizeof(float) / g.k_block, kMinBlockRows, kMaxBlockRows);
  g.block_rows = ceil_div(m, ceil_div(m, fitting));
  g.row_blocks = ceil_div(m, g.block_rows);
  const size_t width = gemm_panel_width(), panels = ceil_div(n, width);
  const size_t wanted =
      std::clamp<size_t>(std::max(m * n * k / kTaskMacs, n * k * sizeof(float) / kTaskBytes), 1, kMaxTasks);
  const size_t most = std::max<size_t>(m > kThinRows ? n / kMinGroupColumns : panels, 1);
  const size_t groups = std::clamp<size_t>(ceil_div(wanted, g.row_blocks), 1, most);
  g.group_columns = ceil_div(panels, groups) * width;
  g.column_groups = ceil_div(n, g.group_columns);
  return g;
}

namespace {

/// Rows that lie a multiple of 4 KiB apart share one set of the first-level cache, which cannot hold twelve of them.
bool rows_collide(size_t stride) { return stride % 1024 == 0; }

size_t copy_floats(const Grid& g) { return g.block_rows * copy_stride(g.k_block); }
bool may_copy(size_t m, size_t n) { return m > 8 && n > gemm_panel_width(); }

}  // namespace
}  // namespace gemm_detail

using namespace gemm_detail;

size_t gemm_scratch_bytes(size_t m, size_t n, size_t k, int workers) {
  if (k == 0 || !may_copy(m, n)) return 0;
  return copy_floats(make_grid(m, n, k)) * sizeof(float) * size_t(workers);
}

void gemm(const GemmArgs& args, void* scratch, const Parallel& par) noexcept {
  if (args.m == 0 || args.n == 0) return;
  const Grid grid = make_grid(args.m, args.n, args.k);
  const bool copy = may_copy(args.m, args.n) && rows_collide(args.a_stride) && args.k != 0;
  const auto compute = select_gemm_part();
  par.for_each(grid.row_blocks * grid.column_groups, [&](size_t task, int worker) {
    Part part;
    part.m0 = task % grid.row_blocks * grid.block_rows;
    part.m1 = std::min(part.m0 + grid.block_rows, args.m);
    part.n0 = task / grid.row_blocks * grid.group_columns;
    part.n1 = std::min(part.n0 + grid.group_columns, args.n);
    part.k_block = grid.k_block;
    if (copy) part.a_copy = static_cast<float*>(scratch) + size_t(worker) * copy_floats(grid);
    compute(args, part);
  });
}

}  // namespace retort::kernels
