// Convolutions with displaced taps, and the inverse of the largest-element pool. TYPE: the type of elements.

typedef TYPE T;
typedef Compute<T>::type A;

#ifdef DEFORM
struct Deform {
  i64 count;
  int channels, group_in, group_out, offset_groups, in_channels;
  int in[2], out[2], filter[2], stride[2], dilation[2], begin[2];
  int unused;
};

/// One thread computes one element. Offsets: {batch, offset groups, taps, 2, out...}; mask: without the axis of 2. A tap
/// interpolates between four neighbours; those outside of the image are zero.
extern "C" __global__ void __launch_bounds__(256)
    deform(const T* __restrict__ x, const T* __restrict__ w, const T* __restrict__ offset, const T* __restrict__ bias,
           const T* __restrict__ mask, T* __restrict__ y, Deform p) {
  begin_kernel();
  const i64 i = i64(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i >= p.count) return;
  const int places = p.out[0] * p.out[1], taps = p.filter[0] * p.filter[1], pixels = p.in[0] * p.in[1];
  const int at = int(i % places), ow = at % p.out[1], oh = at / p.out[1];
  const int k = int(i / places % p.channels);
  const i64 n = i / places / p.channels;
  const int first = k / p.group_out * p.group_in, each = p.in_channels / p.offset_groups;
  A sum = 0;
  for (int c = first; c < first + p.group_in;) {
    const int group = c / each;
    int end = (group + 1) * each;
    if (end > first + p.group_in) end = first + p.group_in;
    for (int tap = 0; tap < taps; ++tap) {
      const i64 map = (n * p.offset_groups + group) * taps + tap;
      const A h = A(oh * p.stride[0] - p.begin[0] + tap / p.filter[1] * p.dilation[0]) +
                  Compute<T>::load(offset[map * 2 * places + at]);
      const A v = A(ow * p.stride[1] - p.begin[1] + tap % p.filter[1] * p.dilation[1]) +
                  Compute<T>::load(offset[(map * 2 + 1) * places + at]);
      if (!(h > A(-1) && h < A(p.in[0]) && v > A(-1) && v < A(p.in[1]))) continue;
      const int h0 = int(floor(h)), v0 = int(floor(v));
      const A dh = h - A(h0), dv = v - A(v0), m = mask ? Compute<T>::load(mask[map * places + at]) : A(1);
      const bool top = h0 >= 0, bottom = h0 + 1 < p.in[0], left = v0 >= 0, right = v0 + 1 < p.in[1];
      for (int d = c; d < end; ++d) {
        const T* const plane = x + (n * p.in_channels + d) * pixels;
        const i64 corner = i64(h0) * p.in[1] + v0;
        const A a = top && left ? Compute<T>::load(plane[corner]) : A(0);
        const A b = top && right ? Compute<T>::load(plane[corner + 1]) : A(0);
        const A e = bottom && left ? Compute<T>::load(plane[corner + p.in[1]]) : A(0);
        const A f = bottom && right ? Compute<T>::load(plane[corner + p.in[1] + 1]) : A(0);
        const A between = (A(1) - dh) * ((A(1) - dv) * a + dv * b) + dh * ((A(1) - dv) * e + dv * f);
        sum += between * m * Compute<T>::load(w[(i64(k) * p.group_in + d - first) * taps + tap]);
      }
    }
    c = end;
  }
  if (bias) sum += Compute<T>::load(bias[k]);
  y[i] = Compute<T>::store(sum);
}
#endif

#ifdef UNPOOL
struct Unpool {
  i64 count;
  i64 pooled[5], y[5];
};

/// Puts elements at their indices, which count the tensor that was pooled; those outside of `y` vanish.
extern "C" __global__ void __launch_bounds__(256)
    unpool(const T* __restrict__ x, const i64* __restrict__ indices, T* __restrict__ y, Unpool p) {
  begin_kernel();
  const i64 i = i64(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i >= p.count) return;
  i64 rest = indices[i], at = 0, step = 1;
  if (rest < 0) return;
  for (int d = 4; d >= 0; --d) {
    const i64 k = d == 0 ? rest : rest % p.pooled[d];
    if (k >= p.y[d]) return;
    at += k * step;
    step *= p.y[d];
    rest /= p.pooled[d];
  }
  y[at] = x[i];
}
#endif
