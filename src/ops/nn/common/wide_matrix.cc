// Products of double and of 32- and 64-bit integers.
#include <algorithm>

#include "base/checked.h"
#include "kernels/elementwise/chunks.h"
#include "kernels/gemm/gemm_wide.h"
#include "ops/nn/common/matrix.h"

namespace retort::ops {
namespace {

using kernels::WideType;

WideType product_type(DType type) {
  return type == DType::f64 ? WideType::f64 : dtype_bits(type) == 32 ? WideType::i32 : WideType::i64;
}
size_t wide_bytes(DType type) { return dtype_bits(type) / 8; }

void pack_wide_b(WideType type, const void* b, Strides strides, size_t k, size_t n, void* to,
                 const Parallel& parallel) {
  const size_t width = kernels::wide_panel_width(type);
  const size_t group = width * std::max<size_t>(1, kernels::kChunk / std::max<size_t>(1, k * width));
  kernels::for_chunks(
      parallel, n,
      [&](size_t begin, size_t end) { kernels::wide_pack_b(type, b, strides.row, strides.column, k, begin, end, to); },
      group);
}

/// Whether B is a vector that is read where it is: to pack it takes as long as a panel.
bool reads_plain(const MatMulShape& s, const WideProduct& p) {
  return s.n == 1 && !p.packed && p.a_strides.column == 1 && p.b_strides.row == 1;
}

}  // namespace

bool is_wide(DType type) {
  return type == DType::f64 || type == DType::i32 || type == DType::u32 || type == DType::i64 || type == DType::u64;
}

std::unique_ptr<PackedMatrices> pack_wide_matrices(const PrepareContext& c, const Tensor& b, size_t count, size_t k,
                                                   size_t n, Strides strides) {
  const WideType type = product_type(b.dtype());
  auto packed = std::make_unique<PackedMatrices>();
  packed->count = count;
  const size_t bytes = packed->stride = round_up(kernels::wide_packed_bytes(type, k, n), 64);
  packed->memory = c.packed(checked_mul(bytes, count, "packed weights"), [&](void* memory) {
    for (size_t i = 0; i < count; ++i)
      pack_wide_b(type, static_cast<const char*>(b.data()) + i * k * n * wide_bytes(b.dtype()), strides, k, n,
                  static_cast<char*>(memory) + i * bytes, c.parallel());
  });
  return packed;
}

size_t wide_scratch(DType type, const MatMulShape& s, bool packed) {
  return packed || s.m == 0 || s.n == 0 ? 0 : kernels::wide_packed_bytes(product_type(type), s.k, s.n);
}

void multiply_wide(const WideProduct& p, void* scratch, const Parallel& parallel) {
  const MatMulShape& s = p.shape;
  const WideType type = product_type(p.type);
  const size_t bytes = wide_bytes(p.type);
  kernels::GemmWideArgs args{.m = s.m, .n = s.n, .k = s.k, .a_row = p.a_strides.row, .a_column = p.a_strides.column};
  args.c_stride = s.n;
  if (reads_plain(s, p)) {
    for (size_t i = 0; i < s.batch && !parallel.cancelled(); ++i) {
      kernels::gemv_wide(type,
                         {.m = s.m,
                          .k = s.k,
                          .a = static_cast<const char*>(p.a) + s.a_offset(i) * bytes,
                          .a_row = p.a_strides.row,
                          .x = static_cast<const char*>(p.b) + s.b_offset(i) * bytes,
                          .c = static_cast<char*>(p.c) + i * s.m * bytes},
                         parallel);
    }
    return;
  }
  size_t last_b = SIZE_MAX;
  for (size_t i = 0; i < s.batch && s.m * s.n > 0 && !parallel.cancelled(); ++i) {
    args.packed_b = scratch;
    if (p.packed)
      args.packed_b = p.packed->at(s.matrix_of(s.b_batch, i));
    else if (std::exchange(last_b, s.b_offset(i)) != s.b_offset(i))
      pack_wide_b(type, static_cast<const char*>(p.b) + last_b * bytes, p.b_strides, s.k, s.n, scratch, parallel);
    args.a = static_cast<const char*>(p.a) + s.a_offset(i) * bytes;
    args.c = static_cast<char*>(p.c) + i * s.m * s.n * bytes;
    kernels::gemm_wide(type, args, parallel);
  }
}

}  // namespace retort::ops
