#include "products.cuh"

// Products of up to ROWS rows, which read each weight once: as fast as memory. All have type ELEMENT.
//   gemv_rows: w is stored as n x k, so each warp makes sums over rows of w.
//   gemv_columns: w is stored as k x n, so each thread adds up 16 bytes of columns.
// Sums are made in a fixed order, in one launch. Elements are read singly if addresses or leads are not multiples of 16
// bytes.
typedef ELEMENT T;
constexpr int kVector = Packed<T>::count;

#ifdef GEMV_ROWS
// COLUMNS: per warp; SPLIT: warps that share columns, a divisor of 8. Blocks have 256 threads.
constexpr int kInFlight = COLUMNS >= 4 ? 1 : 4 / COLUMNS;

template <int U>  // as many steps are in flight
__device__ inline void add_products(const T* x, const T* const (&w)[COLUMNS], const Few& s, i64 at, i64 step,
                                    float (&sum)[ROWS][COLUMNS]) {
  Wide weights[U][COLUMNS];
#pragma unroll
  for (int u = 0; u < U; ++u)
#pragma unroll
    for (int c = 0; c < COLUMNS; ++c) weights[u][c] = *(const Wide*)(w[c] + at + u * step);
#pragma unroll
  for (int u = 0; u < U; ++u) {
    float values[COLUMNS][kVector];
#pragma unroll
    for (int c = 0; c < COLUMNS; ++c) unpack(weights[u][c], values[c], T());
#pragma unroll
    for (int r = 0; r < ROWS; ++r) {
      float row[kVector];
      unpack(*(const Wide*)(x + (r < s.m ? r : 0) * s.lead_x + at + u * step), row, T());
#pragma unroll
      for (int c = 0; c < COLUMNS; ++c)
#pragma unroll
        for (int i = 0; i < kVector; ++i) sum[r][c] += row[i] * values[c][i];
    }
  }
}

__device__ inline void add_single(const T* x, const T* const (&w)[COLUMNS], const Few& s, i64 at,
                                  float (&sum)[ROWS][COLUMNS]) {
#pragma unroll
  for (int r = 0; r < ROWS; ++r) {
    const float v = Compute<T>::load(x[(r < s.m ? r : 0) * s.lead_x + at]);
#pragma unroll
    for (int c = 0; c < COLUMNS; ++c) sum[r][c] += v * Compute<T>::load(w[c][at]);
  }
}

extern "C" __global__ void __launch_bounds__(256)
    gemv_rows(const T* __restrict__ x, const T* __restrict__ w, const T* __restrict__ bias, const T* __restrict__ c,
              T* y, Few s) {
  begin_kernel();
  __shared__ float parts[8][32];
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32, part = warp % SPLIT;
  const i64 column0 = (i64(blockIdx.x) * (8 / SPLIT) + warp / SPLIT) * COLUMNS;
  x += blockIdx.y * s.stride_x;
  w += blockIdx.y * s.stride_w;
  y += blockIdx.y * s.stride_y;
  if (c) c += blockIdx.y * s.stride_c;
  if (bias) bias += blockIdx.y * s.stride_bias;
  const T* rows[COLUMNS];
#pragma unroll
  for (int i = 0; i < COLUMNS; ++i) rows[i] = w + (column0 + i < s.n ? column0 + i : s.n - 1) * s.lead_w;
  float sum[ROWS][COLUMNS] = {};
  const bool wide = aligned16(x) && aligned16(w) && s.lead_w % kVector == 0 && (s.lead_x % kVector == 0 || s.m == 1);
  const i64 whole = wide ? s.k / kVector * kVector : 0, step = SPLIT * 32 * kVector;
  i64 at = (part * 32 + lane) * kVector;
  for (; at + (kInFlight - 1) * step < whole; at += kInFlight * step)
    add_products<kInFlight>(x, rows, s, at, step, sum);
  for (; at < whole; at += step) add_products<1>(x, rows, s, at, step, sum);
  for (at = whole + part * 32 + lane; at < s.k; at += SPLIT * 32) add_single(x, rows, s, at, sum);

  float mine = 0;  // that of the lane's row and column
#pragma unroll
  for (int r = 0; r < ROWS; ++r)
#pragma unroll
    for (int i = 0; i < COLUMNS; ++i) {
      const float total = reduce_warp<Sum>(sum[r][i]);
      if (lane == r * COLUMNS + i) mine = total;
    }
  if (SPLIT > 1) {
    parts[warp][lane] = mine;
    __syncthreads();
    if (part != 0) return;
#pragma unroll
    for (int i = 1; i < SPLIT; ++i) mine += parts[warp + i][lane];
  }
  const i64 row = lane / COLUMNS, column = column0 + lane % COLUMNS;
  if (lane < ROWS * COLUMNS && row < s.m && column < s.n) finish_few(s, row, column, mine, bias, c, y);
}
#endif

#ifdef GEMV_COLUMNS
// LANES: threads side by side, each with 16 bytes of columns; a power of two up to 8. THREADS: of a block.
constexpr int kDepth = THREADS / LANES, kWidth = LANES * kVector;  // rows of w at once, columns of a block
constexpr int kLoads = 4;

// `left`: columns from here to the end.
__device__ inline Wide load_columns(const T* w, i64 left, bool wide) {
  if (wide) return *(const Wide*)w;
  Wide v{{0, 0, 0, 0}};
#pragma unroll
  for (int i = 0; i < kVector; ++i) {
    if (i >= left) break;
    if (sizeof(T) == 2)
      v.word[i / 2] |= u32(((const u16*)w)[i]) << (i % 2 * 16);
    else
      v.word[i % 4] = ((const u32*)w)[i];
  }
  return v;
}

__device__ inline void add_columns(const Wide& weights, const T* x, const Few& s, i64 k, float (&sum)[ROWS][kVector]) {
  float values[kVector];
  unpack(weights, values, T());
#pragma unroll
  for (int r = 0; r < ROWS; ++r) {
    const float v = Compute<T>::load(x[(r < s.m ? r : 0) * s.lead_x + k]);
#pragma unroll
    for (int i = 0; i < kVector; ++i) sum[r][i] += v * values[i];
  }
}

extern "C" __global__ void __launch_bounds__(THREADS)
    gemv_columns(const T* __restrict__ x, const T* __restrict__ w, const T* __restrict__ bias, const T* __restrict__ c,
                 T* y, Few s) {
  begin_kernel();
  __shared__ float parts[THREADS / 32][ROWS * kWidth];
  const int warp = threadIdx.x / 32, across = threadIdx.x % LANES, depth = threadIdx.x / LANES;
  const i64 block0 = i64(blockIdx.x) * kWidth, column0 = block0 + across * kVector;
  x += blockIdx.y * s.stride_x;
  w += blockIdx.y * s.stride_w;
  y += blockIdx.y * s.stride_y;
  if (c) c += blockIdx.y * s.stride_c;
  if (bias) bias += blockIdx.y * s.stride_bias;
  float sum[ROWS][kVector] = {};
  const i64 left = s.n - column0;
  const bool wide = aligned16(w) && s.lead_w % kVector == 0 && left >= kVector;
  if (left > 0) {
    const T* from = w + column0;
    i64 k = depth;
    for (; k + (kLoads - 1) * kDepth < s.k; k += kLoads * kDepth) {
      Wide weights[kLoads];
#pragma unroll
      for (int u = 0; u < kLoads; ++u) weights[u] = load_columns(from + (k + u * kDepth) * s.lead_w, left, wide);
#pragma unroll
      for (int u = 0; u < kLoads; ++u) add_columns(weights[u], x, s, k + u * kDepth, sum);
    }
    for (; k < s.k; k += kDepth) add_columns(load_columns(from + k * s.lead_w, left, wide), x, s, k, sum);
  }
#pragma unroll
  for (int r = 0; r < ROWS; ++r)
#pragma unroll
    for (int i = 0; i < kVector; ++i) {
      float v = sum[r][i];
#pragma unroll
      for (int step = 16; step >= LANES; step /= 2) v += __shfl_xor_sync(0xffffffffu, v, step);
      if (threadIdx.x % 32 < LANES) parts[warp][r * kWidth + across * kVector + i] = v;
    }
  __syncthreads();
  for (int i = threadIdx.x; i < ROWS * kWidth; i += THREADS) {
    float v = 0;
#pragma unroll
    for (int part = 0; part < THREADS / 32; ++part) v += parts[part][i];
    const i64 row = i / kWidth, column = block0 + i % kWidth;
    if (row < s.m && column < s.n) finish_few(s, row, column, v, bias, c, y);
  }
}
#endif
