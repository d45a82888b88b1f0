// com.microsoft.SparseToDenseMatMul: alpha times the product of a sparse matrix and a dense one. A matrix that the
// model has as an initializer is dense by now, and its product is a MatMul (lift/rules/sparse_matmul.cc).
#include "base/checked.h"
#include "ops/op.h"

namespace retort::ops {
namespace {

struct SparseToDenseMatMul {
  float alpha = 1;
  bool trans_a = false, trans_b = false;
  static constexpr std::tuple attributes{attr("alpha", &SparseToDenseMatMul::alpha),
                                         attr("transA", &SparseToDenseMatMul::trans_a),
                                         attr("transB", &SparseToDenseMatMul::trans_b)};

  // The extents of a sparse tensor are known only in a run.
  void infer(InferContext& c) const {
    c.set(0, c.dtype(1));
    const ValueType& a = c.type(0);  // of unknown kind in a run, which checks the value itself
    require(!a.is_tensor(), ErrorCode::invalid_argument, "A is no sparse tensor; use MatMul for dense ones");
    require(a.dtype == DType::undefined || a.dtype == c.dtype(1), ErrorCode::invalid_argument,
            "A is of type {} and B of type {}; cast one", dtype_name(a.dtype), dtype_name(c.dtype(1)));
    const Shape& b = c.shape(1);
    require(b.rank() == 2, ErrorCode::invalid_argument, "B has shape {}, expected a matrix", c.dims().text(b));
    c.set(0, c.dtype(1), Shape{c.unknown_extent(), b[trans_b ? 0 : 1]});
  }

  void run(RunContext& c) const {
    const auto* a = c.in_slot(0).boxed.get<SparseTensor>();
    require(a && a->indices, ErrorCode::invalid_argument, "A has no values; fill it");
    require(a->values.dtype() == c.dtype(1), ErrorCode::invalid_argument, "A is of type {} and B of type {}",
            dtype_name(a->values.dtype()), dtype_name(c.dtype(1)));
    switch (c.dtype(1)) {
      case DType::f32:
        return multiply<float>(c, *a);
      case DType::f64:
        return multiply<double>(c, *a);
      case DType::i32:
        return multiply<int32_t>(c, *a);
      case DType::i64:
        return multiply<int64_t>(c, *a);
      case DType::u32:
        return multiply<uint32_t>(c, *a);
      default:
        return multiply<uint64_t>(c, *a);
    }
  }

 private:
  template <std::floating_point T>
  T scaled(T value) const {
    return value * T(alpha);
  }
  template <std::integral T>
  T scaled(T value) const {
    require(alpha == 1, ErrorCode::not_implemented, "alpha is {} for whole numbers, expected 1", alpha);
    return value;
  }

  struct Place {
    int64_t row, column;
  };

  /// Calls f(place, number) for the values of the matrix, which may have any order.
  template <typename F>
  static void for_each_value(const SparseTensor& a, F&& f) {
    using Format = SparseTensor::Format;
    const int64_t* const indices = a.indices.data<int64_t>();
    const size_t count = a.values.count();
    const int64_t columns = a.dense_shape[1];
    if (a.format == Format::csr) {
      const int64_t* const inner = a.inner_indices.data<int64_t>();
      for (size_t row = 0; row + 1 < a.indices.count(); ++row) {
        for (int64_t i = indices[row]; i < indices[row + 1]; ++i) f(Place{int64_t(row), inner[i]}, size_t(i));
      }
    } else if (a.indices.shape().rank() == 1) {
      for (size_t i = 0; i < count; ++i) f(Place{indices[i] / columns, indices[i] % columns}, i);
    } else {
      for (size_t i = 0; i < count; ++i) f(Place{indices[2 * i], indices[2 * i + 1]}, i);
    }
  }

  static void check(const SparseTensor& a) {
    using Format = SparseTensor::Format;
    require(a.dense_shape.rank() == 2, ErrorCode::invalid_argument, "A has shape {}, expected a matrix",
            to_string(a.dense_shape));
    require(a.format == Format::coo || a.format == Format::csr, ErrorCode::not_implemented,
            "A consists of blocks; give it as COO or CSR");
    const size_t count = a.values.count(), given = a.indices.count();
    require(count <= element_count(a.dense_shape), ErrorCode::invalid_argument, "A has {} values and shape {}", count,
            to_string(a.dense_shape));
    const bool fits = a.format == Format::csr
                          ? a.inner_indices.count() == count && (given == 0 || given == size_t(a.dense_shape[0]) + 1)
                          : given == count * a.indices.shape().rank() && a.indices.shape().rank() <= 2;
    require(fits, ErrorCode::invalid_argument, "A has {} values and {} indices", count, given);
    if (a.format == Format::csr && given > 0) check_row_starts(a);
  }
  static void check_row_starts(const SparseTensor& a) {
    int64_t before = 0;
    for (size_t i = 0; i < a.indices.count(); ++i) {
      const int64_t start = a.indices.data<int64_t>()[i];
      require(start >= before && size_t(start) <= a.values.count(), ErrorCode::invalid_argument,
              "row start {} of A is {}, expected {} to {}", i, start, before, a.values.count());
      before = start;
    }
  }

  template <typename T>
  void multiply(RunContext& c, const SparseTensor& a) const {
    check(a);
    const Shape& b = c.shape(1);
    const int64_t rows = a.dense_shape[trans_a ? 1 : 0], inner = a.dense_shape[trans_a ? 0 : 1];
    require(b[trans_b ? 1 : 0] == inner, ErrorCode::invalid_argument,
            "A has shape {} and B {}; the inner extents {} and {} must be equal", to_string(a.dense_shape),
            to_string(b), inner, b[trans_b ? 1 : 0]);
    const int64_t columns = b[trans_b ? 0 : 1];
    T* const y = static_cast<T*>(c.allocate(0, c.dtype(1), Shape{rows, columns}));
    std::fill_n(y, checked_mul(size_t(rows), size_t(columns), "the product"), T(0));
    const T* const values = a.values.data<T>();
    const T* const dense = c.input<T>(1).data();
    for_each_value(a, [&](Place at, size_t i) {
      require(at.row >= 0 && at.row < a.dense_shape[0] && at.column >= 0 && at.column < a.dense_shape[1],
              ErrorCode::invalid_argument, "value {} of A is at [{}, {}], outside of its shape {}", i, at.row,
              at.column, to_string(a.dense_shape));
      const int64_t row = trans_a ? at.column : at.row, k = trans_a ? at.row : at.column;
      const int64_t begin = trans_b ? k : k * columns, step = trans_b ? inner : 1;
      const T value = scaled(values[i]);
      for (int64_t j = 0; j < columns; ++j) y[row * columns + j] += value * dense[begin + j * step];
    });
  }
};

}  // namespace

extern const OpDef op_sparse_to_dense_matmul;
constinit const OpDef op_sparse_to_dense_matmul = define<SparseToDenseMatMul>({
    .name = "SparseToDenseMatMul",
    .domain = "com.microsoft",
    .since = {1},
    .inputs = {"A: U", "B: T"},
    .outputs = {"Y: T"},
    .types = types({DType::f32, DType::f64, DType::i32, DType::i64, DType::u32, DType::u64}),
    .traits = kBoxed | kDynamicOutput,
});

}  // namespace retort::ops
