#include "kernels/gemm/gemm_codes.h"

#include <algorithm>
#include <cmath>

#include "base/checked.h"
#include "base/grid_order.h"
#include "kernels/gemm/codes_tile.h"

namespace retort::kernels {

size_t codes_depth(size_t k) {
  return round_up(k, codes_unit() == CodesUnit::tiles ? codes_detail::kTileDepth : size_t(4));
}
size_t codes_row_bytes(size_t k, CodesSums sums) {
  return checked_mul(codes_depth(k), size_t(sums == CodesSums::magnitudes ? 2 : 1), "codes");
}
size_t codes_rows_bytes(size_t m, size_t k, CodesSums sums) {
  return checked_mul(checked_add(m, codes_detail::kTileRows - 1, "rows of codes"), codes_row_bytes(k, sums), "codes");
}
size_t codes_panel_bytes(size_t k) { return (codes_depth(k) + 2 * sizeof(int32_t)) * codes_panel_width(); }
size_t codes_packed_bytes(size_t k, size_t n) {
  return checked_mul(ceil_div(n, codes_panel_width()), codes_panel_bytes(k), "codes");
}

void gemm_codes(const GemmCodesArgs& g, const Parallel& par) noexcept {
  if (g.m == 0 || g.n == 0) return;
  // A task takes at least about 10 µs, and reads no more of A than fits the second-level cache.
  constexpr size_t kTaskMacs = 2 << 20, kTaskBytes = 256 << 10, kMaxTasks = 64, kBlockBytes = 256 << 10;
  const size_t width = codes_panel_width(), panels = ceil_div(g.n, width), depth = codes_depth(g.k);
  const size_t most_rows = std::clamp<size_t>(kBlockBytes / std::max<size_t>(depth, 1) / 96 * 96, 96, 768);
  const size_t wanted =
      std::clamp<size_t>(std::max(g.m * g.n * depth / kTaskMacs, g.n * depth / kTaskBytes), 1, kMaxTasks);
  const size_t row_blocks = ceil_div(g.m, most_rows);
  const size_t groups = std::min(panels, ceil_div(wanted, row_blocks)), columns = ceil_div(panels, groups) * width;
  const GridOrder order(row_blocks, ceil_div(g.n, columns), par.workers());
  par.for_each(order.tasks(), [&](size_t task, int) {
    const auto [row, column] = order.at(task);
    const size_t m0 = row * most_rows, n0 = column * columns;
    for (size_t n = n0; n < std::min(n0 + columns, g.n) && !par.cancelled(); n += 4 * width)
      gemm_codes_block(g, m0, std::min(m0 + most_rows, g.m), n, std::min({n + 4 * width, n0 + columns, g.n}));
  });
}

namespace {

/// What the forms of the codes add to them.
struct CodesForms {
  int32_t of_a, of_b;
  CodesForms(CodesSums sums, bool a_signed, bool b_signed)
      : of_a(form(a_signed, sums < CodesSums::turned)), of_b(form(b_signed, sums >= CodesSums::turned)) {}
  static int32_t form(bool is_signed, bool becomes_signed) {
    return is_signed == becomes_signed ? 0 : becomes_signed ? -128 : 128;
  }
};

}  // namespace

void gemm_codes_reference(const GemmCodesArgs& g, const Codes& a, const Codes& a_zero, const Codes& b,
                          const Codes& b_zero) noexcept {
  const CodesForms forms(g.sums, a.is_signed, b.is_signed);
  const bool saturates = g.sums == CodesSums::saturating || g.sums == CodesSums::turned;
  for (size_t i = 0; i < g.m; ++i) {
    for (size_t j = 0; j < g.n; ++j) {
      const auto code_of_a = [&](size_t l) { return l < g.k ? a[i * g.k + l] + forms.of_a : 0; };
      const auto code_of_b = [&](size_t l) { return l < g.k ? b[l * g.n + j] + forms.of_b : 0; };
      uint32_t sum = uint32_t(g.rows[i].bias);
      for (size_t l = 0; l < g.k; ++l) sum += uint32_t((a[i * g.k + l] - a_zero[i]) * (b[l * g.n + j] - b_zero[j]));
      for (size_t l = 0; l < g.k && saturates; l += 2) {
        const int32_t pair = code_of_a(l) * code_of_b(l) + code_of_a(l + 1) * code_of_b(l + 1);
        sum += uint32_t(std::clamp(pair, INT16_MIN, INT16_MAX) - pair);
      }
      const size_t at = i * g.c.stride + j;
      const float factor = g.rows[i].scale * (g.c.column_scale ? g.c.column_scale[j] : 1);
      if (g.c.is_float) {
        const float product = float(int32_t(sum)) * factor + (g.c.column_bias ? g.c.column_bias[j] : 0);
        static_cast<float*>(g.c.data)[at] = product + (g.c.residual ? g.c.residual[at] : 0);
        continue;
      }
      if (!g.c.is_codes) {
        static_cast<int32_t*>(g.c.data)[at] = int32_t(sum);
        continue;
      }
      const float x = std::nearbyint(float(int32_t(sum)) * factor + g.rows[i].offset) + float(g.c.zero);
      const float low = g.c.is_signed ? -128 : 0, high = low + 255;
      const auto code = int32_t(!(x > low) ? low : std::min(x, high));
      static_cast<uint8_t*>(g.c.data)[at] = uint8_t(code);
    }
  }
}

}  // namespace retort::kernels
