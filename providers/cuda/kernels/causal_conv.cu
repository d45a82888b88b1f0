// A convolution of each channel with the samples before it, which begin with those of a state; and the next state.
// Defines: STORED; LAST: 1 if the channels are last; SILU: 1 if the result is multiplied by its sigmoid.
typedef STORED T;

struct Extents {
  i64 count;  // of threads: results and elements of the next state
  i64 channels, length;
  int taps, dilation, kept, unused;
};

/// The place of a sample in a tensor with `length` samples of each channel.
__device__ inline i64 place(const Extents& x, i64 b, i64 c, i64 t, i64 length) {
  return LAST ? (b * length + t) * x.channels + c : (b * x.channels + c) * length + t;
}

extern "C" __global__ void __launch_bounds__(256)
    causal_conv(const T* __restrict__ in, const T* __restrict__ weight, const T* __restrict__ bias,
                const T* __restrict__ past, T* __restrict__ y, T* __restrict__ present, Extents x) {
  begin_kernel();
  const i64 i = i64(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i >= x.count) return;
  const i64 both = x.length + x.kept, outer = LAST ? i / x.channels : i / both;
  const i64 c = LAST ? i % x.channels : outer % x.channels, t = LAST ? outer % both : i % both;
  const i64 b = LAST ? outer / both : outer / x.channels;
  const auto sample = [&](i64 at) {
    if (at >= 0) return Compute<T>::load(in[place(x, b, c, at, x.length)]);
    return past ? Compute<T>::load(past[place(x, b, c, at + x.kept, x.kept)]) : 0.0f;
  };
  if (t >= x.length) {
    if (present) present[place(x, b, c, t - x.length, x.kept)] = Compute<T>::store(sample(t - x.kept));
    return;
  }
  float sum = bias ? Compute<T>::load(bias[c]) : 0.0f;
  for (int k = 0; k < x.taps; ++k)
    sum += Compute<T>::load(weight[c * x.taps + k]) * sample(t - x.kept + i64(k) * x.dilation);
  if (SILU) sum = sum / (1.0f + expf(-sum));
  y[place(x, b, c, t, x.length)] = Compute<T>::store(sum);
}
