// MatMul: matrix product with numpy's rules for vectors and leading axes. A constant B is packed once.
#include "ops/elementwise.h"
#include "ops/nn/common/matrix.h"

namespace retort::ops {
namespace {

struct MatMul {
  void infer(InferContext& c) const {
    c.set(0, c.dtype(0));
    // A constant B is packed even if the rank of A is unknown.
    require(!c.ranked(1) || c.rank(1) > 0, ErrorCode::invalid_argument, "a scalar cannot be multiplied as a matrix");
    c.set(0, c.dtype(0), infer_matmul(c.dims(), c.shape(0), c.shape(1)));
  }
  Cost cost(const CostContext& c) const { return product_cost(c, c.extent(0, -1)); }

  template <typename T>
  void reference(RunContext& c) const {
    using Sum = std::conditional_t<std::is_same_v<T, float>, double, T>;
    const MatMulShape s = matmul_shape(c.shape(0), c.shape(1));
    for (size_t i = 0; i < s.batch; ++i) {
      const T* a = c.input<T>(0).data() + s.a_offset(i);
      const T* b = c.input<T>(1).data() + s.b_offset(i);
      T* y = c.output<T>().data() + i * s.m * s.n;
      for (size_t r = 0; r < s.m; ++r) {
        for (size_t j = 0; j < s.n && !c.parallel().cancelled(); ++j) {
          Sum sum = 0;
          for (size_t k = 0; k < s.k; ++k) sum += Sum(a[r * s.k + k]) * Sum(b[k * s.n + j]);
          y[r * s.n + j] = T(sum);
        }
      }
    }
  }

  std::unique_ptr<State> prepare(PrepareContext& c) const {
    const Tensor* b = c.unaligned_constant(1);
    if (!b || (b->dtype() != DType::f32 && !is_wide(b->dtype()))) return nullptr;
    const MatMulShape s =
        matmul_shape(b->shape().rank() > 1 ? Shape{1, b->shape()[b->shape().rank() - 2]} : b->shape(), b->shape());
    const size_t count = s.b_size ? b->count() / s.b_size : 0;
    if (s.n == 1 && is_wide(b->dtype())) return nullptr;  // a vector is read where it is
    c.release(1);
    return is_wide(b->dtype()) ? pack_wide_matrices(c, *b, count, s.k, s.n, {s.n, 1})
                               : pack_matrices(c, *b, count, s.k, s.n, {s.n, 1});
  }
  size_t scratch(const RunContext& c) const {
    const auto* packed = c.state<PackedMatrices>();
    if (is_wide(c.dtype(0))) return wide_scratch(c.dtype(0), matmul_shape(c.shape(0), c.shape(1)), packed != nullptr);
    if (c.dtype(0) != DType::f32) return 0;
    return multiply_scratch(matmul_shape(c.shape(0), c.shape(1)), packed, c.parallel().workers(), true);
  }
  void fast(RunContext& c, std::type_identity<float>) const {
    const MatMulShape s = matmul_shape(c.shape(0), c.shape(1));
    multiply({.shape = s,
              .a = c.input<float>(0).data(),
              .b = c.input<float>(1).data(),
              .b_strides = {s.n, 1},
              .packed = c.state<PackedMatrices>(),
              .c = c.output<float>().data()},
             c.scratch(), c.parallel());
  }
  template <OneOf<double, int32_t, uint32_t, int64_t, uint64_t> T>
  void fast(RunContext& c, std::type_identity<T>) const {
    const MatMulShape s = matmul_shape(c.shape(0), c.shape(1));
    multiply_wide({.type = dtype_of<T>,
                   .shape = s,
                   .a = c.data(0),
                   .b = c.data(1),
                   .a_strides = {s.k, 1},
                   .b_strides = {s.n, 1},
                   .packed = c.state<PackedMatrices>(),
                   .c = c.out_data()},
                  c.scratch(), c.parallel());
  }
};

}  // namespace

extern const OpDef op_matmul;
constinit const OpDef op_matmul = define<MatMul>({
    .name = "MatMul",
    .since = {1, 9, 13},
    .inputs = {"A: T", "B: T"},
    .outputs = {"Y: T"},
    .types = kFloats | types({DType::i32, DType::i64, DType::u32, DType::u64}),
});

}  // namespace retort::ops
