// Rows of features, the input of ai.onnx.ml operators: numbers of several types, read as floats.
#pragma once
#include "base/checked.h"
#include "kernels/elementwise/cast.h"
#include "ops/elementwise.h"
#include "ops/op.h"

namespace retort::ops {

inline constexpr TypeSet kFeatureTypes = types({DType::f32, DType::f64, DType::i64, DType::i32});

template <typename T>
concept Feature = OneOf<T, float, double, int64_t, int32_t>;

/// Calls f(std::type_identity<T>) for the element type of features. Throws invalid_graph for other types.
template <class F>
void visit_features(DType type, const F& f) {
  switch (type) {
    case DType::f32:
      return f(std::type_identity<float>{});
    case DType::f64:
      return f(std::type_identity<double>{});
    case DType::i64:
      return f(std::type_identity<int64_t>{});
    case DType::i32:
      return f(std::type_identity<int32_t>{});
    default:
      fail(ErrorCode::invalid_graph, "features of {} are not allowed", dtype_name(type));
  }
}

/// The number of rows of X, [N, features] or, for one row, [features]. Throws invalid_argument for other shapes.
inline Dim infer_rows(InferContext& c, size_t features) {
  const Shape& x = c.shape(0);
  require((x.rank() == 1 || x.rank() == 2) && may_equal(x.back(), int64_t(features)), ErrorCode::invalid_argument,
          "X has shape {}, expected [N, {}] or [{}]", c.dims().text(x), features, features);
  return x.rank() == 2 ? x[0] : 1;
}

/// Number of elements in one set of features: the extent of axis 1, or all of a vector. Later axes do not count, as in
/// ONNX Runtime; ONNX specifies the last axis.
inline Dim features_of(const Shape& x) { return x.rank() == 1 ? x[0] : x[1]; }

/// Input 0, of rank 1 or 2, as rows of T, one block at a time.
template <typename T = float>
struct FeatureBlocks {
  static constexpr size_t kRows = 64;
  size_t rows = 0, columns = 0;

  explicit FeatureBlocks(const RunContext& c, size_t most_rows = kRows)
      : rows(c.shape(0).rank() == 1 ? 1 : size_t(c.shape(0)[0])),
        columns(size_t(c.shape(0).back())),
        block_(most_rows) {}

  /// Elements of working memory that each worker needs for rows of another type.
  size_t scratch(const RunContext& c) const { return c.dtype(0) == dtype_of<T> ? 0 : block_ * columns; }

  /// Calls f(first row, rows, x, space) on all threads. x points to the rows in the input or to converted ones. `space`
  /// is working memory with `each` elements per worker; the first scratch() are used here, and f gets the rest.
  template <class F>
  void for_each(const RunContext& c, T* space, size_t each, const F& f) const {
    const DType type = c.dtype(0);
    c.parallel().for_each(ceil_div(rows, block_), [&](size_t i, int worker) {
      const size_t first = i * block_, count = rows - first < block_ ? rows - first : block_;
      T* own = space + size_t(worker) * each;
      const char* from = static_cast<const char*>(c.data(0)) + dtype_bytes(type, first * columns);
      if (type == dtype_of<T>) return f(first, count, reinterpret_cast<const T*>(from), own);
      kernels::cast(from, type, own, dtype_of<T>, count * columns, Parallel());
      f(first, count, static_cast<const T*>(own), own + block_ * columns);
    });
  }

 private:
  size_t block_;
};

}  // namespace retort::ops
