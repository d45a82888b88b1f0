// Pools, and what normalises each channel by constants. TYPE: the type of elements. KIND: 0 largest, 1 mean, 2 p-norm.
// VEC: elements of one access. INDEX: int, or i64
// for tensors of 2^31 elements. LAST: the channels are last.

typedef TYPE T;
typedef Compute<T>::type A;
#ifndef KIND
#define KIND 0
#endif
#ifndef VEC
#define VEC 1
#endif
#ifndef INDEX
#define INDEX i64
#endif

struct __align__(VEC * sizeof(T)) Vec {
  T v[VEC];
};

/// The result for a window without elements.
template <typename V>
__device__ inline V least() {
  return V(bits_to_float(0xff800000u));
}
template <>
__device__ inline i8 least<i8>() {
  return -128;
}
template <>
__device__ inline u8 least<u8>() {
  return 0;
}

__device__ inline A first() { return KIND == 0 ? least<A>() : A(0); }
__device__ inline A magnitude(A v) { return v < A(0) ? A(0) - v : v; }
/// Takes one more element into account.
__device__ inline A take(A so_far, A v, float p) {
#if KIND == 0
  return v > so_far || v != v ? v : so_far;
#elif KIND == 1
  return so_far + v;
#else
  return so_far + (p == 2.0f ? v * v : p == 1.0f ? magnitude(v) : A(powf(float(magnitude(v)), p)));
#endif
}
/// Of two threads.
__device__ inline A join(A a, A b) {
#if KIND == 0
  return b > a || b != b ? b : a;
#else
  return a + b;
#endif
}
__device__ inline A finish(A sum, A count, float p) {
#if KIND == 0
  return sum;
#elif KIND == 1
  return count > A(0) ? sum / count : A(0);
#else
  return p == 2.0f ? A(sqrt(sum)) : p == 1.0f ? sum : A(powf(float(sum), 1.0f / p));
#endif
}

#ifdef WINDOW
struct Window {
  i64 count;  // of threads
  int channels;
  int in[3], out[3], filter[3], stride[3], dilation[3], begin[3], end[3];
  int with_padding;   // the mean counts elements of the padding
  int columns_first;  // indices count the first spatial axis fastest
  float p;
};

/// Number of a window's elements along an axis that are before the end of the padding.
__device__ inline int padded(const Window& w, int d, int at) {
  int n = 0;
  for (int k = 0; k < w.filter[d]; ++k) n += at + k * w.dilation[d] < w.in[d] + w.end[d];
  return n;
}

extern "C" __global__ void __launch_bounds__(256)
    pool(const T* __restrict__ x, T* __restrict__ y, i64* __restrict__ indices, Window w) {
  begin_kernel();
  const INDEX i = INDEX(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i >= INDEX(w.count)) return;
  INDEX rest = i;
  int at[3];
  const i64 places = i64(w.in[0]) * w.in[1] * w.in[2];
#ifdef LAST
  const int vectors = w.channels / VEC;
  const int c = int(rest % vectors) * VEC;
  rest /= vectors;
#endif
#pragma unroll
  for (int d = 2; d >= 0; --d) {
    at[d] = int(rest % w.out[d]) * w.stride[d] - w.begin[d];
    rest /= w.out[d];
  }
#ifdef LAST
  const T* const from = x + rest * places * w.channels + c;
  const i64 step = w.channels;
#else
  const T* const from = x + rest * places;
  const i64 step = 1;
#endif
  A sum[VEC];
#ifdef INDICES
  i64 best = -1;
#endif
#pragma unroll
  for (int j = 0; j < VEC; ++j) sum[j] = first();
  int count = 0;
  for (int k0 = 0, a0 = at[0]; k0 < w.filter[0]; ++k0, a0 += w.dilation[0]) {
    if (a0 < 0 || a0 >= w.in[0]) continue;
    for (int k1 = 0, a1 = at[1]; k1 < w.filter[1]; ++k1, a1 += w.dilation[1]) {
      if (a1 < 0 || a1 >= w.in[1]) continue;
      const i64 row = (i64(a0) * w.in[1] + a1) * w.in[2];
      for (int k2 = 0, a2 = at[2]; k2 < w.filter[2]; ++k2, a2 += w.dilation[2]) {
        if (a2 < 0 || a2 >= w.in[2]) continue;
        const Vec v = *reinterpret_cast<const Vec*>(from + (row + a2) * step);
        ++count;
#ifdef INDICES
        const A e = Compute<T>::load(v.v[0]);
        if (best < 0 || e > sum[0] || (e != e && sum[0] == sum[0])) {
          sum[0] = e;
          best = w.columns_first ? a0 + i64(w.in[0]) * (a1 + i64(w.in[1]) * a2) : row + a2;
        }
#else
#pragma unroll
        for (int j = 0; j < VEC; ++j) sum[j] = take(sum[j], Compute<T>::load(v.v[j]), w.p);
#endif
      }
    }
  }
  if (w.with_padding) count = padded(w, 0, at[0]) * padded(w, 1, at[1]) * padded(w, 2, at[2]);
  Vec v;
#pragma unroll
  for (int j = 0; j < VEC; ++j) v.v[j] = Compute<T>::store(finish(sum[j], A(count), w.p));
  reinterpret_cast<Vec*>(y)[i] = v;
#ifdef INDICES
  indices[i] = rest * places + best;
#endif
}
#endif

#ifdef GLOBAL_ROWS
/// A block of threads, or a warp of it (`warps` 1), reduces each of the rows.
extern "C" __global__ void __launch_bounds__(256)
    pool_rows(const T* __restrict__ x, T* __restrict__ y, i64 rows, int length, int by_warp, float p) {
  begin_kernel();
  __shared__ A room[32];
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, warps = blockDim.x / 32;
  const i64 row = by_warp ? i64(blockIdx.x) * warps + warp : i64(blockIdx.x);
  if (by_warp && row >= rows) return;
  const int begin = by_warp ? lane : int(threadIdx.x), step = by_warp ? 32 : int(blockDim.x);
  A sum = first();
  for (int i = begin; i < length; i += step) sum = take(sum, Compute<T>::load(x[row * length + i]), p);
  for (int s = 16; s > 0; s /= 2) sum = join(sum, __shfl_xor_sync(0xffffffffu, sum, s));
  if (!by_warp) {
    if (lane == 0) room[warp] = sum;
    __syncthreads();
    sum = room[0];
    for (int i = 1; i < warps; ++i) sum = join(sum, room[i]);
  }
  if (by_warp ? lane == 0 : threadIdx.x == 0) y[row] = Compute<T>::store(finish(sum, A(length), p));
}
#endif

#ifdef GLOBAL_LAST
/// Blocks of 8 x 32 threads: 8 neighbours read 8 * VEC channels of one place, 32 of them share the places.
extern "C" __global__ void __launch_bounds__(256)
    pool_last(const T* __restrict__ x, T* __restrict__ y, int channels, int places, float p) {
  begin_kernel();
  __shared__ A room[32][8 * VEC];
  const int c = (blockIdx.x * 8 + threadIdx.x) * VEC;
  const i64 n = blockIdx.y;
  A sum[VEC];
#pragma unroll
  for (int j = 0; j < VEC; ++j) sum[j] = first();
  if (c < channels)
    for (int i = threadIdx.y; i < places; i += 32) {
      const Vec v = *reinterpret_cast<const Vec*>(x + (n * places + i) * channels + c);
#pragma unroll
      for (int j = 0; j < VEC; ++j) sum[j] = take(sum[j], Compute<T>::load(v.v[j]), p);
    }
#pragma unroll
  for (int j = 0; j < VEC; ++j) room[threadIdx.y][threadIdx.x * VEC + j] = sum[j];
  for (int half = 16; half > 0; half /= 2) {
    __syncthreads();
    if (threadIdx.y < half)
#pragma unroll
      for (int j = 0; j < VEC; ++j)
        room[threadIdx.y][threadIdx.x * VEC + j] =
            join(room[threadIdx.y][threadIdx.x * VEC + j], room[threadIdx.y + half][threadIdx.x * VEC + j]);
  }
  if (threadIdx.y != 0 || c >= channels) return;
  Vec v;
#pragma unroll
  for (int j = 0; j < VEC; ++j) v.v[j] = Compute<T>::store(finish(room[0][threadIdx.x * VEC + j], A(places), p));
  *reinterpret_cast<Vec*>(y + n * channels + c) = v;
}
#endif

#ifdef BATCH_NORM
/// y = (x - mean) / sqrt(variance + epsilon) * scale + bias, each constant per channel. `inner`: elements that follow
/// each other within one channel; 1: the channels are last.
extern "C" __global__ void __launch_bounds__(256)
    batch_norm(const T* __restrict__ x, const SCALE_TYPE* __restrict__ scale, const SCALE_TYPE* __restrict__ bias,
               const MEAN_TYPE* __restrict__ mean, const MEAN_TYPE* __restrict__ variance, T* __restrict__ y,
               i64 vectors, int channels, i64 inner, float epsilon) {
  begin_kernel();
  const INDEX i = INDEX(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i >= INDEX(vectors)) return;
  Vec v = reinterpret_cast<const Vec*>(x)[i];
  const int channel = int(i * VEC / INDEX(inner) % channels);
#pragma unroll
  for (int j = 0; j < VEC; ++j) {
    const int c = inner == 1 ? channel + j : channel;
    const A s = A(Compute<SCALE_TYPE>::load(scale[c])), b = A(Compute<SCALE_TYPE>::load(bias[c]));
    const A m = A(Compute<MEAN_TYPE>::load(mean[c])), r = A(Compute<MEAN_TYPE>::load(variance[c]));
    v.v[j] = Compute<T>::store((Compute<T>::load(v.v[j]) - m) * (s / A(sqrt(r + A(epsilon)))) + b);
  }
  reinterpret_cast<Vec*>(y)[i] = v;
}
#endif

#ifdef LRN
/// y = x / (bias + alpha / size * sum of squares of the channels around)^beta. `step`: elements from one channel to
/// the next.
extern "C" __global__ void __launch_bounds__(256)
    lrn(const T* __restrict__ x, T* __restrict__ y, i64 count, int channels, i64 step, int before, int after,
        float alpha, float beta, float bias) {
  begin_kernel();
  const INDEX i = INDEX(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i >= INDEX(count)) return;
  const int c = int(i / INDEX(step) % channels);
  const int from = c < before ? -c : -before, to = c + after >= channels ? channels - 1 - c : after;
  A sum = 0;
  for (int d = from; d <= to; ++d) {
    const A v = Compute<T>::load(x[i + d * step]);
    sum += v * v;
  }
  y[i] = Compute<T>::store(A(float(Compute<T>::load(x[i])) * powf(bias + alpha * float(sum), -beta)));
}
#endif
