// A view of tensors along one axis, as [outer, extent, inner].
#pragma once
#include "ops/op.h"

namespace retort::ops {

struct AxisView {
  size_t outer = 1, extent = 1, inner = 1;
};
inline AxisView along(const Shape& shape, int64_t axis) {
  const size_t a = normalize_axis(axis, shape.rank());
  return {size_t(extent_product(shape, 0, a)), size_t(shape[a]), size_t(extent_product(shape, a + 1, shape.rank()))};
}
/// Shape inference of ops that keep the shape of input 0 and work along an axis.
inline void infer_along(InferContext& c, int64_t axis) {
  c.set(0, c.dtype(0));
  c.axis(axis, c.rank(0));
  c.set(0, c.dtype(0), c.shape(0));
}
/// Calls f(x, y, stride) for each line of `extent` elements, `stride` apart, of input 0 and output 0.
template <typename T, typename F>
void for_each_line(RunContext& c, const AxisView& v, F&& f) {
  if (v.extent == 0) return;  // no elements, whatever the number of lines
  const T* x = c.input<T>(0).data();
  T* y = c.output<T>().data();
  for (size_t o = 0; o < v.outer; ++o) {
    for (size_t i = 0; i < v.inner; ++i) {
      const size_t start = o * v.extent * v.inner + i;
      f(x + start, y + start, v.inner);
    }
  }
}

}  // namespace retort::ops
