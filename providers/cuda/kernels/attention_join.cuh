// Blocks that share the keys of some rows: each stores its part, and the last one to come joins them.
#include "attention_rule.cuh"

#ifdef __CUDACC_RTC__
/// 16 bytes that other blocks may just have written.
__device__ inline void load_fresh(float (&r)[4], const float* p) {
  asm volatile("ld.global.cg.v4.f32 {%0,%1,%2,%3}, [%4];"
               : "=f"(r[0]), "=f"(r[1]), "=f"(r[2]), "=f"(r[3])
               : "l"(__cvta_generic_to_global(p)));
}
#else
__device__ inline void load_fresh(float (&r)[4], const float* p) {
  for (int i = 0; i < 4; ++i) r[i] = p[i];
}
#endif

/// Whether this block is the last one of a.splits to come. `counter` is 0 before the first and after the last one.
__device__ inline bool is_last(const AttentionShape& a, int* counter, float* room) {
  __threadfence();
  __syncthreads();
  if (threadIdx.x == 0) {
    const bool last = atomicAdd(counter, 1) == a.splits - 1;
    if (last) *counter = 0;
    room[0] = last ? 1.0f : 0.0f;
  }
  __syncthreads();
  const bool last = room[0] != 0;
  __syncthreads();
  if (last) __threadfence();
  return last;
}

/// What each part of a row counts, for rows [first, first + kRows): factors [row][splits] in shared memory. A row that
/// sees no key has factors 0, and sees[row] is 0. A warp has a row at a time.
template <int kRows>
__device__ inline void part_factors(const AttentionShape& a, float* memory, const int (&place)[3], const T* sinks,
                                    float* room) {
  const Parts parts(memory, a);
  const volatile float* stats = parts.stats;
  float* const sees = room + kRows * a.splits;
  const int lane = int(threadIdx.x) % 32;
  for (int r = int(threadIdx.x) / 32; r < kRows; r += int(blockDim.x) / 32) {
    const int row = place[2] + r, at[3] = {place[0], place[1] + row % a.pack, row / a.pack};
    if (at[2] >= a.rows) continue;
    float tops[4], sums[4], top = lowest(), sum = 0;  // at most 128 parts
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const int s = i * 32 + lane;
      const i64 from = Parts::row(a, least(s, a.splits - 1), at) * 2;
      tops[i] = s < a.splits ? stats[from] : lowest();
      sums[i] = s < a.splits ? stats[from + 1] : 0.0f;
      top = fmaxf(top, tops[i]);
    }
    top = reduce_warp<Most>(top);
    const float base = top == lowest() ? 0.0f : top;
#pragma unroll
    for (int i = 0; i < 4; ++i) sum += sums[i] * power_of_two(tops[i] - base);
    sum = reduce_warp<Sum>(sum);
    const float sink = sinks ? as_float(sinks[at[1]]) * kLog2E : lowest(), factor = last_factor(top, sum, sink);
    if (lane == 0) sees[r] = sum == 0 && sink == lowest() ? 0.0f : 1.0f;
#pragma unroll
    for (int i = 0; i < 4; ++i)
      if (i * 32 + lane < a.splits) room[r * a.splits + i * 32 + lane] = factor * power_of_two(tops[i] - base);
  }
}

/// Joins the parts of rows [place[2], place[2] + kRows) of a block, by all its threads. `room`: shared memory for
/// kRows * (splits + 1) numbers.
template <int kRows>
__device__ inline void join_rows(const AttentionShape& a, float* memory, const int (&place)[3], const T* sinks, T* y,
                                 float* room) {
  part_factors<kRows>(a, memory, place, sinks, room);
  __syncthreads();
  const Parts parts(memory, a);
  for (int i = int(threadIdx.x); i < kRows * (D / 4); i += int(blockDim.x)) {
    const int r = i / (D / 4), d = i % (D / 4) * 4, row = place[2] + r;
    const int at[3] = {place[0], place[1] + row % a.pack, row / a.pack};
    if (at[2] >= a.rows) break;
    const i64 step = i64(a.batch) * a.heads * a.rows * D;
    const float *from = parts.sums + Parts::row(a, 0, at) * D + d, *factors = room + r * a.splits;
    float o[4] = {0, 0, 0, 0};
    for (int s = 0; s < a.splits; s += 8) {
      float x[8][4];
#pragma unroll
      for (int u = 0; u < 8; ++u) load_fresh(x[u], from + least(s + u, a.splits - 1) * step);
#pragma unroll
      for (int u = 0; u < 8; ++u)
#pragma unroll
        for (int e = 0; e < 4; ++e)
          if (s + u < a.splits) o[e] += factors[s + u] * x[u][e];
    }
    T* const to = y + at[0] * a.y[0] + at[1] * a.y[1] + at[2] * a.y[2];
#pragma unroll
    for (int e = 0; e < 4; ++e)
      if (d + e < a.v_size) to[d + e] = Compute<T>::store(room[kRows * a.splits + r] != 0 ? o[e] : a.blind);
  }
}
