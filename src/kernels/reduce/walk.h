// Walks the reduced dimensions of a ReducePlan.
#pragma once
#include "kernels/reduce/reduce.h"

namespace retort::kernels {

/// Calls f(offset) for each position of the outer reduced dimensions, in row-major order; f handles the innermost one,
/// whose extent and stride are in inner_run(). Does nothing if an extent is 0.
template <typename F>
inline void for_reduced(const ReducePlan& plan, size_t first, const F& f) {
  if (plan.count == 0) return;
  const ReducePlan::Dims& dims = plan.reduced;
  std::array<size_t, ReducePlan::kMaxRank> index{};
  size_t at = first;
  for (;;) {
    f(at);
    size_t d = dims.rank - 1;
    for (;;) {
      if (d-- == 0) return;
      at += dims.strides[d];
      if (++index[d] < dims.extents[d]) break;
      at -= dims.extents[d] * dims.strides[d];
      index[d] = 0;
    }
  }
}

struct InnerRun {
  size_t extent, stride;
};
inline InnerRun inner_run(const ReducePlan& plan) {
  return {plan.reduced.extents[plan.reduced.rank - 1], plan.reduced.strides[plan.reduced.rank - 1]};
}

}  // namespace retort::kernels
