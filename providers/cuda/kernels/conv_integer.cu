// Convolutions of 8-bit integers, exact: one thread computes one element. XT, WT: the types of tensor and filter.
// YT: the type of the result; int: the bare sum, otherwise it is scaled and rounded to 8 bits.

struct Convolution {
  i64 count;
  int channels, group_in, group_out;
  int in[3], out[3], filter[3], stride[3], dilation[3], begin[3];
  int each_zero, each_scale;  // 1: the filter has a zero point or scale for each output
};

extern "C" __global__ void __launch_bounds__(256)
    convolve(const XT* __restrict__ x, const WT* __restrict__ w, const XT* __restrict__ x_zero,
             const WT* __restrict__ w_zero, const float* __restrict__ x_scale, const float* __restrict__ w_scale,
             const float* __restrict__ y_scale, const YT* __restrict__ y_zero, const int* __restrict__ bias,
             YT* __restrict__ y, Convolution p) {
  begin_kernel();
  const i64 i = i64(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i >= p.count) return;
  i64 rest = i;
  int at[3];
#pragma unroll
  for (int d = 2; d >= 0; --d) {
    at[d] = int(rest % p.out[d]) * p.stride[d] - p.begin[d];
    rest /= p.out[d];
  }
  const int k = int(rest % p.channels);
  rest /= p.channels;
  const int groups = p.channels / p.group_out;
  const i64 places = i64(p.in[0]) * p.in[1] * p.in[2];
  const int taps = p.filter[0] * p.filter[1] * p.filter[2];
  const XT* const from = x + (rest * groups * p.group_in + k / p.group_out * p.group_in) * places;
  const WT* const filter = w + i64(k) * p.group_in * taps;
  const int xz = x_zero ? x_zero[0] : 0, wz = w_zero ? w_zero[p.each_zero * k] : 0;
  int sum = 0;
  for (int f0 = 0; f0 < p.filter[0]; ++f0) {
    const int a0 = at[0] + f0 * p.dilation[0];
    if (a0 < 0 || a0 >= p.in[0]) continue;
    for (int f1 = 0; f1 < p.filter[1]; ++f1) {
      const int a1 = at[1] + f1 * p.dilation[1];
      if (a1 < 0 || a1 >= p.in[1]) continue;
      for (int f2 = 0; f2 < p.filter[2]; ++f2) {
        const int a2 = at[2] + f2 * p.dilation[2];
        if (a2 < 0 || a2 >= p.in[2]) continue;
        const XT* const place = from + (i64(a0) * p.in[1] + a1) * p.in[2] + a2;
        const WT* const tap = filter + (f0 * p.filter[1] + f1) * p.filter[2] + f2;
#pragma unroll 4
        for (int c = 0; c < p.group_in; ++c) sum += (int(place[c * places]) - xz) * (int(tap[i64(c) * taps]) - wz);
      }
    }
  }
#ifdef SUM
  y[i] = sum;
#else
  if (bias) sum += bias[k];
  const float scaled = float(sum) * (x_scale[0] * w_scale[p.each_scale * k] / y_scale[0]);
  const float least = YT(-1) < YT(0) ? -128.0f : 0.0f;
  const float v = rintf(scaled) + float(y_zero ? y_zero[0] : YT(0));
  y[i] = YT(int(v < least ? least : v > least + 255.0f ? least + 255.0f : v));
#endif
}
