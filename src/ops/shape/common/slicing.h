// The arithmetic of Slice: determines which elements of an axis remain.
#pragma once
#include "tensor/dims.h"

namespace retort::ops {

/// `count` elements: start, start + step, ….
struct AxisSlice {
  int64_t start = 0, step = 1, count = 0;
};
/// start and end are as given, and are clamped here as ONNX specifies. Throws invalid_argument if step is 0.
AxisSlice slice_axis(int64_t start, int64_t end, int64_t step, int64_t extent);
/// The count alone. All arguments except `step` may be symbolic; returns a new symbol if their signs are not known.
Dim slice_extent(DimTable& dims, Dim start, Dim end, int64_t step, Dim extent);

}  // namespace retort::ops
