#include "experts.cuh"

// Layers for few rows of each expert: a warp makes two results of up to ROWS rows, and reads its two rows of W once.
// x has the type X. The results: y [slots in order, results] or, of gates, half as many; with SCATTER at the slot.
extern "C" __global__ void __launch_bounds__(256)
    experts_few(const X* __restrict__ x, float* y, const int* order, const int* begin, const int* active, int experts,
                const u8* codes, const S* scales, const u8* zeros, const T* bias, const u8* codes3, const S* scales3,
                const u8* zeros3, const T* bias3, Layer s, Activation f) {
  begin_kernel();
  if (int(blockIdx.y) >= active[experts]) return;
  const int lane = threadIdx.x % 32, expert = active[blockIdx.y];
  const i64 column = (i64(blockIdx.x) * 8 + threadIdx.x / 32) * 2;
  if (column >= s.results) return;
  const Matrix matrices[2] = {{codes, scales, zeros, bias}, {codes3, scales3, zeros3, bias3}};
  i64 rows[2];
#pragma unroll
  for (int c = 0; c < 2; ++c) rows[c] = row_of(s, column + c < s.results ? column + c : column);
  const bool wide = (u64(x) & 15) == 0 && s.k % (16 / int(sizeof(X))) == 0;
  const int last = begin[expert + 1];
  for (int first = begin[expert]; first < last; first += ROWS) {
    const X* from[ROWS];
#pragma unroll
    for (int r = 0; r < ROWS; ++r) {
      const int at = first + r < last ? first + r : first;
      from[r] = x + (s.per_token ? order[at] / s.per_token : at) * s.k;
    }
    float sum[ROWS][2] = {};
#pragma unroll 2
    for (i64 k = lane * kUnit; k < s.k; k += 32 * kUnit) {
      float w[2][kUnit];
#if BITS
      Unit units[2];
      float scale[2], zero[2];
#pragma unroll
      for (int c = 0; c < 2; ++c) {
        const Matrix& m = matrices[GATE == 3 ? c : 0];
        units[c] = load_unit(m, s, expert, rows[c], k);
        scale[c] = scale_of(m, s, expert, rows[c], k);
        zero[c] = zero_of(m, s, expert, rows[c], k);
      }
#pragma unroll
      for (int c = 0; c < 2; ++c) decode(units[c], w[c]);
#else
#pragma unroll
      for (int c = 0; c < 2; ++c) load_weights(matrices[GATE == 3 ? c : 0], s, expert, rows[c], k, w[c]);
#endif
#pragma unroll
      for (int r = 0; r < ROWS; ++r) {
        float v[kUnit], all = 0;
        load_elements(from[r], k, s.k, wide, v);
#pragma unroll
        for (int i = 0; i < kUnit; ++i) all += v[i];
#pragma unroll
        for (int c = 0; c < 2; ++c) {
          float dot = 0;
#pragma unroll
          for (int i = 0; i < kUnit; ++i) dot += v[i] * w[c][i];
#if BITS
          dot = scale[c] * (kFactor * dot - zero[c] * all);
#endif
          sum[r][c] += dot;
        }
      }
    }
    float mine[2] = {};  // lane r finishes row r
#pragma unroll
    for (int r = 0; r < ROWS; ++r)
#pragma unroll
      for (int c = 0; c < 2; ++c) {
        const float total = reduce_warp<Sum>(sum[r][c]);
        if (lane == r) mine[c] = total;
      }
    if (lane >= ROWS || first + lane >= last) continue;
#pragma unroll
    for (int c = 0; c < 2; ++c) mine[c] += bias_of(matrices[GATE == 3 ? c : 0], s, expert, rows[c]);
    const i64 to = SCATTER ? order[first + lane] : first + lane;
    if (GATE) {
      y[to * (s.results / 2) + column / 2] = gated(f, mine[0], mine[1]);
      continue;
    }
#pragma unroll
    for (int c = 0; c < 2; ++c)
      if (column + c < s.results) y[to * s.results + column + c] = FIRST ? activated(mine[c]) : mine[c];
  }
}
