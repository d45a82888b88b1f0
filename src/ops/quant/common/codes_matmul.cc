#include "ops/quant/common/codes_matmul.h"

#include <algorithm>

#include "kernels/elementwise/chunks.h"

namespace retort::ops {
namespace {

void pack_a(const kernels::Codes& a, const kernels::Codes& zero, const MatMulShape& s, size_t offset, int8_t* codes,
            kernels::CodeRow* rows, const Parallel& parallel) {
  const size_t depth = kernels::codes_depth(s.k);
  const auto pack = [&](size_t begin, size_t end) {
    const kernels::Codes part{a.bytes(offset + begin * s.k), a.is_signed};
    kernels::Codes zeros = zero;
    if (zeros.data) zeros.data = zero.bytes(begin * zero.step);
    kernels::pack_code_rows(part, s.k, end - begin, s.k, zeros, codes + begin * depth, rows + begin);
  };
  kernels::for_chunks(parallel, s.m, pack, std::max<size_t>(1, kernels::kChunk / std::max<size_t>(1, s.k)));
}

void pack_b(const kernels::Codes& b, const kernels::Codes& zero, size_t k, size_t n, void* packed,
            const Parallel& parallel) {
  const size_t width = kernels::codes_panel_width();
  const size_t group = width * std::max<size_t>(1, kernels::kChunk / std::max<size_t>(1, k * width));
  const auto pack = [&](size_t begin, size_t end) { kernels::pack_code_panels(b, n, k, begin, end, zero, packed); };
  kernels::for_chunks(parallel, n, pack, group);
}

}  // namespace

std::unique_ptr<State> CodesMatMul::prepare(PrepareContext& c) const {
  const Tensor *weights = c.constant(b), *zero = c.constant(b_zero);
  if (!weights || weights->count() == 0 || weights->shape().empty() || (c.has(b_zero) && !zero)) return nullptr;
  const Shape& shape = weights->shape();
  const size_t rank = shape.rank(), k = size_t(shape[rank > 1 ? rank - 2 : 0]);
  const size_t n = rank > 1 ? size_t(shape.back()) : 1;
  const size_t size = k * n, count = weights->count() / size;
  const kernels::Codes codes = codes_of(*weights), zeros = zero_points(zero, n, "b_zero_point");
  auto packed = std::make_unique<PackedCodes>();
  packed->stride = round_up(kernels::codes_packed_bytes(k, n), 64);
  packed->memory = c.packed(checked_mul(packed->stride, count, "packed weights"), [&](void* to) {
    for (size_t i = 0; i < count; ++i)
      pack_b({codes.bytes(i * size), codes.is_signed}, zeros, k, n, static_cast<char*>(to) + i * packed->stride,
             c.parallel());
  });
  c.release(b);
  return packed;
}

CodesMatMul::Memory::Memory(const RunContext& c, const CodesMatMul& op, void* base) : parts(base) {
  if (c.out_count() == 0) return;
  const MatMulShape s = op.shape(c);
  codes = parts.take<int8_t>(kernels::codes_rows_bytes(s.m, s.k));
  rows = parts.take<kernels::CodeRow>(s.m);
  columns = parts.take<float>(s.n);
  panels = parts.take<char>(c.state<PackedCodes>() && s.b_size ? 0 : kernels::codes_packed_bytes(s.k, s.n));
}

void CodesMatMul::run(const RunContext& c, kernels::CodesResult y, const ScaleFactors* row_scale) const {
  if (c.out_count() == 0) return;
  const MatMulShape s = shape(c);
  const auto* state = s.b_size ? c.state<PackedCodes>() : nullptr;
  const kernels::Codes a_codes = codes_of(c, a), a_zeros = zero_points(c, a_zero, s.m, "a_zero_point");
  const kernels::Codes b_zeros = zero_points(c, b_zero, s.n, "b_zero_point");
  const Memory memory(c, *this, c.scratch());
  const size_t y_bytes = s.m * s.n * (y.is_codes ? 1 : sizeof(int32_t));
  y.stride = s.n;
  size_t last_a = SIZE_MAX, last_b = SIZE_MAX;
  for (size_t i = 0; i < s.batch && !c.parallel().cancelled(); ++i) {
    if (std::exchange(last_a, s.a_offset(i)) != s.a_offset(i)) {
      pack_a(a_codes, a_zeros, s, s.a_offset(i), memory.codes, memory.rows, c.parallel());
      for (size_t r = 0; row_scale && r < s.m; ++r) memory.rows[r].scale = (*row_scale)[r];
    }
    const char* panels = memory.panels;
    if (state) {
      panels = static_cast<const char*>(state->memory.get()) + s.b_offset(i) / s.b_size * state->stride;
    } else if (std::exchange(last_b, s.b_offset(i)) != s.b_offset(i)) {
      const kernels::Codes all = codes_of(c, b);
      pack_b({all.bytes(s.b_offset(i)), all.is_signed}, b_zeros, s.k, s.n, memory.panels, c.parallel());
    }
    kernels::gemm_codes(
        {.m = s.m, .n = s.n, .k = s.k, .a = memory.codes, .rows = memory.rows, .packed_b = panels, .c = y},
        c.parallel());
    y.data = static_cast<char*>(y.data) + y_bytes;
  }
}

}  // namespace retort::ops
