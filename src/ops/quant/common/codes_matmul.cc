#include "ops/quant/common/codes_matmul.h"

#include <algorithm>
#include <cstring>

#include "kernels/elementwise/chunks.h"

namespace retort::ops {
namespace {

/// Memory for A.
struct Rows {
  int8_t* codes;
  kernels::CodeRow* rows;
  uint8_t* transposed;
  kernels::CodesSums sums;
};
void pack_a(const kernels::Codes& a, const kernels::Codes& zero, const MatMulShape& s, size_t offset, const Rows& to,
            const Parallel& parallel) {
  const size_t depth = kernels::codes_depth(s.k);
  const auto pack = [&](size_t begin, size_t end) {
    const kernels::Codes part{a.bytes(offset + begin * s.k), a.is_signed};
    kernels::Codes zeros = zero;
    zeros.first += begin;
    kernels::pack_code_rows(part, s.k, end - begin, s.k, zeros, to.codes + begin * depth, to.rows + begin, to.sums);
  };
  kernels::for_chunks(parallel, s.m, pack, std::max<size_t>(1, kernels::kChunk / std::max<size_t>(1, s.k)));
  if (to.sums != kernels::CodesSums::corrected) return;
  parallel.for_each(ceil_div(s.m, kernels::kCodesBlockRows), [&](size_t block, int) {
    kernels::transpose_code_rows(to.codes, s.m, s.k, block * kernels::kCodesBlockRows, to.transposed);
  });
}

/// Memory for B [k, n].
struct Panels {
  size_t k, n;
  void* packed;
  kernels::CodesSums sums = kernels::CodesSums::exact;
};
void pack_b(const kernels::Codes& b, const kernels::Codes& zero, const Panels& to, const Parallel& parallel) {
  const size_t width = kernels::codes_panel_width();
  const size_t group = width * std::max<size_t>(1, kernels::kChunk / std::max<size_t>(1, to.k * width));
  const auto pack = [&](size_t begin, size_t end) {
    kernels::pack_code_panels(b, to.n, to.k, begin, end, zero, to.packed, to.sums);
  };
  kernels::for_chunks(parallel, to.n, pack, group);
}

constexpr size_t kByRow = 1, kByColumn = 2;

/// Throws if a parameter has neither one element, nor one for each row (column) of a matrix, nor the shape of all
/// `matrices` with 1 on axis -`last`.
[[gnu::noinline]] void check_lines(const Shape& own, const Shape& matrices, size_t last, std::string_view what) {
  const size_t rank = matrices.rank();
  bool fits = rank > 1 && own.rank() == 1 && own[0] == matrices[rank - 3 + last];
  if (!fits && rank > 1 && own.rank() == rank) {
    fits = true;
    for (size_t d = 0; d < rank; ++d) fits &= own[d] == (d == rank - last ? 1 : matrices[d]);
  }
  require(fits || element_count(own) == 1, ErrorCode::invalid_argument,
          "{} has shape {}, expected one element, one for each {} of {}, or that shape with 1 on axis -{}", what, own,
          last == kByRow ? "row" : "column", matrices, last);
}

kernels::Codes zeros_of(kernels::Codes zeros, const Shape& own, const Shape& matrices, size_t last,
                        std::string_view what) {
  check_lines(own, matrices, last, what);
  zeros.count = element_count(own);
  return zeros;
}
[[gnu::noinline]] kernels::Codes zeros_of(const RunContext& c, size_t zero, size_t matrices, size_t last,
                                          std::string_view what) {
  if (!c.has(zero)) return {};
  return zeros_of(ops::codes_of(c, zero), c.shape(zero), c.shape(matrices), last, what);
}

}  // namespace

std::unique_ptr<State> CodesMatMul::prepare(PrepareContext& c, bool any_a) const {
  const Tensor *weights = c.constant(b), *zero = c.constant(b_zero);
  if (!weights || weights->count() == 0 || weights->shape().empty() || (c.has(b_zero) && !zero)) return nullptr;
  const Shape& shape = weights->shape();
  const size_t rank = shape.rank(), k = size_t(shape[rank > 1 ? rank - 2 : 0]);
  const size_t n = rank > 1 ? size_t(shape.back()) : 1;
  const size_t size = k * n, count = weights->count() / size;
  const kernels::Codes codes = codes_of(*weights);
  kernels::Codes zeros;
  if (zero) zeros = zeros_of(codes_of(*zero), zero->shape(), shape, kByColumn, "b_zero_point");
  auto packed = std::make_unique<PackedCodes>();
  packed->stride = round_up(kernels::codes_packed_bytes(k, n), 64);
  if (saturates(c.options(), *weights) && (any_a || c.type(a).dtype == DType::u8))
    packed->sums = kernels::CodesSums::turned;
  else if (kernels::corrects_code_pairs())
    packed->sums = kernels::CodesSums::corrected;
  size_t bytes = checked_mul(packed->stride, count, "packed weights");
  for (size_t i = 0; i < count && packed->sums == kernels::CodesSums::corrected; ++i) {
    packed->excess.push_back(bytes);
    const kernels::Codes matrix{codes.bytes(i * size), codes.is_signed};
    bytes = checked_add(bytes, kernels::code_excess_bytes(matrix, n, k, n), "packed weights");
  }
  packed->memory = c.packed(bytes, [&](void* to) {
    for (size_t i = 0; i < count; ++i, zeros.first += n) {
      char* const panels = static_cast<char*>(to) + i * packed->stride;
      pack_b({codes.bytes(i * size), codes.is_signed}, zeros, {k, n, panels, packed->sums}, c.parallel());
      if (!packed->excess.empty()) kernels::split_code_excess(k, n, panels, static_cast<char*>(to) + packed->excess[i]);
    }
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
  const auto* packed = s.b_size ? c.state<PackedCodes>() : nullptr;
  panels = parts.take<char>(packed ? 0 : kernels::codes_packed_bytes(s.k, s.n));
  transposed = parts.take<uint8_t>(packed && !packed->excess.empty() ? kernels::codes_transposed_bytes(s.m, s.k) : 0);
}

CodesMatMul::Scales CodesMatMul::scales(const RunContext& c, size_t a_scale, size_t b_scale, float y) const {
  check_lines(c.shape(a_scale), c.shape(a), kByRow, "a_scale");
  check_lines(c.shape(b_scale), c.shape(b), kByColumn, "b_scale");
  return {{c, a_scale, c.count(a_scale), "a_scale"}, {c, b_scale, c.count(b_scale), "b_scale"}, y};
}

void CodesMatMul::Scales::of_columns(size_t first, std::span<float> to) const {
  const auto factor = [&](size_t j) { return (a.single() ? a[0] * b[first + j] : b[first + j]) / y; };
  if (b.single()) return void(std::ranges::fill(to, factor(0)));
  for (size_t j = 0; j < to.size(); ++j) to[j] = factor(j);
}

void CodesMatMul::run(const RunContext& c, kernels::CodesResult y, const Scales* scales) const {
  kernels::Codes a_zeros = zeros_of(c, a_zero, a, kByRow, "a_zero_point");
  kernels::Codes b_zeros = zeros_of(c, b_zero, b, kByColumn, "b_zero_point");
  if (c.out_count() == 0) return;
  const MatMulShape s = shape(c);
  const auto* state = s.b_size ? c.state<PackedCodes>() : nullptr;
  const kernels::Codes a_codes = codes_of(c, a);
  const Memory memory(c, *this, c.scratch());
  const kernels::CodesSums sums = state ? state->sums : kernels::CodesSums::exact;
  const size_t y_bytes = s.m * s.n * (y.is_codes ? 1 : sizeof(int32_t));
  y.stride = s.n;
  if (scales) y.column_scale = memory.columns;
  // Symmetric weights often have a zero point for each column, all of them the same.
  const bool same_zero = !b_zeros.data || std::memcmp(b_zeros.data, b_zeros.bytes(1), b_zeros.count - 1) == 0;
  const auto pack_rows = [&](size_t matrix) {
    a_zeros.first = matrix * s.m;
    pack_a(a_codes, a_zeros, s, matrix * s.a_size, {memory.codes, memory.rows, memory.transposed, sums}, c.parallel());
    if (scales && !scales->a.single())
      for (size_t r = 0; r < s.m; ++r) memory.rows[r].scale = scales->a[a_zeros.first + r];
  };
  const auto pack_columns = [&](size_t matrix) {
    b_zeros.first = matrix * s.n;
    if (scales) scales->of_columns(b_zeros.first, {memory.columns, s.n});
    if (state) return;
    const kernels::Codes all = codes_of(c, b);
    pack_b({all.bytes(matrix * s.b_size), all.is_signed}, b_zeros, {s.k, s.n, memory.panels}, c.parallel());
  };
  size_t last_a = SIZE_MAX, last_b = SIZE_MAX;
  for (size_t i = 0; i < s.batch && !c.parallel().cancelled(); ++i) {
    const size_t of_a = s.matrix_of(s.a_batch, i), of_b = s.matrix_of(s.b_batch, i);
    if (std::exchange(last_a, of_a) != of_a) pack_rows(of_a);
    if (std::exchange(last_b, of_b) != of_b) pack_columns(of_b);
    const char* panels = state ? static_cast<const char*>(state->memory.get()) + of_b * state->stride : memory.panels;
    kernels::GemmCodesArgs args{.m = s.m, .n = s.n, .k = s.k, .a = memory.codes, .rows = memory.rows};
    args.packed_b = panels;
    args.same_zero = same_zero;
    args.sums = sums;
    if (sums == kernels::CodesSums::corrected) {
      args.excess = static_cast<const char*>(state->memory.get()) + state->excess[of_b];
      args.transposed = memory.transposed;
    }
    args.c = y;
    kernels::gemm_codes(args, c.parallel());
    y.data = static_cast<char*>(y.data) + y_bytes;
  }
}

}  // namespace retort::ops
