#include "kernels/gemm/gemm_nbits.h"

#include <algorithm>
#include <atomic>
#include <bit>
#include <cmath>
#include <cstring>

#include "base/checked.h"
#include "base/grid_order.h"
#include "base/half.h"
#include "kernels/gemm/gemm.h"
#include "kernels/gemm/gemm_bf16.h"
#include "kernels/gemm/nbits_tile.h"

namespace retort::kernels {

using nbits_detail::Layout;
using nbits_detail::Work;

nbits_detail::Layout::Layout(const NBitForm& f, size_t panel_width)
    : lanes(panel_width),
      vectors(f.block * f.bits / 32),
      blocks(f.blocks()),
      number_bytes(f.halves ? sizeof(float16) : sizeof(float)),
      zeros_bytes(f.zeros == NBitZeros::codes ? round_up(blocks * lanes, 64) : 0),
      codes_bytes(vectors * lanes * sizeof(uint32_t)),
      block_bytes(codes_bytes + lanes * number_bytes * (f.zeros == NBitZeros::numbers ? 2 : 1)),
      panel_bytes(zeros_bytes + round_up(blocks * block_bytes, 64)) {}

namespace {

/// Fewer rows take less time in codes: rounding the weights to bfloat16 takes as long as products with about 20 rows.
constexpr size_t kFewestTileRows = 24;

/// The scratch of a product; with a null base, only its size is computed.
struct Memory {
  size_t bytes = 0, panel_bytes = 0, expanded_bytes = 0;
  nbits_detail::RoundedRows rounded{};
  float *exact = nullptr, *pairs = nullptr;
  char *panels = nullptr, *expanded = nullptr;
  char* base;

  Memory(const NBitForm& f, size_t m, NBitInput input, int workers, void* memory) : base(static_cast<char*>(memory)) {
    const size_t depth = f.blocks() * f.block;
    const NBitInput used = nbits_input(f, input, m);
    if (used == NBitInput::bf16) {
      pairs = take<float>(m, bf16_row_stride(f.k));
      panel_bytes = bf16_packed_bytes(depth, gemm_panel_width());
      panels = take<char>(panel_bytes, size_t(workers));
    } else if (used == NBitInput::rounded) {
      const size_t rows = checked_add(m, nbits_detail::kSurplusRows, "rows");
      rounded.codes = take<int8_t>(rows, depth);
      rounded.scales = take<float>(rows, f.blocks());
      rounded.sums = take<float>(rows, f.blocks());
      rounded.starts = take<int32_t>(rows, f.blocks());
      expanded_bytes = nbits_detail::expanded_bytes(Layout(f, nbits_detail::lanes()), f, m);
      expanded = take<char>(expanded_bytes, size_t(workers));
    } else if (m <= nbits_detail::kFewRows) {
      exact = take<float>(m, depth);
    } else {
      panel_bytes = round_up(gemm_packed_bytes(f.k, gemm_panel_width()), 64);
      panels = take<char>(panel_bytes, size_t(workers));
    }
  }

 private:
  template <typename T>
  T* take(size_t rows, size_t columns) {
    const size_t size = checked_mul(checked_mul(rows, columns, "rows"), sizeof(T), "rows");
    T* at = base ? reinterpret_cast<T*>(base + bytes) : nullptr;
    bytes = checked_add(bytes, round_up(size, 64), "rows");
    return at;
  }
};

/// Calls f(numbers) for the scales and zero points of some blocks after the other of panel `at`, until f returns false.
template <typename F>
void each_numbers(const NBitForm& f, const NBitSource& from, size_t at, F&& use) {
  nbits_detail::PanelNumbers numbers;
  const size_t lanes = nbits_detail::lanes(), n0 = at * lanes, columns = std::min(lanes, f.n - n0);
  std::fill_n(numbers.scales, std::size(numbers.scales), 0.0f);
  std::fill_n(numbers.zeros, std::size(numbers.zeros), 0.0f);
  for (size_t& b = numbers.first; b < f.blocks(); b += numbers.count) {
    numbers.count = std::min(numbers.kBlocks, f.blocks() - b);
    for (size_t n = 0; n < columns; ++n)
      from.parameters({n0 + n, b, numbers.count, lanes, numbers.scales + n, numbers.zeros + n});
    if (!use(numbers)) return;
  }
}

/// Whether fits(numbers, columns) is true for the numbers of every panel and its number of columns.
template <typename F>
bool all_numbers(const NBitForm& f, const NBitSource& from, const Parallel& par, F&& fits) {
  std::atomic<bool> all = true;
  const size_t lanes = nbits_detail::lanes();
  par.for_each(ceil_div(f.n, lanes), [&](size_t at, int) {
    if (!all.load(std::memory_order_relaxed)) return;
    each_numbers(f, from, at, [&](const nbits_detail::PanelNumbers& numbers) {
      if (!fits(numbers, std::min(lanes, f.n - at * lanes))) all.store(false, std::memory_order_relaxed);
      return all.load(std::memory_order_relaxed);
    });
  });
  return all;
}

// A task takes at least some microseconds.
size_t panels_per_task(const Work& w, size_t m) {
  constexpr size_t kTaskBytes = 64 << 10, kTaskProducts = 2 << 20;
  const size_t products = std::max<size_t>(1, m * w.depth * w.layout.lanes);
  return std::max<size_t>(1,
                          std::min(kTaskBytes / std::max<size_t>(1, w.layout.panel_bytes), kTaskProducts / products));
}

void pad_rows(const Work& w, float* to) {
  const size_t k = w.p.form.k;
  for (size_t i = 0; i < w.p.m; ++i, to += w.depth) std::fill(std::copy_n(w.p.a + i * k, k, to), to + w.depth, 0.0f);
}

// Panels of the product in float take several of ours.
void multiply_decoded(const Work& w, const Memory& memory, const Parallel& par) {
  const NBitProduct& p = w.p;
  const size_t width = gemm_panel_width();
  par.for_each(ceil_div(p.form.n, width), [&](size_t task, int worker) {
    const size_t n0 = task * width, n = std::min(width, p.form.n - n0);
    auto* panel = reinterpret_cast<float*>(memory.panels + size_t(worker) * memory.panel_bytes);
    for (size_t at = 0; at < width; at += w.layout.lanes) {
      if (at < n)
        nbits_detail::decode(w, (n0 + at) / w.layout.lanes, panel + at, width);
      else
        for (size_t k = 0; k < p.form.k; ++k) std::fill_n(panel + k * width + at, w.layout.lanes, 0.0f);
    }
    GemmArgs args{.m = p.m, .n = n, .k = p.form.k, .a = p.a, .a_stride = p.form.k, .packed_b = panel};
    args.c = p.c + n0;
    args.c_stride = p.form.n;
    args.epilogue.bias = p.bias ? p.bias + n0 : nullptr;
    args.run = &par;
    gemm_block(args, 0, n);
  });
}

// A panel is rounded for each block of rows, which stay in the second-level cache. Rounding and multiplying 512 steps of
// k at a time, so that the panel stays in the first-level cache, took 1.03 times as long.
void multiply_by_tiles(const Work& w, const Memory& memory, const Parallel& par) {
  constexpr size_t kRowsAtOnce = 8, kBlockBytes = 1 << 20, kLeastRows = 128;
  const NBitProduct& p = w.p;
  const size_t k = p.form.k, stride = bf16_row_stride(k), width = gemm_panel_width();
  par.for_each(ceil_div(p.m, kRowsAtOnce), [&](size_t task, int) {
    const size_t m0 = task * kRowsAtOnce;
    bf16_round_rows(p.a + m0 * k, k, std::min(kRowsAtOnce, p.m - m0), k, memory.pairs + m0 * stride, stride);
  });
  const size_t most = std::max(kLeastRows, kBlockBytes / sizeof(float) / std::max<size_t>(stride, 1) / 32 * 32);
  const size_t rows = ceil_div(p.m, ceil_div(p.m, most));
  const GridOrder order(ceil_div(p.m, rows), ceil_div(p.form.n, width), par.workers());
  par.for_each(order.tasks(), [&](size_t task, int worker) {
    const auto [row, column] = order.at(task);
    const size_t m0 = row * rows, n0 = column * width;
    auto* panel = reinterpret_cast<float*>(memory.panels + size_t(worker) * memory.panel_bytes);
    nbits_detail::round_panels(w, n0 / w.layout.lanes, panel);
    GemmArgs args{.m = std::min(rows, p.m - m0), .n = std::min(width, p.form.n - n0), .k = k};
    args.packed_b = {panel, PackedType::bf16_pairs};
    args.b_is_near = true;
    args.c = p.c + m0 * p.form.n + n0;
    args.c_stride = p.form.n;
    args.epilogue.bias = p.bias ? p.bias + n0 : nullptr;
    args.run = &par;
    gemm_block(bf16_block(args, memory.pairs + m0 * stride, stride), 0, args.n);
  });
}

}  // namespace

NBitInput nbits_input(const NBitForm& form, NBitInput wanted, size_t m) {
  constexpr size_t kLargeBlock = 128;
  const bool codes = wanted == NBitInput::rounded && form.block >= kLargeBlock;
  if (wanted == NBitInput::exact || codes) return wanted;
  const bool by_tiles = m >= kFewestTileRows && has_bf16_tiles() && 2 * nbits_detail::lanes() == gemm_panel_width();
  return by_tiles ? NBitInput::bf16 : wanted == NBitInput::bf16 ? NBitInput::exact : wanted;
}

bool nbits_supported(const NBitForm& f) {
  return (f.bits == 2 || f.bits == 4 || f.bits == 8) && std::has_single_bit(f.block) && f.block >= 16 && f.block <= 256;
}
size_t nbits_panel_width() { return nbits_detail::lanes(); }

size_t nbits_packed_bytes(const NBitForm& f) {
  const Layout layout(f, nbits_detail::lanes());
  return checked_mul(ceil_div(f.n, layout.lanes), layout.panel_bytes, "packed weights");
}

void nbits_pack(const NBitForm& f, const NBitSource& from, void* packed, const Parallel& par) noexcept {
  const Layout l(f, nbits_detail::lanes());
  const size_t row_bytes = l.blocks * f.block * f.bits / 8;
  par.for_each(ceil_div(f.n, l.lanes), [&](size_t at, int) {
    auto* panel = static_cast<uint8_t*>(packed) + at * l.panel_bytes;
    const size_t n0 = at * l.lanes, columns = std::min(l.lanes, f.n - n0);
    nbits_detail::pack_codes(f, l, from.codes + n0 * row_bytes, row_bytes, columns, panel);
    each_numbers(f, from, at, [&](const nbits_detail::PanelNumbers& numbers) {
      nbits_detail::pack_numbers(f, l, numbers, panel);
      return true;
    });
  });
}

bool nbits_fit_halves(const NBitForm& f, const NBitSource& from, const Parallel& par) noexcept {
  return nbits_detail::converts_halves() &&
         all_numbers(f, from, par, [&](const auto& numbers, size_t) { return nbits_detail::fit_halves(f, numbers); });
}

bool nbits_zeros_are_middle(const NBitForm& f, const NBitSource& from, const Parallel& par) noexcept {
  const size_t lanes = nbits_detail::lanes();
  return all_numbers(f, from, par, [&](const auto& numbers, size_t columns) {
    bool same = true;
    for (size_t i = 0; i < numbers.count * lanes; i += lanes)
      for (size_t n = 0; n < columns; ++n) same &= numbers.zeros[i + n] == float(f.middle());
    return same;
  });
}

size_t nbits_scratch_bytes(const NBitForm& form, size_t m, NBitInput input, int workers) {
  const auto bytes = [&](size_t rows) { return Memory(form, rows, input, workers, nullptr).bytes; };
  return std::max({bytes(m), bytes(std::min(m, nbits_detail::kFewRows)), bytes(std::min(m, kFewestTileRows - 1))});
}

void gemm_nbits(const NBitProduct& p, void* scratch, const Parallel& par) noexcept {
  if (p.m == 0 || p.form.n == 0) return;
  const Memory memory(p.form, p.m, p.input, par.workers(), scratch);
  const Work w{.p = p,
               .layout = Layout(p.form, nbits_detail::lanes()),
               .depth = p.form.blocks() * p.form.block,
               .rounded = memory.rounded,
               .exact = memory.exact};
  if (memory.pairs) return multiply_by_tiles(w, memory, par);
  if (memory.panels) return multiply_decoded(w, memory, par);
  if (memory.exact) {
    pad_rows(w, memory.exact);
  } else {
    constexpr size_t kRowsAtOnce = 8;
    par.for_each(ceil_div(p.m, kRowsAtOnce), [&](size_t task, int) {
      nbits_detail::round_rows(w, task * kRowsAtOnce, std::min(p.m, (task + 1) * kRowsAtOnce));
    });
  }
  // Rows of A stay in the second-level cache while panels pass. A panel is expanded for each block of rows.
  const bool expands = memory.expanded_bytes > 0;
  const size_t block_bytes = expands ? 512 << 10 : 256 << 10;
  const size_t rows = std::max<size_t>(96, block_bytes / std::max<size_t>(w.depth, 1) / 12 * 12);
  const size_t row_blocks = ceil_div(p.m, rows), panels = ceil_div(p.form.n, w.layout.lanes);
  const size_t some = round_up(panels_per_task(w, std::min(p.m, rows)), size_t(expands ? 2 : 1));
  const GridOrder order(row_blocks, ceil_div(panels, some), par.workers());
  par.for_each(order.tasks(), [&](size_t task, int worker) {
    const auto [row, column] = order.at(task);
    const size_t m0 = row * rows, at = column * some;
    char* expanded = expands ? memory.expanded + size_t(worker) * memory.expanded_bytes : nullptr;
    nbits_detail::multiply(w, {m0, std::min(m0 + rows, p.m), at, std::min(at + some, panels), expanded});
  });
}

namespace {

/// The weight of a code as products in bfloat16 arithmetic have it.
float rounded_weight(const NBitForm& f, float scale, float zero, int code) {
  float offset = float(double(zero) * double(scale));
  if (f.halves && f.zeros == NBitZeros::numbers) offset = float(float16(offset));
  return float(bfloat16(std::fma(float(code), scale, -offset)));
}

}  // namespace

void gemm_nbits_reference(const NBitProduct& p, const NBitSource& from) {
  const NBitForm& f = p.form;
  const size_t blocks = f.blocks(), row_bytes = blocks * f.block * f.bits / 8, per_byte = 8 / f.bits;
  const auto product = [&](const float* x, size_t column, size_t b) {
    const size_t n = std::min(f.block, f.k - b * f.block);
    const uint8_t* codes = from.codes + column * row_bytes;
    float scale = 1, zero = 0;
    from.parameters({.column = column, .first = b, .scales = &scale, .zeros = &zero});
    if (f.zeros == NBitZeros::middle) zero = float(f.middle());
    float most = 0;
    for (size_t i = 0; i < n; ++i) most = std::max(most, std::abs(x[i]));
    const float factor = most > 0 ? 127 / most : 0;
    double sum = 0;
    for (size_t i = 0; i < n; ++i) {
      const size_t at = b * f.block + i;
      const int code = codes[at / per_byte] >> (at % per_byte * f.bits) & ((1 << f.bits) - 1);
      const double weight = code - double(zero);
      switch (p.input) {
        case NBitInput::exact:
          sum += double(x[i]) * weight * double(scale);
          break;
        case NBitInput::rounded:
          sum += double(std::nearbyint(x[i] * factor)) * weight * double(scale) * double(most / 127);
          break;
        case NBitInput::bf16:
          sum += double(float(bfloat16(x[i]))) * double(rounded_weight(f, scale, zero, code));
          break;
      }
    }
    return sum;
  };
  for (size_t i = 0; i < p.m; ++i) {
    for (size_t j = 0; j < f.n; ++j) {
      double sum = p.bias ? double(p.bias[j]) : 0;
      for (size_t b = 0; b < blocks; ++b) sum += product(p.a + i * f.k + b * f.block, j, b);
      p.c[i * f.n + j] = float(sum);
    }
  }
}

}  // namespace retort::kernels
