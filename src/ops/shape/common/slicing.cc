#include "ops/shape/common/slicing.h"

#include <limits>

#include "base/error.h"

namespace retort::ops {
namespace {

// Bounds beyond this mean "to the end of the axis", whatever the extent.
constexpr int64_t kFar = int64_t(1) << 30;

// For negative steps, ONNX defines the smallest number as "to the beginning". Exporters also write the largest, and
// ONNX Runtime accepts it, although NumPy would return an empty slice.
bool to_the_front(int64_t end, int64_t step) {
  return step < 0 && (end == std::numeric_limits<int64_t>::max() || end == std::numeric_limits<int32_t>::max());
}

// A bound relative to the axis: `offset` from its beginning (>= 0, may be a symbol) or from its end (a number <= 0).
struct Bound {
  bool from_end = false;
  Dim offset = 0;
};

// Returns nullopt if the sign is unknown.
std::optional<Bound> bound_of(DimTable& dims, Dim given, Dim extent) {
  if (is_known(given)) {
    if (given >= kFar) return Bound{true, 0};
    if (given <= -kFar) return Bound{false, 0};
    return Bound{given < 0, given};
  }
  if (given == extent) return Bound{true, 0};
  const Dim difference = is_symbolic(extent) ? dims.sub(given, extent) : kSymbolBase;
  if (is_known(difference)) {  // extent + c
    if (difference >= 0) return Bound{true, 0};
    return dims.nonnegative(given) ? std::optional(Bound{true, difference}) : std::nullopt;
  }
  return dims.nonnegative(given) ? std::optional(Bound{false, given}) : std::nullopt;
}

// max(d - by, 0)
Dim less(DimTable& dims, Dim d, Dim by) {
  const Dim rest = dims.sub(d, by);
  return dims.nonnegative(rest) ? rest : dims.max(rest, 0);
}

// The number of elements of [start, end) within [0, extent).
Dim length(DimTable& dims, const Bound& start, const Bound& end, Dim extent) {
  if (!start.from_end && start.offset == 0) {
    if (end.from_end) return end.offset == 0 ? extent : less(dims, extent, -end.offset);
    return dims.min(end.offset, extent);
  }
  if (!start.from_end && end.from_end) return less(dims, extent, dims.sub(start.offset, end.offset));
  if (!start.from_end && !end.from_end) {
    const Dim wanted = dims.sub(end.offset, start.offset);
    if (is_known(wanted) && wanted <= 0) return 0;
    return dims.nonnegative(wanted) ? dims.min(less(dims, extent, start.offset), wanted) : dims.fresh_extent();
  }
  if (start.from_end && end.from_end) {
    const int64_t wanted = end.offset - start.offset;
    return wanted <= 0 ? 0 : dims.min(end.offset == 0 ? extent : less(dims, extent, -end.offset), wanted);
  }
  return dims.fresh_extent();
}

}  // namespace

AxisSlice slice_axis(int64_t start, int64_t end, int64_t step, int64_t extent) {
  require(step != 0, ErrorCode::invalid_argument, "the step of a slice is 0");
  const int64_t low = step > 0 ? 0 : -1, high = step > 0 ? extent : extent - 1;
  const auto clamp = [&](int64_t b, int64_t lowest) { return std::clamp(b < 0 ? b + extent : b, lowest, high); };
  if (extent == 0) return {0, step, 0};
  AxisSlice s{clamp(start, 0), step, 0};
  const int64_t stop = to_the_front(end, step) ? low : clamp(end, low);
  const int64_t distance = step > 0 ? stop - s.start : s.start - stop;
  const uint64_t stride = step > 0 ? uint64_t(step) : 0 - uint64_t(step);
  if (distance > 0) s.count = int64_t((uint64_t(distance) - 1) / stride) + 1;
  return s;
}

Dim slice_extent(DimTable& dims, Dim start, Dim end, int64_t step, Dim extent) {
  if (is_known(start) && is_known(end) && is_known(extent)) return slice_axis(start, end, step, extent).count;
  if (step == -1 && is_known(start) && is_known(end) && start == -1 && (end <= -kFar || to_the_front(end, step)))
    return extent;  // reversed
  if (step < 1) return dims.fresh_extent();
  const auto from = bound_of(dims, start, extent), to = bound_of(dims, end, extent);
  if (!from || !to) return dims.fresh_extent();
  const Dim n = length(dims, *from, *to, extent);
  return step == 1 ? n : dims.div(dims.add(n, step - 1), step);
}

}  // namespace retort::ops
