// Layers for many rows of each expert: a block makes a tile of its results. The arguments and results are those of
// experts_few.cu; OUT is the type of y.
struct Place {
  int expert, first, count;  // rows of the tile
  i64 column;
};
/// False if there is no such tile.
__device__ inline bool find_place(const int* begin, const int* tiles, int experts, int rows, int columns, Place& p) {
  const int tile = blockIdx.y;
  if (tile >= tiles[experts]) return false;
  int low = 0, high = experts;  // the last expert whose tiles begin at or before this one
  while (high - low > 1) {
    const int middle = (low + high) / 2;
    if (tiles[middle] <= tile)
      low = middle;
    else
      high = middle;
  }
  p.expert = low;
  p.first = begin[low] + (tile - tiles[low]) * rows;
  const int left = begin[low + 1] - p.first;
  p.count = left < rows ? left : rows;
  p.column = i64(blockIdx.x) * columns;
  return true;
}
/// The bias, the activation and the place of two results of a row, of which the first has an even number.
__device__ inline void store_two(const Matrix* matrices, const Layer& s, const Activation& f, const Place& p, int row,
                                 i64 column, float a, float b, const int* order, OUT* y) {
  if (row >= p.count || column >= s.results) return;
  const bool both = column + 1 < s.results;
  a += bias_of(matrices[0], s, p.expert, row_of(s, column));
  if (both) b += bias_of(matrices[GATE == 3 ? 1 : 0], s, p.expert, row_of(s, column + 1));
  const i64 to = SCATTER ? order[p.first + row] : p.first + row;
  if (GATE) {
    y[to * (s.results / 2) + column / 2] = Compute<OUT>::store(gated(f, a, b));
    return;
  }
  y[to * s.results + column] = Compute<OUT>::store(FIRST ? activated(f, a) : a);
  if (both) y[to * s.results + column + 1] = Compute<OUT>::store(FIRST ? activated(f, b) : b);
}

constexpr int kRows = 64, kColumns = 64, kDepth = 64, kLead = 68;

struct __align__(16) Four {
  float at[4];
};
extern "C" __global__ void __launch_bounds__(256)
    experts_tile(const X* __restrict__ x, OUT* y, const int* order, const int* begin, const int* tiles, int experts,
                 const u8* codes, const S* scales, const u8* zeros, const T* bias, const u8* codes3, const S* scales3,
                 const u8* zeros3, const T* bias3, Layer s, Activation f) {
  __shared__ __align__(16) float xs[kDepth][kLead], ws[kDepth][kLead];
  Place p;
  if (!find_place(begin, tiles, experts, kRows, kColumns, p)) return;
  const Matrix matrices[2] = {{codes, scales, zeros, bias}, {codes3, scales3, zeros3, bias3}};
  const bool wide = (u64(x) & 15) == 0 && s.k % (16 / int(sizeof(X))) == 0;
  // A thread loads a unit of one row of x and of one of W.
  const int line = threadIdx.x % 64, unit = threadIdx.x / 64 * kUnit;
  const i64 column = p.column + line < s.results ? p.column + line : s.results - 1;
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
      store_two(matrices, s, f, p, down + m, p.column + across + n, d[m][n], d[m][n + 1], order, y);
}
