#include <algorithm>

#include "kernels/reduce/reduce.h"

namespace retort::kernels {
namespace {

bool append(ReducePlan::Dims& dims, size_t extent, size_t stride) {
  if (dims.rank == ReducePlan::kMaxRank) return false;
  dims.extents[dims.rank] = extent;
  dims.strides[dims.rank++] = stride;
  return true;
}

void reverse(ReducePlan::Dims& dims) {
  std::reverse(dims.extents.begin(), dims.extents.begin() + ptrdiff_t(dims.rank));
  std::reverse(dims.strides.begin(), dims.strides.begin() + ptrdiff_t(dims.rank));
}

}  // namespace

std::optional<ReducePlan> ReducePlan::make(std::span<const int64_t> shape, std::span<const int64_t> axes) noexcept {
  ReducePlan plan;
  size_t stride = 1;
  // The kind of the dimension appended last; the plan is built from the innermost dimension outwards.
  Dims* last = nullptr;
  for (size_t d = shape.size(); d-- > 0;) {
    const size_t extent = size_t(shape[d]);
    if (extent == 1) continue;
    const bool reduce = std::find(axes.begin(), axes.end(), int64_t(d)) != axes.end();
    Dims& dims = reduce ? plan.reduced : plan.kept;
    (reduce ? plan.count : plan.outputs) *= extent;
    if (!last) plan.rows = reduce;
    if (last == &dims) {
      dims.extents[dims.rank - 1] *= extent;
    } else if (!append(dims, extent, stride)) {
      return std::nullopt;
    }
    last = &dims;
    stride *= extent;
  }
  if (plan.reduced.rank == 0) append(plan.reduced, 1, 0);  // at least one, so that loops need no special case
  if (plan.kept.rank == 0) append(plan.kept, 1, 0);
  reverse(plan.reduced);
  reverse(plan.kept);
  return plan;
}

size_t ReducePlan::offset(size_t output) const {
  size_t at = 0;
  for (size_t d = kept.rank; d-- > 1;) {
    at += output % kept.extents[d] * kept.strides[d];
    output /= kept.extents[d];
  }
  return at + output * kept.strides[0];
}

}  // namespace retort::kernels
