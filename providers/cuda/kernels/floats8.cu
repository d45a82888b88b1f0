#include "floats8.cuh"

// The numbers that codes stand for: y = x * scale. `columns`: elements of a row, each of which has its own scale; 0: all
// have one. scale may be null.
extern "C" __global__ void __launch_bounds__(256)
    floats8_numbers(const CODE* x, const float* scale, NUMBER* y, i64 count, i64 columns) {
  const i64 i = i64(blockIdx.x) * 256 + threadIdx.x;
  if (i >= count) return;
  const float factor = scale ? scale[columns ? i / columns : 0] : 1.0f;
  y[i] = Compute<NUMBER>::store(to_float(x[i]) * factor);
}

// The codes of numbers: y = x * factor, saturated.
extern "C" __global__ void __launch_bounds__(256) floats8_codes(const NUMBER* x, const float* factor, CODE* y, i64 count) {
  const i64 i = i64(blockIdx.x) * 256 + threadIdx.x;
  if (i < count) y[i] = Compute<CODE>::store(Compute<NUMBER>::load(x[i]) * factor[0]);
}
