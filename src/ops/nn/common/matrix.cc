#include "ops/nn/common/matrix.h"

#include <algorithm>

#include "base/checked.h"
#include "base/half.h"
#include "base/loading.h"
#include "kernels/gemm/gather.h"
#include "kernels/gemm/gemm_bf16.h"
#include "memory/mapping.h"

namespace retort::ops {
namespace {

Shape without_matrix(const Shape& s) {
  return s.rank() > 2 ? Shape(std::span<const int64_t>(s.begin(), s.rank() - 2)) : Shape();
}

using kernels::PackedType;

size_t packed_stride(size_t k, size_t n, PackedType type = PackedType::f32) {
  const bool rounds = type == PackedType::bf16_pairs;
  return round_up(rounds ? kernels::bf16_packed_bytes(k, n) : kernels::gemm_packed_bytes(k, n, type), 64);
}

/// Bytes that a column of a full panel takes.
size_t column_bytes(size_t k, PackedType type) {
  if (type == PackedType::bf16_pairs) return kernels::bf16_pairs(k) * sizeof(float);
  return k * (type == PackedType::f32 ? sizeof(float) : sizeof(float16));
}

// Packs B in parallel, one group of panels per task.
void pack_panels(const Product& p, const float* b, float* packed, const Parallel& parallel) {
  const size_t width = kernels::gemm_panel_width(), k = p.shape.k, n = p.shape.n;
  const size_t panels = ceil_div(n, width), group = std::max<size_t>(1, (16 << 10) / std::max<size_t>(k * width, 1));
  parallel.for_each(ceil_div(panels, group), [&](size_t task, int) {
    const size_t first = task * group * width, columns = std::min(group * width, n - first);
    kernels::gemm_pack_b(b + first * p.b_strides.column, p.b_strides.row, p.b_strides.column, k, columns,
                         packed + first * k);
  });
}

kernels::GemmArgs gemm_args(const Product& p, size_t i, const kernels::PackedB& packed) {
  const MatMulShape& s = p.shape;
  kernels::GemmArgs g;
  g.m = s.m;
  g.n = s.n;
  g.k = s.k;
  g.a = p.a + s.a_offset(i);
  g.a_stride = s.k;
  g.packed_b = packed;
  g.c = p.c + i * s.m * s.n;
  g.c_stride = s.n;
  g.epilogue = p.epilogue;
  return g;
}

/// Smaller matrices stay in the first-level cache. Read from the second level, one row is 1.2 to 1.6 times as fast in
/// 16 bits.
constexpr size_t kLeastNarrowed = size_t(4) << 10;

PackedType packed_type(const PrepareContext& c, const Tensor& b, size_t elements) {
  const bool single = b.shape().rank() <= 2;  // whatever the axes of A are
  if (single && c.options().bf16_products && kernels::has_bf16_products()) return PackedType::bf16_pairs;
  if (!c.options().weights_16bit || elements < kLeastNarrowed) return PackedType::f32;
  return kernels::gemm_exact_type(b.data<float>(), b.count(), c.parallel());
}

/// Multiplies packed float columns, the first of which is at the start of a panel, by their factors.
void scale_columns(size_t k, size_t columns, const float* factors, void* packed) {
  const size_t width = kernels::gemm_panel_width();
  float* p = static_cast<float*>(packed);
  for (size_t j = 0; j < columns; j += width) {
    const size_t own = std::min(width, columns - j);
    for (size_t i = 0; i < k; ++i, p += width) {
      for (size_t c = 0; c < own; ++c) p[c] *= factors[j + c];
    }
  }
}

/// Rounds and packs columns, the first of which is at the start of a panel, after they were multiplied by their factors.
void pack_rounded(const float* b, Strides strides, size_t k, size_t columns, const float* factors, char* packed) {
  if (!factors) return kernels::bf16_pack_b(b, strides.row, strides.column, k, columns, packed);
  constexpr size_t kSteps = 64, kMostWidth = 32;  // of a panel, at any level
  alignas(64) float block[kSteps * kMostWidth];
  const size_t width = kernels::gemm_panel_width();
  for (size_t j = 0; j < columns; j += width) {
    const size_t own = std::min(width, columns - j);
    for (size_t i = 0; i < k; i += kSteps) {
      const size_t steps = std::min(kSteps, k - i);
      kernels::gemm_pack_b(b + i * strides.row + j * strides.column, strides.row, strides.column, steps, own, block);
      scale_columns(steps, own, factors + j, block);
      kernels::bf16_pack_b(block, width, 1, steps, own, packed);
      packed += kernels::bf16_pairs(steps) * width * sizeof(float);
    }
  }
}

}  // namespace

size_t MatMulShape::matrix_of(const Shape& own, size_t i) const {
  size_t index = 0, scale = 1;
  for (size_t d = batch_shape.rank(), o = own.rank(); d-- > 0 && o > 0;) {
    const size_t extent = size_t(batch_shape[d]), mine = size_t(own[--o]);
    if (mine != 1) index += i % extent * scale;
    scale *= mine;
    i /= extent;
  }
  return index;
}

MatMulShape matmul_shape(const Shape& a, const Shape& b) {
  MatMulShape s;
  s.k = size_t(a.back());
  s.m = a.rank() > 1 ? size_t(a[a.rank() - 2]) : 1;
  s.n = b.rank() > 1 ? size_t(b.back()) : 1;
  s.a_size = s.m * s.k;
  s.b_size = s.k * s.n;
  s.a_batch = without_matrix(a);
  s.b_batch = without_matrix(b);
  if (element_count(s.b_batch) == 1 && s.b_batch.rank() <= s.a_batch.rank()) {  // one B for all rows of A
    s.m *= element_count(s.a_batch);
    return s;
  }
  DimTable none;
  s.batch_shape = broadcast_shapes(none, s.a_batch, s.b_batch);
  s.batch = element_count(s.batch_shape);
  return s;
}

Shape infer_matmul(DimTable& dims, const Shape& a, const Shape& b) {
  require(a.rank() > 0 && b.rank() > 0, ErrorCode::invalid_argument, "a scalar cannot be multiplied as a matrix");
  const Dim inner = b.rank() > 1 ? b[b.rank() - 2] : b[0];
  if (!(!is_known(a.back()) || !is_known(inner) || a.back() == inner))
    fail(ErrorCode::invalid_argument, "shapes {} and {} cannot be multiplied", dims.text(a), dims.text(b));
  Shape c = broadcast_shapes(dims, without_matrix(a), without_matrix(b));
  if (a.rank() > 1) c.push_back(a[a.rank() - 2]);
  if (b.rank() > 1) c.push_back(b.back());
  return c;
}

std::unique_ptr<PackedMatrices> pack_matrices(const PrepareContext& c, const Tensor& b, size_t count, size_t k,
                                              size_t n, Strides strides, const float* factors) {
  constexpr size_t kSliceBytes = size_t(1) << 20;
  auto packed = std::make_unique<PackedMatrices>();
  packed->count = count;
  packed->strict = c.options().strict;
  packed->type = packed_type(c, b, k * n);
  if (factors && !packed->rounds()) packed->type = PackedType::f32;
  packed->stride = packed_stride(k, n, packed->type);
  // Products with one of several matrices have no scratch (multiply_scratch()), so they would not use the marks.
  const size_t fit_bytes = count == 1 && !packed->rounds() ? kernels::gemm_fit_bytes(k, n) : 0;
  if (fit_bytes > 0) {
    packed->fit = packed->stride;
    packed->stride += round_up(fit_bytes, 64);
  }
  // A few columns at a time are packed: loading can be cancelled between them, and contiguous ones are released at once,
  // so that a large weight is never in memory twice.
  const size_t pair = 2 * kernels::gemm_panel_width();
  const size_t slice = round_up(std::max<size_t>(kSliceBytes / std::max<size_t>(k * sizeof(float), 1), 1), pair);
  const size_t column = column_bytes(k, packed->type);
  packed->memory = c.packed(count * packed->stride, [&](void* memory) {
    char* to = static_cast<char*>(memory);
    for (size_t i = 0; i < count; ++i) {
      for (size_t n0 = 0; n0 < n; n0 += slice) {
        check_loading(c.parallel());
        const size_t columns = std::min(slice, n - n0);
        const float* from = b.data<float>() + i * k * n + n0 * strides.column;
        char *matrix = to + i * packed->stride, *panels = matrix + n0 * column;
        const float* own = factors ? factors + n0 : nullptr;
        if (packed->rounds())
          pack_rounded(from, strides, k, columns, own, panels);
        else
          kernels::gemm_pack_b(from, strides.row, strides.column, k, columns, {panels, packed->type, &c.parallel()});
        if (own && !packed->rounds()) scale_columns(k, columns, own, panels);
        if (packed->fit > 0) {
          auto* fit = reinterpret_cast<uint8_t*>(matrix + packed->fit) + n0 / pair;
          kernels::gemm_compare_b({panels, packed->type}, k, columns, fit);
        }
        if (strides.row == 1) {
          release_pages(Tensor(DType::f32, {int64_t(columns * k)}, const_cast<float*>(from), b.owner()));
        }
      }
    }
  });
  return packed;
}

namespace {
bool may_gather(const PackedMatrices& packed) {
  return packed.type == kernels::PackedType::f32 && kernels::gemm_gathers();
}
}  // namespace

size_t product_scratch(size_t m, size_t n, size_t k, const PackedMatrices& packed, int workers) {
  if (packed.rounds()) return kernels::bf16_scratch_bytes(m, k);
  const size_t saving = packed.strict ? 0 : kernels::gemm_scratch_bytes(m, n, k, workers);
  return saving > 0 || !may_gather(packed) ? saving : kernels::gemm_gather_bytes(m, n, k);
}

void multiply_packed(const kernels::GemmArgs& args, const PackedMatrices& packed, const Parallel& parallel,
                     void* scratch) {
  if (packed.rounds()) return kernels::bf16_gemm(args, parallel, scratch);
  if (scratch && may_gather(packed) && kernels::gemm_gather_bytes(args.m, args.n, args.k) > 0)
    return kernels::gemm_gathered(args, parallel, scratch);
  kernels::gemm(args, parallel, packed.strict ? nullptr : scratch);
}

namespace {

/// Whether a product reads B as it is and packs nothing. However B is stored, one or two rows then take a third to a half
/// of the time, and one column a quarter (Zen 4). Where columns of B touch, so do as many rows as half of a panel has
/// columns: 4 rows take 0.4 to 0.6 of the time, 16 rows at AVX-512 0.8, 8 at AVX2 0.75.
bool reads_plain(const MatMulShape& s, bool columns_touch) {
  return s.m <= 2 || s.n == 1 || (columns_touch && s.m <= kernels::gemm_panel_width() / 2);
}

/// Adds bias and residual to columns [n0, n1) of all rows of product i.
void add_epilogue(const Product& p, size_t i, size_t n0, size_t n1) {
  const kernels::Epilogue& e = p.epilogue;
  if (!e.bias && !e.residual) return;
  for (size_t r = 0; r < p.shape.m; ++r) {
    float* const c = p.c + (i * p.shape.m + r) * p.shape.n;
    for (size_t j = n0; j < n1; ++j) {
      if (e.bias) c[j] += e.bias[j];
      if (e.residual) c[j] += e.residual[r * e.residual_stride + j];
    }
  }
}

/// Columns [n0, n1) of product i; with a single column, rows.
void multiply_plain_part(const Product& p, size_t i, size_t n0, size_t n1) {
  const MatMulShape& s = p.shape;
  const float *a = p.a + s.a_offset(i), *b = p.b + s.b_offset(i);
  float* const c = p.c + i * s.m * s.n;
  if (s.n == 1) {
    return kernels::gemv_rows({.n = n1 - n0, .k = s.k, .x = b, .b = a + n0 * s.k, .b_stride = s.k, .y = c + n0});
  }
  if (p.b_strides.column == 1) {
    return kernels::gemm_few_rows({.m = s.m,
                                   .n = n1 - n0,
                                   .k = s.k,
                                   .a = a,
                                   .a_stride = s.k,
                                   .b = b + n0,
                                   .b_stride = p.b_strides.row,
                                   .c = c + n0,
                                   .c_stride = s.n});
  }
  for (size_t r = 0; r < s.m; ++r) {
    kernels::gemv_rows({.n = n1 - n0,
                        .k = s.k,
                        .x = a + r * s.k,
                        .b = b + n0 * p.b_strides.column,
                        .b_stride = p.b_strides.column,
                        .y = c + r * s.n + n0});
  }
}

/// A task takes about 10 µs: several products, or some columns of one. Long rows are read fastest, so a single worker
/// divides no product; every element is the same sum either way.
void multiply_plain(const Product& p, const Parallel& parallel) {
  constexpr size_t kElements = 64 << 10, kLeastColumns = 512;
  constexpr size_t kStart = 256;  // the time that the start of a product takes, in elements
  const MatMulShape& s = p.shape;
  const size_t n = s.n == 1 ? s.m : s.n, depth = std::max<size_t>(s.k, 1);
  const size_t columns = parallel.workers() == 1 ? n : std::max(kElements / depth, kLeastColumns);
  const size_t across = ceil_div(n, columns), products = std::max<size_t>(kElements / (n * depth + kStart), 1);
  parallel.for_each(ceil_div(s.batch, products) * across, [&](size_t task, int) {
    const size_t first = task / across * products, n0 = task % across * columns, n1 = std::min(n0 + columns, n);
    for (size_t i = first; i < std::min(first + products, s.batch); ++i) {
      multiply_plain_part(p, i, n0, n1);
      if (s.n > 1) add_epilogue(p, i, n0, n1);
    }
  });
  for (size_t i = 0; i < s.batch && s.n == 1; ++i) add_epilogue(p, i, 0, 1);
}

}  // namespace

size_t multiply_scratch(const MatMulShape& s, const PackedMatrices* packed, int workers, bool columns_touch) {
  if (!packed && reads_plain(s, columns_touch)) return 0;
  const size_t one = packed_stride(s.k, s.n);
  if (packed) return s.batch > 1 ? 0 : product_scratch(s.m, s.n, s.k, *packed, workers);
  return s.batch == 1 ? one : one * size_t(workers);
}

void multiply(const Product& p, void* scratch, const Parallel& parallel) {
  const MatMulShape& s = p.shape;
  if (s.m * s.n == 0) return;
  if (!p.packed && reads_plain(s, p.b_strides.column == 1)) return multiply_plain(p, parallel);
  const size_t stride = packed_stride(s.k, s.n) / sizeof(float);
  float* space = static_cast<float*>(scratch);
  if (s.batch == 1) {
    if (p.packed) return multiply_packed(gemm_args(p, 0, p.packed->matrix(0)), *p.packed, parallel, scratch);
    pack_panels(p, p.b, space, parallel);
    return kernels::gemm(gemm_args(p, 0, space), parallel);
  }
  parallel.for_each(s.batch, [&](size_t i, int worker) {
    kernels::PackedB packed;
    if (p.packed) {
      packed = p.packed->matrix(s.matrix_of(s.b_batch, i));
    } else {
      float* own = space + size_t(worker) * stride;
      kernels::gemm_pack_b(p.b + s.b_offset(i), p.b_strides.row, p.b_strides.column, s.k, s.n, own);
      packed = own;
    }
    kernels::GemmArgs product = gemm_args(p, i, packed);
    product.run = &parallel;
    kernels::gemm_block(product, 0, s.n);
  });
}

}  // namespace retort::ops
