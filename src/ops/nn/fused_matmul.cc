// com.microsoft.FusedMatMul: alpha · A' · B', where A' and B' are transposed according to the attributes: transA/transB
// swap the last two axes; before that, transBatchA/transBatchB move the first axis after the other leading ones.
#include "base/checked.h"
#include "kernels/move/strided_copy.h"
#include "kernels/norm/group_norm.h"
#include "ops/elementwise.h"
#include "ops/nn/common/matrix.h"

namespace retort::ops {
namespace {

struct FusedMatMul {
  float alpha = 1;
  bool trans_a = false, trans_b = false, trans_batch_a = false, trans_batch_b = false;
  static constexpr std::tuple attributes{
      attr("alpha", &FusedMatMul::alpha), attr("transA", &FusedMatMul::trans_a), attr("transB", &FusedMatMul::trans_b),
      attr("transBatchA", &FusedMatMul::trans_batch_a), attr("transBatchB", &FusedMatMul::trans_batch_b)};

  // For each axis of the multiplied matrix, the axis of the operand.
  static std::vector<size_t> order(size_t rank, bool swap, bool batch) {
    std::vector<size_t> axes(rank);
    for (size_t i = 0; i < rank; ++i) axes[i] = i;
    if (batch && rank > 2) {
      for (size_t i = 0; i + 2 < rank; ++i) axes[i] = i + 1;
      axes[rank - 2] = 0;
    }
    if (swap && rank > 1) std::swap(axes[rank - 1], axes[rank - 2]);
    return axes;
  }
  std::vector<size_t> order_a(size_t rank) const { return order(rank, trans_a, trans_batch_a); }
  std::vector<size_t> order_b(size_t rank) const { return order(rank, trans_b, trans_batch_b); }
  static Shape permuted(const Shape& s, const std::vector<size_t>& axes) {
    Shape p = s;
    for (size_t i = 0; i < axes.size(); ++i) p[i] = s[axes[i]];
    return p;
  }

  void infer(InferContext& c) const {
    c.set(0, c.dtype(0));
    const Shape a = permuted(c.shape(0), order_a(c.rank(0))), b = permuted(c.shape(1), order_b(c.rank(1)));
    c.set(0, c.dtype(0), infer_matmul(c.dims(), a, b));
  }
  Cost cost(const CostContext& c) const { return product_cost(c, c.extent(0, trans_a && c.rank(0) > 1 ? -2 : -1)); }

  // Copies the operand into the order in which it is multiplied, row-major.
  template <typename T>
  static void copy_permuted(const T* from, const Shape& shape, const std::vector<size_t>& axes, T* to) {
    Shape strides = shape, index = shape;
    int64_t stride = 1;
    for (size_t d = shape.rank(); d-- > 0; stride *= shape[d]) strides[d] = stride;
    std::fill(index.begin(), index.end(), 0);
    const size_t count = element_count(shape);
    for (size_t i = 0; i < count; ++i) {
      int64_t at = 0;
      for (size_t d = 0; d < axes.size(); ++d) at += index[d] * strides[axes[d]];
      to[i] = from[at];
      for (size_t d = axes.size(); d-- > 0; index[d] = 0) {
        if (++index[d] < shape[axes[d]]) break;
      }
    }
  }

  template <std::floating_point T>
  void reference(RunContext& c) const {
    const auto axes_a = order_a(c.shape(0).rank()), axes_b = order_b(c.shape(1).rank());
    std::vector<T> a(c.count(0)), b(c.count(1));
    copy_permuted(c.input<T>(0).data(), c.shape(0), axes_a, a.data());
    copy_permuted(c.input<T>(1).data(), c.shape(1), axes_b, b.data());
    const MatMulShape s = matmul_shape(permuted(c.shape(0), axes_a), permuted(c.shape(1), axes_b));
    T* y = c.output<T>().data();
    for (size_t i = 0; i < s.batch * s.m * s.n; ++i) {
      const size_t matrix = i / (s.m * s.n), row = i / s.n % s.m, column = i % s.n;
      double sum = 0;
      for (size_t k = 0; k < s.k; ++k)
        sum += double(a[s.a_offset(matrix) + row * s.k + k]) * double(b[s.b_offset(matrix) + k * s.n + column]);
      y[i] = T(alpha * sum);
    }
  }

  struct Layout {
    MatMulShape shape;
    std::vector<size_t> axes_a, axes_b;
    bool copy_a, copy_b;  // whether the operand must be reordered first
    size_t bytes_a, bytes_b;
  };
  Layout layout(const RunContext& c) const {
    Layout l;
    l.axes_a = order_a(c.shape(0).rank());
    l.axes_b = order_b(c.shape(1).rank());
    l.shape = matmul_shape(permuted(c.shape(0), l.axes_a), permuted(c.shape(1), l.axes_b));
    l.copy_a = (trans_a && l.axes_a.size() > 1) || (trans_batch_a && l.axes_a.size() > 2);
    l.copy_b = trans_batch_b && l.axes_b.size() > 2;
    l.bytes_a = l.copy_a ? round_up(c.count(0) * sizeof(float), 64) : 0;
    l.bytes_b = l.copy_b ? round_up(c.count(1) * sizeof(float), 64) : 0;
    return l;
  }
  size_t scratch(const RunContext& c) const {
    if (c.dtype(0) != DType::f32) return 0;
    const Layout l = layout(c);
    return l.bytes_a + l.bytes_b + multiply_scratch(l.shape, nullptr, c.parallel().workers());
  }
  void fast(RunContext& c, std::type_identity<float>) const {
    const Layout l = layout(c);
    char* scratch = static_cast<char*>(c.scratch());
    Product p{.shape = l.shape,
              .a = c.input<float>(0).data(),
              .b = c.input<float>(1).data(),
              .b_strides = trans_b && !l.copy_b && l.axes_b.size() > 1 ? Strides{1, l.shape.k} : Strides{l.shape.n, 1},
              .c = c.output<float>().data()};
    if (l.copy_a) p.a = transposed(c, 0, l.axes_a, scratch);
    if (l.copy_b) p.b = transposed(c, 1, l.axes_b, scratch + l.bytes_a);
    multiply(p, scratch + l.bytes_a + l.bytes_b, c.parallel());
    if (alpha == 1) return;
    const kernels::Affine scaled{.scale = alpha, .shift = -0.0f};  // which keeps a result of -0
    for_output_chunks(c, [&](size_t begin, size_t end) {
      float* y = c.output<float>().data() + begin;
      kernels::affine(scaled, y, y, end - begin);
    });
  }

 private:
  static const float* transposed(const RunContext& c, size_t input, const std::vector<size_t>& axes, void* to) {
    const Shape& shape = c.shape(input);
    const Shape order(std::vector<int64_t>(axes.begin(), axes.end()));
    if (const auto copy = kernels::StridedCopy::transpose(shape, order))
      kernels::strided_copy(kernels::byte_mover(sizeof(float)), *copy, to, c.data(input), c.parallel());
    else
      copy_permuted(c.input<float>(input).data(), shape, axes, static_cast<float*>(to));
    return static_cast<const float*>(to);
  }
};

}  // namespace

extern const OpDef op_fused_matmul;
constinit const OpDef op_fused_matmul = define<FusedMatMul>({
    .name = "FusedMatMul",
    .domain = "com.microsoft",
    .since = {1},
    .inputs = {"A: T", "B: T"},
    .outputs = {"Y: T"},
    .types = kFloats,
});

}  // namespace retort::ops
