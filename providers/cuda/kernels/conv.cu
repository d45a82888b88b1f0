// What surrounds convolutions of cuDNN, and convolutions without it. TYPE: the type of elements. ACT: the number of the
// activation in core/convolutions.h. VEC: elements of one access. INDEX: int, or i64 for tensors of 2^31 elements.

typedef TYPE T;
#ifndef ACT
#define ACT 0
#endif
#ifndef VEC
#define VEC 1
#endif
#ifndef INDEX
#define INDEX i64
#endif

__device__ inline float activate(float v, float alpha, float beta) {
#if ACT == 1
  return v < 0.0f ? 0.0f : v;
#elif ACT == 2
  v = v < alpha ? alpha : v;
  return v > beta ? beta : v;
#elif ACT == 3
  return v < 0.0f ? v * alpha : v;
#elif ACT == 4
  return 1.0f / (1.0f + expf(-v));
#elif ACT == 5
  return tanhf(v);
#elif ACT == 6
  return v / (1.0f + expf(-alpha * v));
#elif ACT == 7 || ACT == 8
  float h = alpha * v + beta;
  h = h < 0.0f ? 0.0f : h > 1.0f ? 1.0f : h;
#if ACT == 7
  return h;
#else
  return v * h;
#endif
#else
  return v;
#endif
}

struct __align__(VEC * sizeof(T)) Vec {
  T v[VEC];
};
__device__ inline float load(T v) { return float(Compute<T>::load(v)); }
__device__ inline T store(float v) { return Compute<T>::store(v); }

#ifdef EPILOGUE
/// y = activation(y + residual + bias[channel]) in place. `bias` and `residual` may be null. `inner`: elements that
/// follow each other within one channel; 1: the channels are last.
extern "C" __global__ void __launch_bounds__(256)
    epilogue(T* __restrict__ y, const T* __restrict__ bias, const T* __restrict__ residual, INDEX vectors, int channels,
             int inner, float alpha, float beta) {
  begin_kernel();
  const INDEX i = INDEX(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i >= vectors) return;
  Vec v = reinterpret_cast<Vec*>(y)[i];
  Vec r;
  if (residual) r = reinterpret_cast<const Vec*>(residual)[i];
  const int channel = bias ? int(i * VEC / inner % channels) : 0;
#pragma unroll
  for (int j = 0; j < VEC; ++j) {
    float f = load(v.v[j]);
    if (residual) f += load(r.v[j]);
    if (bias) f += load(bias[inner == 1 ? channel + j : channel]);
    v.v[j] = store(activate(f, alpha, beta));
  }
  reinterpret_cast<Vec*>(y)[i] = v;
}
#endif

#ifdef BROADCAST
/// The same where the residual has another shape of the same rank. Strides are 0 along axes of size 1.
struct Broadcast {
  i64 count;
  i64 dims[5], from[5], residual[5], to[5];
  int bias_channels;
};
extern "C" __global__ void __launch_bounds__(256)
    epilogue_broadcast(const T* __restrict__ from, const T* __restrict__ bias, const T* __restrict__ residual,
                       T* __restrict__ to, Broadcast p, float alpha, float beta) {
  begin_kernel();
  const i64 i = i64(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i >= p.count) return;
  i64 rest = i, a = 0, b = 0, t = 0, channel = 0;
  for (int d = 4; d >= 0; --d) {
    const i64 at = rest % p.dims[d];
    rest /= p.dims[d];
    a += at * p.from[d];
    b += at * p.residual[d];
    t += at * p.to[d];
    if (d == 1) channel = at;
  }
  float f = load(from[a]) + load(residual[b]);
  if (bias) f += load(bias[p.bias_channels == 1 ? 0 : channel]);
  to[t] = store(activate(f, alpha, beta));
}
#endif

#ifdef PAD
/// Copies a tensor of 3 spatial axes into a larger one with zeros around, VEC channels per thread where the output's
/// channels are last (LAST), one element otherwise.
struct Pad {
  i64 count;  // of threads
  int channels, padded;
  int in[3], out[3], begin[3];
  i64 n, c, s[3];  // strides of the input
};
extern "C" __global__ void __launch_bounds__(256) pad(const T* __restrict__ x, T* __restrict__ y, Pad p) {
  begin_kernel();
  const INDEX i = INDEX(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i >= INDEX(p.count)) return;
  INDEX rest = i;
  int c, at[3];
#ifdef LAST
  c = int(rest % (p.padded / VEC)) * VEC;
  rest /= p.padded / VEC;
#endif
  for (int d = 2; d >= 0; --d) {
    at[d] = int(rest % p.out[d]) - p.begin[d];
    rest /= p.out[d];
  }
#ifndef LAST
  c = int(rest % p.padded);
  rest /= p.padded;
#endif
  bool within = true;
  i64 from = rest * p.n + c * p.c;
  for (int d = 0; d < 3; ++d) {
    within = within && at[d] >= 0 && at[d] < p.in[d];
    from += at[d] * p.s[d];
  }
  Vec v;
#pragma unroll
  for (int j = 0; j < VEC; ++j) v.v[j] = within && c + j < p.channels ? x[from + j * p.c] : store(0.0f);
  reinterpret_cast<Vec*>(y)[i] = v;
}
#endif

#ifdef DIRECT
/// One thread computes one element: for shapes that no engine of cuDNN supports, and as the reference in tests.
/// `group_in`: channels of x that an output reads; `group_out`: channels of y in a group.
struct Direct {
  i64 count;
  int channels, group_in, group_out, last;
  int in[3], out[3], filter[3], stride[3], dilation[3], begin[3];
  i64 xn, xc, xs[3], wk, wc, ws[3], yn, yc, ys[3];
};
extern "C" __global__ void __launch_bounds__(256)
    direct(const T* __restrict__ x, const T* __restrict__ w, const T* __restrict__ bias, const T* __restrict__ residual,
           T* __restrict__ y, Direct p, float alpha, float beta) {
  begin_kernel();
  const INDEX i = INDEX(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i >= INDEX(p.count)) return;
  INDEX rest = i;
  int k = 0, at[3];
  if (p.last) {
    k = int(rest % p.channels);
    rest /= p.channels;
  }
  for (int d = 2; d >= 0; --d) {
    at[d] = int(rest % p.out[d]);
    rest /= p.out[d];
  }
  if (!p.last) {
    k = int(rest % p.channels);
    rest /= p.channels;
  }
  const int first = k / p.group_out * p.group_in;
  float sum = 0;
  for (int f0 = 0; f0 < p.filter[0]; ++f0)
    for (int f1 = 0; f1 < p.filter[1]; ++f1)
      for (int f2 = 0; f2 < p.filter[2]; ++f2) {
        const int f[3] = {f0, f1, f2};
        i64 from = rest * p.xn + first * p.xc, tap = 0;
        bool within = true;
        for (int d = 0; d < 3; ++d) {
#ifdef TRANSPOSED
          int a = at[d] + p.begin[d] - f[d] * p.dilation[d];
          within = within && a >= 0 && a % p.stride[d] == 0;
          a /= p.stride[d];
#else
          const int a = at[d] * p.stride[d] + f[d] * p.dilation[d] - p.begin[d];
#endif
          within = within && a >= 0 && a < p.in[d];
          from += a * p.xs[d];
          tap += f[d] * p.ws[d];
        }
        if (!within) continue;
#ifdef TRANSPOSED
        tap += first * p.wk + k % p.group_out * p.wc;
        for (int c = 0; c < p.group_in; ++c) sum += load(x[from + c * p.xc]) * load(w[tap + c * p.wk]);
#else
        tap += k * p.wk;
        for (int c = 0; c < p.group_in; ++c) sum += load(x[from + c * p.xc]) * load(w[tap + c * p.wc]);
#endif
      }
  i64 to = rest * p.yn + k * p.yc;
  for (int d = 0; d < 3; ++d) to += at[d] * p.ys[d];
  if (residual) sum += load(residual[to]);
  if (bias) sum += load(bias[k]);
  y[to] = store(activate(sum, alpha, beta));
}
#endif

#ifdef DEPTHWISE
/// One filter per channel; channels last. A thread computes VEC channels of STRIP neighbours in a row, so that each
/// number that it loads serves several of them. Filter: FH x FW, in the order {FH, FW, channel}; SH, SW: strides; DH,
/// DW: dilations.
struct Depthwise {
  i64 count;  // of threads
  int channels, height, width, out_height, out_width, top, left;
};
extern "C" __global__ void __launch_bounds__(128)
    depthwise(const T* __restrict__ x, const T* __restrict__ w, const T* __restrict__ bias,
              const T* __restrict__ residual, T* __restrict__ y, Depthwise p, float alpha, float beta) {
  begin_kernel();
  const INDEX i = INDEX(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i >= INDEX(p.count)) return;
  const int vectors = p.channels / VEC, strips = (p.out_width + STRIP - 1) / STRIP;
  INDEX rest = i / vectors;
  const int c = int(i % vectors) * VEC;
  const int ow = int(rest % strips) * STRIP;
  rest /= strips;
  const int oh = int(rest % p.out_height);
  const i64 n = rest / p.out_height;
  float sum[STRIP][VEC] = {};
#pragma unroll
  for (int r = 0; r < FH; ++r) {
    const int h = oh * SH - p.top + r * DH;
    if (h < 0 || h >= p.height) continue;
    float f[FW][VEC];
#pragma unroll
    for (int s = 0; s < FW; ++s) {
      const Vec v = *reinterpret_cast<const Vec*>(w + i64(r * FW + s) * p.channels + c);
#pragma unroll
      for (int j = 0; j < VEC; ++j) f[s][j] = load(v.v[j]);
    }
    const T* const row = x + (n * p.height + h) * p.width * p.channels + c;
    const int left = ow * SW - p.left;
#pragma unroll
    for (int q = 0; q < (STRIP - 1) * SW + (FW - 1) * DW + 1; ++q) {
      if (left + q < 0 || left + q >= p.width) continue;
      const Vec v = *reinterpret_cast<const Vec*>(row + i64(left + q) * p.channels);
#pragma unroll
      for (int t = 0; t < STRIP; ++t) {
        const int s = q - t * SW;
        if (s < 0 || s % DW != 0 || s / DW >= FW) continue;
#pragma unroll
        for (int j = 0; j < VEC; ++j) sum[t][j] += load(v.v[j]) * f[s / DW][j];
      }
    }
  }
  Vec b;
  if (bias) b = *reinterpret_cast<const Vec*>(bias + c);
#pragma unroll
  for (int t = 0; t < STRIP; ++t) {
    if (ow + t >= p.out_width) break;
    const i64 to = ((n * p.out_height + oh) * p.out_width + ow + t) * p.channels + c;
    Vec v;
    if (residual) v = *reinterpret_cast<const Vec*>(residual + to);
#pragma unroll
    for (int j = 0; j < VEC; ++j) {
      float g = sum[t][j];
      if (residual) g += load(v.v[j]);
      if (bias) g += load(b.v[j]);
      v.v[j] = store(activate(g, alpha, beta));
    }
    *reinterpret_cast<Vec*>(y + to) = v;
  }
}
#endif
