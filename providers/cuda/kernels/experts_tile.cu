#include "experts_place.cuh"

// Layers for many rows of each expert: a block makes a tile of its results. The arguments and results are those of
// experts_few.cu.
constexpr int kRows = 64, kColumns = 64, kDepth = 64, kLead = 68;

struct __align__(16) Four {
  float at[4];
};
extern "C" __global__ void __launch_bounds__(256)
    experts_tile(const X* __restrict__ x, OUT* y, const int* order, const int* begin, const int* tiles, int experts,
                 const u8* codes, const S* scales, const u8* zeros, const T* bias, const u8* codes3, const S* scales3,
                 const u8* zeros3, const T* bias3, Layer s, Activation f) {
  begin_kernel();
  __shared__ __align__(16) float xs[kDepth][kLead], ws[kDepth][kLead];
  ExpertTile p;
  if (!find_place(begin, tiles, experts, int(blockIdx.x), kRows, p)) return;
  const i64 first_column = i64(blockIdx.y) * kColumns;
  const Matrix matrices[2] = {{codes, scales, zeros, bias}, {codes3, scales3, zeros3, bias3}};
  const bool wide = (u64(x) & 15) == 0 && s.k % (16 / int(sizeof(X))) == 0;
  // A thread loads a unit of one row of x and of one of W.
  const int line = threadIdx.x % 64, unit = threadIdx.x / 64 * kUnit;
  const i64 column = first_column + line < s.results ? first_column + line : s.results - 1;
  const Matrix& mine = matrices[matrix_of(column)];
  const i64 weights = row_of(s, column);
  const int at = line < p.count ? p.first + line : p.first;
  const X* const row = x + (s.per_token ? order[at] / s.per_token : at) * s.k;
  const int across = threadIdx.x % 16 * 4, down = threadIdx.x / 16 * 4;
  float d[4][4] = {};
  for (i64 k = 0; k < s.k; k += kDepth) {
    float v[kUnit], w[kUnit] = {};
    load_elements(row, k + unit, s.k, wide, v);
    if (k + unit < s.k) load_weights(mine, s, p.expert, weights, k + unit, w);
    __syncthreads();
#pragma unroll
    for (int i = 0; i < kUnit; ++i) {
      xs[unit + i][line] = v[i];
      ws[unit + i][line] = w[i];
    }
    __syncthreads();
#pragma unroll 8
    for (int i = 0; i < kDepth; ++i) {
      const Four a = *(const Four*)&xs[i][down], b = *(const Four*)&ws[i][across];
#pragma unroll
      for (int m = 0; m < 4; ++m)
#pragma unroll
        for (int n = 0; n < 4; ++n) d[m][n] += a.at[m] * b.at[n];
    }
  }
#pragma unroll
  for (int m = 0; m < 4; ++m)
#pragma unroll
    for (int n = 0; n < 4; n += 2)
      store_two(matrices, s, f, p, down + m, first_column + across + n, d[m][n], d[m][n + 1], order, y);
}
