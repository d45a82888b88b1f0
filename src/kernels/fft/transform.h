// What fft.cc gives plan.cc.
#pragma once
#include "kernels/fft/fft.h"

namespace retort::kernels {

/// The transform of core() numbers, planes one behind the other, in place, by the passes alone. `scratch` as large.
void fft_core(const FftPlan& plan, const float* table, float* planes, float* scratch) noexcept;

}  // namespace retort::kernels
