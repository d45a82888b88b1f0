// The function of fft.cc that plan.cc uses.
#pragma once
#include "kernels/fft/fft.h"

namespace retort::kernels {

/// Transforms core() numbers in place by the passes alone; the planes follow each other. `scratch` has the same size.
void fft_core(const FftPlan& plan, const float* table, float* planes, float* scratch) noexcept;

}  // namespace retort::kernels
