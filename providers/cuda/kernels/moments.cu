// Normalisations by statistics over any axes, and what embedding layers count.
// Defines: STORED: type of the elements; POWER: 1 or 2, of LpNormalization.
typedef STORED T;
typedef Compute<T>::type A;
constexpr int kThreads = 256;

/// Where the elements of merged axes are, innermost first.
struct Walk {
  int rank, unused;
  i64 size[6], stride[6];
};
__device__ inline i64 walk(const Walk& w, i64 i) {
  i64 at = 0;
  for (int d = 0; d < w.rank; ++d) {
    const i64 next = i / w.size[d];
    at += (i - next * w.size[d]) * w.stride[d];
    i = next;
  }
  return at;
}
__device__ inline A as_computed(T v) { return Compute<T>::load(v); }
__device__ inline float root_of(float v) { return sqrtf(v); }
__device__ inline double root_of(double v) { return sqrt(v); }

/// y = (x - mean) / (deviation + 1e-9) over the `count` elements of each block's group.
extern "C" __global__ void __launch_bounds__(kThreads)
    mean_variance(const T* x, T* y, Walk kept, Walk reduced, i64 columns, i64 count) {
  begin_kernel();
  __shared__ A room[32];
  const i64 begin = walk(kept, blockIdx.x / columns) + blockIdx.x % columns;
  x += begin;
  y += begin;
  A mean = A(0), spread = A(0);
  for (i64 i = threadIdx.x; i < count; i += kThreads) mean += as_computed(x[walk(reduced, i)]);
  mean = reduce_block<Sum>(mean, A(0), room) / A(count);
  for (i64 i = threadIdx.x; i < count; i += kThreads) {
    const A d = as_computed(x[walk(reduced, i)]) - mean;
    spread += d * d;
  }
  spread = reduce_block<Sum>(spread, A(0), room) / A(count);
  const A factor = A(1) / (root_of(spread) + A(1e-9));
  for (i64 i = threadIdx.x; i < count; i += kThreads) {
    const i64 at = walk(reduced, i);
    y[at] = Compute<T>::store((as_computed(x[at]) - mean) * factor);
  }
}

/// y = a + b; `at_a` and `at_b` lead from an element of y to those of the operands.
extern "C" __global__ void add_broadcast(const T* a, const T* b, T* y, Walk at_a, Walk at_b, i64 count) {
  begin_kernel();
  const i64 i = i64(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i < count) y[i] = Compute<T>::store(as_computed(a[walk(at_a, i)]) + as_computed(b[walk(at_b, i)]));
}

/// Along the middle axis of [outer, length, inner]. Block: `across` threads (a power of two) along the inner axis, the
/// others share a column. Columns whose norm is 0 become 0.
extern "C" __global__ void __launch_bounds__(kThreads)
    lp_normalize(const T* x, T* y, i64 tiles, i64 length, i64 inner, int across) {
  begin_kernel();
  const int column = threadIdx.x % across, down = threadIdx.x / across, downs = kThreads / across;
  const i64 c = blockIdx.x % tiles * across + column;
  const i64 begin = blockIdx.x / tiles * length * inner + c;
  __shared__ A room[kThreads];
  A total = A(0);
  if (c < inner) {
#pragma unroll 4
    for (i64 i = down; i < length; i += downs) {
      const A v = as_computed(x[begin + i * inner]);
      total += POWER == 2 ? v * v : v < A(0) ? -v : v;
    }
  }
  room[threadIdx.x] = total;
  for (int step = downs / 2; step > 0; step /= 2) {
    __syncthreads();
    if (down < step) room[threadIdx.x] += room[threadIdx.x + step * across];
  }
  __syncthreads();
  if (c >= inner) return;
  total = POWER == 2 ? root_of(room[column]) : room[column];
#pragma unroll 4
  for (i64 i = down; i < length; i += downs)
    y[begin + i * inner] = Compute<T>::store(total == A(0) ? A(0) : as_computed(x[begin + i * inner]) / total);
}

/// y[row]: how many of the row's `length` values are 1; 0 if mask is null. A warp for each row.
extern "C" __global__ void __launch_bounds__(kThreads) count_mask(const int* mask, int* y, i64 rows, i64 length) {
  begin_kernel();
  const i64 row = i64(blockIdx.x) * (kThreads / 32) + threadIdx.x / 32;
  if (row >= rows) return;
  int count = 0;
  for (i64 i = threadIdx.x % 32; mask && i < length; i += 32) count += mask[row * length + i] == 1;
  count = reduce_warp<Sum>(count);
  if (threadIdx.x % 32 == 0) y[row] = count;
}
