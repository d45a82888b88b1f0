// The arithmetic of Slice: which elements of an axis remain.
#pragma once
#include "tensor/dims.h"

namespace retort::ops {

/// Elements start, start + step, …, `count` of them.
struct AxisSlice {
  int64_t start = 0, step = 1, count = 0;
};
/// start, end: as given, clamped here as the ONNX spec says. Throws invalid_argument when step is 0.
AxisSlice slice_axis(int64_t start, int64_t end, int64_t step, int64_t extent);
/// The count alone, with symbols anywhere but in `step`; a fresh symbol where their signs are not known.
Dim slice_extent(DimTable& dims, Dim start, Dim end, int64_t step, Dim extent);

}  // namespace retort::ops
