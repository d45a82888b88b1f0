// Products of the LSTM whose weights are 8-bit codes, and whose left-hand sides are rounded to such codes by their range.
#pragma once
#include "kernels/elementwise/chunks.h"
#include "kernels/recurrent/cell.h"
#include "ops/quant/common/codes.h"
#include "ops/quant/common/dynamic_codes.h"
#include "ops/recurrent/common/cell_step.h"

namespace retort::ops {

/// The codes of a matrix, packed for gemm_codes(), and the memory for those of the other side of a product. The matrix
/// of h consists of a part for each gate, so that some units of all gates are whole panels.
struct CodeMatrix {
  const char* panels = nullptr;   ///< one part after the other
  const float* scales = nullptr;  ///< of the columns
  bool same_zero = false;         ///< of the columns
  size_t parts = 1;
  size_t part_bytes = 0;
  kernels::CodesSums sums = kernels::CodesSums::exact;
  size_t excess_at = 0;  ///< of corrected sums: where the excess of a part begins
  struct Left {
    int8_t* codes = nullptr;
    kernels::CodeRow* rows = nullptr;
    uint8_t* transposed = nullptr;  ///< for corrected sums
    Left() = default;
    Left(size_t m, size_t k, size_t bytes, bool corrected, ScratchParts& parts)
        : codes(parts.take<int8_t>(bytes)),
          rows(parts.take<kernels::CodeRow>(m)),
          transposed(parts.take<uint8_t>(corrected ? kernels::codes_transposed_bytes(m, k) : 0)) {}
  } left;
};

/// Exact up to the conversion of the sums.
struct CodesMath {
  static constexpr bool kCells = true;

  static void multiply(const CellProduct<float>& p, const Parallel& parallel) {
    round_left(p, parallel);
    if (p.b.codes->parts == 1) return kernels::gemm_codes(part_of(p, 0), parallel);
    in_blocks(p, parallel, false, [](const UnitBlock&) {});
  }
  static void apply(const CellFunction& f, float* x, size_t n) { f.apply(x, n); }

  /// The product of a step; `after` is called for each block of units when their sums are complete.
  template <class After>
  static void in_blocks(const CellProduct<float>& p, const CellStep<float>& s, const After& after) {
    round_left(p, s.parallel);
    in_blocks(p, s.parallel, s.index % 2 == 1, after);
  }

 private:
  /// Weights of h that stay in the second-level cache from step to step, where processors have AMX.
  static constexpr size_t kNearBytes = 3 << 19;
  /// Multiplies by all parts of a matrix, and calls after(block) when the sums of a block are complete.
  template <class After>
  static void in_blocks(const CellProduct<float>& p, const Parallel& parallel, bool backwards, const After& after) {
    const size_t parts = p.b.codes->parts, units = p.b.n / parts;
    if (p.m == 0 || units == 0) return;
    const double macs = task_macs(parallel, 2 << 20);  // about 10 µs, as those of gemm_codes()
    const size_t weights = p.b.n * kernels::codes_depth(p.b.k);
    const UnitTasks tasks(p.m, units, kernels::codes_panel_width(), weights, double(weights), macs);
    const bool joined = tasks.units >= units && are_joined(*p.b.codes, p.b.k, units);
    parallel.for_each(tasks.count(), [&](size_t task, int) {
      const UnitBlock block = tasks.at(backwards ? tasks.mirrored(task, parallel.workers()) : task);
      request_written(parallel, p.b.codes->left.codes, p.m * kernels::codes_row_bytes(p.b.k, p.b.codes->sums));
      if (joined) {
        kernels::GemmCodesArgs all = part_of(p, 0);
        all.n = p.b.n;
        kernels::gemm_codes_block(all, block.m0, block.m1, 0, all.n);
        return after(block);
      }
      for (size_t i = 0; i < parts; ++i) {
        const size_t part = backwards ? parts - 1 - i : i;
        kernels::gemm_codes_block(part_of(p, part), block.m0, block.m1, block.n0, block.n1);
      }
      after(block);
    });
  }

  /// Whether the panels of all parts are those of one matrix of all columns. Small cells multiply by it at once: of the
  /// time that 64 units take, four calls would be a tenth.
  static bool are_joined(const CodeMatrix& w, size_t k, size_t units) {
    return units % kernels::codes_panel_width() == 0 && w.part_bytes == kernels::codes_packed_bytes(k, units);
  }

  /// The product with one part of the matrix.
  static kernels::GemmCodesArgs part_of(const CellProduct<float>& p, size_t part) {
    const CodeMatrix& w = *p.b.codes;
    const size_t n = p.b.n / w.parts, at = part * n;
    const char* const panels = w.panels + part * w.part_bytes;
    return {.m = p.m,
            .n = n,
            .k = p.b.k,
            .a = w.left.codes,
            .rows = w.left.rows,
            .packed_b = panels,
            .same_zero = w.same_zero,
            .near = w.parts > 1 && w.parts * w.part_bytes <= kNearBytes,
            .sums = w.sums,
            .excess = w.excess_at > 0 ? panels + w.excess_at : nullptr,
            .transposed = w.left.transposed,
            .c = {.data = p.c + at,
                  .stride = p.c_stride,
                  .is_float = true,
                  .column_scale = w.scales + at,
                  .column_bias = p.bias ? p.bias + at : nullptr,
                  .residual = p.residual ? p.residual + at : nullptr}};
  }

  /// Writes the codes of the left-hand side.
  static void round_left(const CellProduct<float>& p, const Parallel& parallel) {
    const CodeMatrix::Left& left = p.b.codes->left;
    const DynamicCodes codes = p.steps.lengths ? running_codes(p) : dynamic_codes(p.a, p.m * p.b.k, parallel);
    const int32_t zero = codes.zero - 128;  // of signed codes
    const auto signed_zero = int8_t(zero);
    const kernels::CodesSums sums = p.b.codes->sums;
    const size_t k = p.b.k, row = kernels::codes_row_bytes(k, sums);
    const auto rows = [&](size_t begin, size_t end) {
      int8_t* const to = left.codes + begin * row;
      for (size_t r = begin; r < end; ++r) {
        kernels::quantize(kernels::QuantizeRun<int8_t>{p.a + r * k, &codes.scale, &zero, 0, left.codes + r * row, k});
      }
      kernels::pack_code_rows({to, true}, row, end - begin, k, {&signed_zero, true, 1}, to, left.rows + begin, sums);
      for (size_t r = begin; r < end; ++r) left.rows[r].scale = codes.scale;
    };
    kernels::for_chunks(parallel, p.m, rows, std::max<size_t>(1, kernels::kChunk / std::max<size_t>(1, k)));
    if (sums != kernels::CodesSums::corrected) return;
    parallel.for_each(ceil_div(p.m, kernels::kCodesBlockRows), [&](size_t block, int) {
      kernels::transpose_code_rows(left.codes, p.m, k, block * kernels::kCodesBlockRows, left.transposed);
    });
  }

  /// The codes of the rows whose items are not over.
  static DynamicCodes running_codes(const CellProduct<float>& p) {
    float low = 0, high = 0;
    for (size_t r = 0; r < p.m; ++r) {
      if (p.steps.over(r)) continue;
      const auto [least, most] = kernels::range_with_zero(p.a + r * p.b.k, p.b.k);
      low = std::min(low, least);
      high = std::max(high, most);
    }
    return codes_of_range(low, high);
  }
};

}  // namespace retort::ops
