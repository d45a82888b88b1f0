// Codes with a scale for each block along an axis, to numbers and back. A tensor is [outer, length, inner].
// Defines: FROM, TO: types of the elements; SCALE: type of the scales; ZERO: type of the zero points; QUANTIZE: 1 for
// codes of numbers, LOWEST and HIGHEST among them.
struct Extents {
  i64 count, length, inner, block, outer_step, block_step, inner_step;
};

extern "C" __global__ void __launch_bounds__(256)
    blocked(const FROM* __restrict__ x, const SCALE* __restrict__ scale, const ZERO* __restrict__ zero,
            TO* __restrict__ y, Extents e) {
  begin_kernel();
  const i64 i = i64(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i >= e.count) return;
  const i64 row = i / e.inner, outer = row / e.length;
  const i64 at =
      outer * e.outer_step + (row - outer * e.length) / e.block * e.block_step + (i - row * e.inner) * e.inner_step;
  const float s = Compute<SCALE>::load(scale[at]), z = zero ? float(Compute<ZERO>::load(zero[at])) : 0.0f;
  const float v = float(Compute<FROM>::load(x[i]));
#if QUANTIZE
  const float code = rintf(v / s) + z;
  y[i] = TO(code >= float(HIGHEST) ? HIGHEST : code > float(LOWEST) ? int(code) : LOWEST);
#else
  y[i] = Compute<TO>::store((v - z) * s);
#endif
}
