// Pools of small planes: 16 of them at a time, one in each lane, so that no vector is filled by a short line in part.
#pragma once
#include "base/function_ref.h"
#include "kernels/conv/taps.h"
#include "kernels/pool/pool.h"

namespace retort::kernels {

/// Whether pool_planes takes planes of this shape (NCHW).
bool pools_planes(const PoolShape& shape);

/// As pool_nchw; pools_planes(args.shape) must hold. Sums run over the rows of a window, then over its columns. Calls
/// rest(row0, row1) for the output rows of planes that it leaves out: the maxima of up to 16 of which one has NaN.
void pool_planes(const PoolArgs& args, FunctionRef<void(size_t, size_t)> rest, const Parallel& par) noexcept;

namespace pool_detail {

constexpr size_t kPlanes = 16;  // a cache line of each pixel

/// Output rows [y0, y1) of kPlanes planes, which alternate: [rows, columns, kPlanes].
struct PlaneStrip {
  size_t y0, y1;
  size_t row;              // the image's row that `in` begins with
  const float* in;         // all rows that the windows have
  float *line, *out;       // a line of the image; the strip's result
  const TapRange* across;  // for each output column: the image's columns [first, last) that its window has
  const float* counts;     // and how many of them the divisor of a mean counts
};

}  // namespace pool_detail

}  // namespace retort::kernels
