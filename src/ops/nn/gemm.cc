// Gemm: alpha · A' · B' + beta · C, where A' and B' are A and B or their transposes and C broadcasts to the result.
// With beta 0, C is not read, so a NaN in it does not reach the result.
#include "base/checked.h"
#include "kernels/elementwise/convert.h"
#include "ops/math/arithmetic.h"
#include "ops/nn/common/matrix.h"

namespace retort::ops {
namespace {

struct Gemm {
  float alpha = 1, beta = 1;
  bool trans_a = false, trans_b = false;
  static constexpr std::tuple attributes{attr("alpha", &Gemm::alpha), attr("beta", &Gemm::beta),
                                         attr("transA", &Gemm::trans_a), attr("transB", &Gemm::trans_b)};

  static Shape turned(const Shape& s, bool turn) { return turn ? Shape{s[1], s[0]} : s; }

  void infer(InferContext& c) const {
    c.set(0, c.dtype(0));
    if (!(c.rank(0) == 2 && c.rank(1) == 2))
      fail(ErrorCode::invalid_argument, "shapes {} and {} are not matrices", c.dims().text(c.shape(0)),
           c.dims().text(c.shape(1)));
    const Shape y = infer_matmul(c.dims(), turned(c.shape(0), trans_a), turned(c.shape(1), trans_b));
    if (c.has(2) && c.ranked(2)) {
      const Shape with_c = broadcast_shapes(c.dims(), y, c.shape(2));
      if (!(with_c.rank() == 2 && (!all_known(with_c) || !all_known(y) || with_c == y)))
        fail(ErrorCode::invalid_argument, "C of shape {} does not broadcast to {}", c.dims().text(c.shape(2)),
             c.dims().text(y));
    }
    c.set(0, c.dtype(0), y);
  }
  Cost cost(const CostContext& c) const {
    Cost cost = product_cost(c, c.extent(0, trans_a ? 0 : 1));
    if (c.has(2)) cost.operations = c.out_count();
    return cost;
  }

  MatMulShape shape(const RunContext& c) const {
    return matmul_shape(turned(c.shape(0), trans_a), turned(c.shape(1), trans_b));
  }
  /// Element (i, j) of C after broadcasting.
  static size_t c_index(const RunContext& c, size_t i, size_t j) {
    const Shape& s = c.shape(2);
    const size_t row = s.rank() > 1 && s[0] != 1 ? i : 0, column = s.rank() > 0 && s.back() != 1 ? j : 0;
    return row * (s.rank() > 0 ? size_t(s.back()) : 1) + column;
  }

  /// Converts the product to an integer as Cast does.
  template <typename Sum>
  static Sum scaled(float factor, Sum x) {
    if constexpr (std::integral<Sum>)
      return kernels::convert<Sum>(factor * float(x));
    else
      return factor * x;
  }

  template <typename T>
  void reference(RunContext& c) const {
    using Sum = std::conditional_t<std::is_same_v<T, float>, double, T>;
    const MatMulShape s = shape(c);
    const auto a = c.input<T>(0), b = c.input<T>(1);
    const auto y = c.output<T>();
    const T* add = beta != 0 ? c.optional<T>(2) : nullptr;
    for (size_t i = 0; i < s.m; ++i) {
      for (size_t j = 0; j < s.n && !c.parallel().cancelled(); ++j) {
        Sum sum = 0;
        for (size_t k = 0; k < s.k; ++k)
          sum = wrap_add(
              sum, wrap_mul(Sum(a[trans_a ? k * s.m + i : i * s.k + k]), Sum(b[trans_b ? j * s.k + k : k * s.n + j])));
        if (alpha != 1) sum = scaled(alpha, sum);
        if (add) sum = wrap_add(sum, beta == 1 ? Sum(add[c_index(c, i, j)]) : scaled(beta, Sum(add[c_index(c, i, j)])));
        y[i * s.n + j] = T(sum);
      }
    }
  }

  Strides b_strides(const MatMulShape& s) const { return trans_b ? Strides{1, s.k} : Strides{s.n, 1}; }

  std::unique_ptr<State> prepare(PrepareContext& c) const {
    const Tensor* b = c.unaligned_constant(1);
    if (!b || (b->dtype() != DType::f32 && b->dtype() != DType::f64) || b->shape().rank() != 2) return nullptr;
    const Shape turned_b = turned(b->shape(), trans_b);
    const MatMulShape s = matmul_shape({1, turned_b[0]}, turned_b);
    c.release(1);
    return b->dtype() == DType::f64 ? pack_wide_matrices(c, *b, 1, s.k, s.n, b_strides(s))
                                    : pack_matrices(c, *b, 1, s.k, s.n, b_strides(s));
  }
  size_t scratch(const RunContext& c) const {
    if (c.dtype(0) != DType::f32 && c.dtype(0) != DType::f64) return 0;
    const MatMulShape s = shape(c);
    const auto* packed = c.state<PackedMatrices>();
    if (c.dtype(0) == DType::f64) return wide_scratch(DType::f64, s, packed != nullptr);
    return turned_a_bytes(s) + multiply_scratch(s, packed, c.parallel().workers());
  }
  void fast(RunContext& c, std::type_identity<float>) const {
    const MatMulShape s = shape(c);
    char* scratch = static_cast<char*>(c.scratch());
    Product p{.shape = s,
              .a = c.input<float>(0).data(),
              .b = c.input<float>(1).data(),
              .b_strides = b_strides(s),
              .packed = c.state<PackedMatrices>(),
              .c = c.output<float>().data()};
    if (trans_a) {
      float* turned_a = reinterpret_cast<float*>(scratch);
      for (size_t i = 0; i < s.m; ++i) {
        for (size_t k = 0; k < s.k; ++k) turned_a[i * s.k + k] = p.a[k * s.m + i];
      }
      p.a = turned_a;
    }
    const bool row_bias = c.has(2) && alpha == 1 && beta == 1 && c.count(2) == s.n && c.shape(2).rank() > 0 &&
                          c.shape(2).back() == c.out_shape()[1];
    if (row_bias) p.epilogue.bias = c.input<float>(2).data();
    multiply(p, scratch + turned_a_bytes(s), c.parallel());
    if (!row_bias) finish<float>(c, s);
  }
  void fast(RunContext& c, std::type_identity<double>) const {
    const MatMulShape s = shape(c);
    multiply_wide({.shape = s,
                   .a = c.data(0),
                   .b = c.data(1),
                   .a_strides = trans_a ? Strides{1, s.m} : Strides{s.k, 1},
                   .b_strides = b_strides(s),
                   .packed = c.state<PackedMatrices>(),
                   .c = c.out_data()},
                  c.scratch(), c.parallel());
    finish<double>(c, s);
  }

 private:
  size_t turned_a_bytes(const MatMulShape& s) const { return trans_a ? round_up(s.m * s.k * sizeof(float), 64) : 0; }
  template <typename T>
  void finish(RunContext& c, const MatMulShape& s) const {
    const T* add = beta != 0 ? c.optional<T>(2) : nullptr;
    if (!add && alpha == 1) return;
    T* y = c.output<T>().data();
    for (size_t i = 0; i < s.m; ++i) {
      for (size_t j = 0; j < s.n; ++j, ++y) *y = T(alpha) * *y + (add ? T(beta) * add[c_index(c, i, j)] : T(0));
    }
  }
};

}  // namespace

extern const OpDef op_gemm;
constinit const OpDef op_gemm = define<Gemm>({
    .name = "Gemm",
    .since = {1, 6, 7, 9, 11, 13},
    .inputs = {"A: T", "B: T", "C: T?"},
    .outputs = {"Y: T"},
    .types = kFloats | types({DType::i32, DType::i64, DType::u32, DType::u64}),
});

}  // namespace retort::ops
