// Attention of few queries: a block has ROWS rows of Q that share one head of K and V, and a share of its keys. Keys
// and values are read once, 16 bytes at a time, straight into registers: LANES lanes have one key, which leaves several
// keys for a warp to read at once.
#include "attention_join.cuh"
#include "attention_rule.cuh"

#define WORD (16 / int(sizeof(T)))                   // elements of 16 bytes
#define LANES (HEAD / WORD > 32 ? 32 : HEAD / WORD)  // a power of two
#define CHUNKS (HEAD / WORD / LANES)
#define SIDE (32 / LANES)           // keys that a warp reads at once
#define TURNS (CHUNKS > 1 ? 2 : 4)  // of which it has this many times in flight
#ifndef WARPS
#define WARPS 4
#endif

struct __align__(16) Elements {
  T v[WORD];
};

/// Elements [lane * WORD, ...) of a row, zeros from `size` on.
__device__ inline void load_row(Elements (&to)[CHUNKS], const T* from, int lane, int size, bool there) {
#pragma unroll
  for (int c = 0; c < CHUNKS; ++c) {
    const int at = (c * LANES + lane) * WORD;
#if ALIGNED
    if (there && at < size) {
      to[c] = *reinterpret_cast<const Elements*>(from + at);
    } else {
#pragma unroll
      for (int e = 0; e < WORD; ++e) to[c].v[e] = T{};
    }
#else
    for (int e = 0; e < WORD; ++e) to[c].v[e] = there && at + e < size ? from[at + e] : T{};
#endif
  }
}

/// What a group of lanes knows of each row.
struct State {
  float q[ROWS][CHUNKS][WORD], o[ROWS][CHUNKS][WORD], top[ROWS], sum[ROWS];
  Keys keys[ROWS];
#if HAS_OPERANDS
  RowOperands operands[ROWS];
#endif

  __device__ void begin(const AttentionShape& a, const Entry& entry, const T* all_q, const void* bias, const u8* flags,
                        const int (&place)[3]) {
#pragma unroll
    for (int r = 0; r < ROWS; ++r) {
      const int row = place[1] + r, query = row / a.pack, head = place[0] + row % a.pack;
      const bool there = query < a.rows;
      Elements x[CHUNKS];
      const T* from = there ? all_q + entry.b * a.q[0] + head * a.q[1] + query * a.q[2] : all_q;
      load_row(x, from, place[2], a.size, there);
#pragma unroll
      for (int i = 0; i < CHUNKS * WORD; ++i) {
        q[r][i / WORD][i % WORD] = as_float(x[i / WORD].v[i % WORD]);
        o[r][i / WORD][i % WORD] = 0;
      }
      top[r] = lowest();
      sum[r] = 0;
      keys[r] = there ? entry.visible(a, query) : Keys{0, 0};
#if HAS_OPERANDS
      const int at[3] = {entry.b, there ? head : 0, there ? query : 0};
      operands[r].find(a, bias, flags, at);
#endif
    }
  }

  /// The score of a key; all lanes of the group get it.
  __device__ float score(const AttentionShape& a, int r, const Elements (&k)[CHUNKS], int key) const {
    float dot = 0;
#pragma unroll
    for (int i = 0; i < CHUNKS * WORD; ++i) dot += q[r][i / WORD][i % WORD] * as_float(k[i / WORD].v[i % WORD]);
#pragma unroll
    for (int step = LANES / 2; step > 0; step /= 2) dot += __shfl_xor_sync(0xffffffffu, dot, step);
    dot = scaled(a, dot);
    if (key < keys[r].first || key >= keys[r].last) return lowest();
#if HAS_OPERANDS
    dot = operands[r].apply(a, dot, key);
#endif
    return dot;
  }

  __device__ void take(int r, float (&s)[TURNS], const Elements (&v)[TURNS][CHUNKS]) {
    float high = top[r];
#pragma unroll
    for (int u = 0; u < TURNS; ++u) high = fmaxf(high, s[u]);
    const float base = high == lowest() ? 0.0f : high, shrink = power_of_two(top[r] - base);
    top[r] = high;
    sum[r] *= shrink;
#pragma unroll
    for (int i = 0; i < CHUNKS * WORD; ++i) o[r][i / WORD][i % WORD] *= shrink;
#pragma unroll
    for (int u = 0; u < TURNS; ++u) {
      const float weight = power_of_two(s[u] - base);
      sum[r] += weight;
#pragma unroll
      for (int i = 0; i < CHUNKS * WORD; ++i) o[r][i / WORD][i % WORD] += weight * as_float(v[u][i / WORD].v[i % WORD]);
    }
  }

  /// Joins the groups of the warp; each gets the result.
  __device__ void join(int r) {
#pragma unroll
    for (int step = LANES; step < 32; step *= 2) {
      const float high = fmaxf(top[r], __shfl_xor_sync(0xffffffffu, top[r], step));
      const float shrink = high == lowest() ? 1.0f : power_of_two(top[r] - high);
      top[r] = high;
      sum[r] *= shrink;
      sum[r] += __shfl_xor_sync(0xffffffffu, sum[r], step);
#pragma unroll
      for (int i = 0; i < CHUNKS * WORD; ++i) {
        float& x = o[r][i / WORD][i % WORD];
        x *= shrink;
        x += __shfl_xor_sync(0xffffffffu, x, step);
      }
    }
  }
};

/// The results of the block's warps, in shared memory: [WARPS][ROWS][D + 2], the last two are top and sum.
__device__ inline void store_state(const State& state, float* memory, int warp, int lane) {
  if (lane >= LANES) return;
#pragma unroll
  for (int r = 0; r < ROWS; ++r) {
    float* to = memory + (warp * ROWS + r) * (D + 2);
#pragma unroll
    for (int i = 0; i < CHUNKS * WORD; ++i)
      to[(i / WORD * LANES + lane) * WORD + i % WORD] = state.o[r][i / WORD][i % WORD];
    if (lane == 0) to[D] = state.top[r], to[D + 1] = state.sum[r];
  }
}

__device__ inline void finish(const AttentionShape& a, const float* memory, const int (&place)[4], const T* sinks, T* y,
                              float* parts) {
  for (int i = int(threadIdx.x); i < ROWS * D; i += WARPS * 32) {
    const int r = i / D, d = i % D, row = place[2] + r;
    const int at[3] = {place[0], place[1] + row % a.pack, row / a.pack};
    if (at[2] >= a.rows) break;
    float top = lowest(), sum = 0, o = 0;
    for (int w = 0; w < WARPS; ++w) top = fmaxf(top, memory[(w * ROWS + r) * (D + 2) + D]);
    const float base = top == lowest() ? 0.0f : top;
    for (int w = 0; w < WARPS; ++w) {
      const float* from = memory + (w * ROWS + r) * (D + 2);
      const float shrink = power_of_two(from[D] - base);
      sum += from[D + 1] * shrink;
      o += from[d] * shrink;
    }
    if (a.splits > 1) {
      const Parts to(parts, a);
      const i64 at_row = Parts::row(a, place[3], at);
      to.sums[at_row * D + d] = o;
      if (d == 0) to.stats[at_row * 2] = top, to.stats[at_row * 2 + 1] = sum;
    } else if (d < a.v_size) {
      const float sink = sinks ? as_float(sinks[at[1]]) * kLog2E : lowest();
      const float value = sum == 0 && sink == lowest() ? a.blind : o * last_factor(top, sum, sink);
      y[at[0] * a.y[0] + at[1] * a.y[1] + at[2] * a.y[2] + d] = Compute<T>::store(value);
    }
  }
}

/// Blocks: (batch * splits, heads of Q over `pack`, blocks of rows), WARPS warps; shared memory for store_state and for
/// ROWS * 129 floats. `counters`: one per row of the grid's y and z and batch entry.
extern "C" __global__ void __launch_bounds__(WARPS * 32, (ROWS > 4   ? 8
                                                          : ROWS > 2 ? 12
                                                                     : 16) /
                                                             WARPS)
    attention_decode(const T* q, const T* k, const T* v, T* y, const void* bias, const u8* flags, const int* lengths,
                     const T* sinks, float* parts, int* counters, AttentionShape a) {
  begin_kernel();
  extern __shared__ __align__(128) unsigned char shared_memory[];
  const int lane = int(threadIdx.x) % 32, warp = int(threadIdx.x) / 32, side = lane / LANES, own = lane % LANES;
  const int b = int(blockIdx.x) % a.batch, split = int(blockIdx.x) / a.batch, head = int(blockIdx.y) * a.pack;
  const int first_row = int(blockIdx.z) * ROWS;
  const Entry entry(a, lengths, b);
  BlockKeys keys(a, entry, first_row);
  keys.divide(split, a.splits);
  const T* const all_k = k + b * a.k[0] + head / a.group * a.k[1];
  const T* const all_v = v + b * a.v[0] + head / a.group * a.v[1];
  State state;
  const int rows[3] = {head, first_row, own};
  state.begin(a, entry, q, bias, flags, rows);
  for (int key = keys.all.first + warp * SIDE * TURNS; key < keys.all.last; key += WARPS * SIDE * TURNS) {
    Elements of_k[TURNS][CHUNKS], of_v[TURNS][CHUNKS];
#pragma unroll
    for (int u = 0; u < TURNS; ++u) {
      const int at = key + u * SIDE + side;
      load_row(of_k[u], all_k + at * a.k[2], own, a.size, at < keys.all.last);
    }
#pragma unroll
    for (int u = 0; u < TURNS; ++u) {
      const int at = key + u * SIDE + side;
      load_row(of_v[u], all_v + at * a.v[2], own, a.v_size, at < keys.all.last);
    }
#pragma unroll
    for (int r = 0; r < ROWS; ++r) {
      float s[TURNS];
#pragma unroll
      for (int u = 0; u < TURNS; ++u) s[u] = state.score(a, r, of_k[u], key + u * SIDE + side);
      state.take(r, s, of_v);
    }
  }
#pragma unroll
  for (int r = 0; r < ROWS; ++r) state.join(r);
  float* const memory = reinterpret_cast<float*>(shared_memory);
  store_state(state, memory, warp, lane);
  __syncthreads();
  const int place[4] = {b, head, first_row, split};
  finish(a, memory, place, sinks, y, parts);
  if (a.splits == 1) return;
  const int rows_at[3] = {b, head, first_row};
  int* const counter = counters + (i64(b) * gridDim.y + blockIdx.y) * gridDim.z + blockIdx.z;
  if (is_last(a, counter, memory)) join_rows<ROWS>(a, parts, rows_at, sinks, y, memory);
}
