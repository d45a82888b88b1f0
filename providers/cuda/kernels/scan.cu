// Running sums and products along the middle axis of [outer, length, inner].
// Defines: STORED: type of the elements; PRODUCT: 1 for products; REVERSE: 1 from the end; EXCLUSIVE: 1 without the
// element itself.
typedef STORED T;
typedef Compute<T>::type A;
constexpr int kThreads = 1024;
constexpr int kFirst = PRODUCT ? 1 : 0;

__device__ inline A join(A a, A b) { return PRODUCT ? A(a * b) : A(a + b); }
__device__ inline i64 place(i64 i, i64 length) { return REVERSE ? length - 1 - i : i; }

/// A thread for each column; for many columns.
extern "C" __global__ void scan_columns(const T* x, T* y, i64 columns, i64 length, i64 inner) {
  begin_kernel();
  const i64 c = i64(blockIdx.x) * blockDim.x + threadIdx.x;
  if (c >= columns) return;
  const i64 begin = c / inner * length * inner + c % inner;
  A total = A(kFirst);
#pragma unroll 4
  for (i64 i = 0; i < length; ++i) {
    const i64 at = begin + place(i, length) * inner;
    const A with = join(total, Compute<T>::load(x[at]));
    y[at] = Compute<T>::store(EXCLUSIVE ? total : with);
    total = with;
  }
}

/// A block for each column.
extern "C" __global__ void __launch_bounds__(kThreads) scan_rows(const T* x, T* y, i64 length, i64 inner) {
  begin_kernel();
  __shared__ A totals[32];
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const i64 begin = blockIdx.x / inner * length * inner + blockIdx.x % inner;
  A before = A(kFirst);  // of the tiles that are done
  for (i64 tile = 0; tile < length; tile += kThreads) {
    const i64 i = tile + threadIdx.x, at = begin + place(i, length) * inner;
    A v = i < length ? A(Compute<T>::load(x[at])) : A(kFirst);
    for (int step = 1; step < 32; step *= 2) {
      const A other = __shfl_up_sync(0xffffffffu, v, step);
      if (lane >= step) v = join(other, v);
    }
    if (lane == 31) totals[warp] = v;
    __syncthreads();
    A warps = totals[lane];
    for (int step = 1; step < 32; step *= 2) {
      const A other = __shfl_up_sync(0xffffffffu, warps, step);
      if (lane >= step) warps = join(other, warps);
    }
    const A previous = __shfl_sync(0xffffffffu, warps, warp ? warp - 1 : 0);
    const A left = warp ? join(before, previous) : before;
    const A neighbour = __shfl_up_sync(0xffffffffu, v, 1);
    if (i < length) y[at] = Compute<T>::store(!EXCLUSIVE ? join(left, v) : lane ? join(left, neighbour) : left);
    before = join(before, __shfl_sync(0xffffffffu, warps, 31));
    __syncthreads();
  }
}
