// Softmax and log-softmax along one axis of [outer, extent, inner]. Thread-safe, no allocation; y may be x.
//
// y = e^(x - max) / Σ e^(x - max), or x - max - log Σ. If a slice is all -inf, or contains +inf or NaN, all
// its results are NaN (as by the formula); otherwise -inf gives 0, or -inf for the logarithm.
#pragma once
#include <cstddef>

#include "base/parallel.h"

namespace retort::kernels {

struct SoftmaxArgs {
  size_t outer = 0, extent = 0, inner = 1;
  const float* x = nullptr;
  float* y = nullptr;
  bool log = false;
};

void softmax(const SoftmaxArgs& args, const Parallel& par) noexcept;
/// The reference of softmax(): plain loops in double. y must not be x.
void softmax_reference(const SoftmaxArgs& args) noexcept;

}  // namespace retort::kernels
