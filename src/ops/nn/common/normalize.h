// References for the normalisation of rows, shared by layer, RMS, group and instance normalisation.
#pragma once
#include <cmath>
#include <span>

#include "ops/op.h"

namespace retort::ops {

struct Moments {
  double mean = 0, inverse_deviation = 0;
};
/// Mean and 1/sqrt(variance + epsilon), computed in two passes.
template <typename T>
Moments moments(std::span<const T> x, double epsilon) {
  double sum = 0, squares = 0;
  for (T v : x) sum += double(v);
  const double mean = x.empty() ? 0 : sum / double(x.size());
  for (T v : x) squares += (double(v) - mean) * (double(v) - mean);
  return {mean, 1 / std::sqrt((x.empty() ? 0 : squares / double(x.size())) + epsilon)};
}
/// 1/sqrt(mean of squares + epsilon).
template <typename T>
double inverse_rms(std::span<const T> x, double epsilon) {
  double squares = 0;
  for (T v : x) squares += double(v) * double(v);
  return 1 / std::sqrt((x.empty() ? 0 : squares / double(x.size())) + epsilon);
}

/// Mean, subtraction, square, scale and shift for each element.
inline Cost normalisation_cost(const CostContext& c) { return {.operations = 5 * c.count(0)}; }

/// A tensor as rows to normalise: axes [axis, rank).
struct Rows {
  size_t count = 1, size = 1;
};
inline Rows rows_of(const Shape& shape, int64_t axis) {
  const size_t a = normalize_axis(axis, shape.rank());
  return {size_t(extent_product(shape, 0, a)), size_t(extent_product(shape, a, shape.rank()))};
}
/// The shape of a statistic per row: extents from `axis` on become 1.
inline Shape statistics_shape(const Shape& shape, size_t axis) {
  Shape s = shape;
  for (size_t i = axis; i < s.rank(); ++i) s[i] = 1;
  return s;
}
/// Throws unless parameter `i` broadcasts to the shape of input 0.
inline void check_parameter(InferContext& c, size_t i) {
  if (!c.has(i) || !c.ranked(i)) return;
  const Shape& x = c.shape(0);
  const Shape both = c.broadcast({0, i});
  if (!(both.rank() == x.rank() && (!all_known(both) || !all_known(x) || both == x)))
    fail(ErrorCode::invalid_argument, "a parameter has shape {}, which does not broadcast to {}",
         c.dims().text(c.shape(i)), c.dims().text(x));
}
/// Throws unless parameter `i` is a vector as long as the last axis of input 0.
inline void check_row_parameter(InferContext& c, size_t i) {
  if (!c.has(i) || !c.ranked(i)) return;
  const Shape &x = c.shape(0), &p = c.shape(i);
  if (!(p.rank() == 1 && !x.empty() && (!is_known(p[0]) || !is_known(x.back()) || p[0] == x.back())))
    fail(ErrorCode::invalid_argument, "a parameter has shape {}, but rows have {} elements", c.dims().text(p),
         c.dims().text(x));
}
/// Whether a parameter that broadcasts to `shape` is the same for all rows [axis, rank).
inline bool is_one_row(const Shape& parameter, const Shape& shape, int64_t axis) {
  const size_t first = normalize_axis(axis, shape.rank()), missing = shape.rank() - parameter.rank();
  for (size_t d = 0; d < shape.rank(); ++d) {
    const int64_t extent = d < missing ? 1 : parameter[d - missing];
    if (extent != (d < first ? 1 : shape[d])) return false;
  }
  return true;
}
/// Whether a broadcast parameter consists of whole rows of the tensor, repeated: its leading extents are 1, the others
/// equal.
inline bool repeats_rows(const Shape& parameter, const Shape& shape) {
  bool ones = true;
  for (size_t i = 0; i < parameter.rank(); ++i) {
    const int64_t extent = shape[shape.rank() - parameter.rank() + i];
    ones = ones && parameter[i] == 1 && extent != 1 && i + 1 < parameter.rank();
    if (!ones && parameter[i] != extent) return false;
  }
  return parameter.rank() > 0;
}
/// The index of the element of `parameter`, which broadcasts (numpy's rule) to `shape`, for linear index i.
inline size_t broadcast_index(const Shape& shape, const Shape& parameter, size_t i) {
  size_t index = 0, scale = 1;
  for (size_t d = shape.rank(), p = parameter.rank(); d-- > 0 && p > 0;) {
    const size_t extent = size_t(shape[d]), mine = size_t(parameter[--p]);
    if (mine != 1) index += i % extent * scale;
    scale *= mine;
    i /= extent;
  }
  return index;
}

}  // namespace retort::ops
