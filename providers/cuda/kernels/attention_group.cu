// Attention of few queries with 16-bit elements, by tensor cores: a block has ROWS rows of Q, at most 16, that share
// one head of K and V, and a share of its keys. Each of its warps takes tiles of BN keys and values by itself, with
// STAGES of them on their way, and all join their results at the end.
#define FLOATS 0
#include "attention_join.cuh"
#include "attention_rule.cuh"
#include "attention_tiles.cuh"

#define THREADS (WARPS * 32)
#define TILE (BN * PITCH)  // elements

/// The results of the block's warps, in shared memory: [WARPS][ROWS][D + 4], with the sum and the top at D.
__device__ inline void store_state(const AttentionShape& a, const RowState<1>& state, const float (&o)[1][D / 8][4],
                                   float* memory) {
  const int lane = int(threadIdx.x) % 32, warp = int(threadIdx.x) / 32, t = lane % 4;
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    float sum = state.sum[0][half];
    sum += __shfl_xor_sync(0xffffffffu, sum, 1);
    sum += __shfl_xor_sync(0xffffffffu, sum, 2);
    const int row = half * 8 + lane / 4;
    if (row >= ROWS) continue;
    float* const to = memory + (warp * ROWS + row) * (D + 4);
#pragma unroll
    for (int n = 0; n < D / 8; ++n) {
      to[n * 8 + t * 2] = o[0][n][half * 2];
      to[n * 8 + t * 2 + 1] = o[0][n][half * 2 + 1];
    }
    if (t == 0) to[D] = state.top_of(a, 0, half), to[D + 1] = sum;
  }
}

/// Joins the warps' results: the result, or this block's part of it.
__device__ inline void finish(const AttentionShape& a, const float* memory, const int (&place)[4], const T* sinks, T* y,
                              float* parts) {
  for (int i = int(threadIdx.x); i < ROWS * D; i += THREADS) {
    const int r = i / D, d = i % D, row = place[2] + r;
    const int at[3] = {place[0], place[1] + row % a.pack, row / a.pack};
    if (at[2] >= a.rows) break;
    float top = lowest(), sum = 0, o = 0;
#pragma unroll
    for (int w = 0; w < WARPS; ++w) top = fmaxf(top, memory[(w * ROWS + r) * (D + 4) + D]);
    const float base = top == lowest() ? 0.0f : top;
#pragma unroll
    for (int w = 0; w < WARPS; ++w) {
      const float* from = memory + (w * ROWS + r) * (D + 4);
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

/// The tiles of one warp: every WARPS-th of the block's.
struct WarpTiles {
  T* memory;  // [STAGES][K, V][BN][PITCH]
  const T *k, *v;
  int begin, end, key, stage;  // key, stage: of the tile to load next
  __device__ void load(const AttentionShape& a, int lane) {
    if (key < end) {
      T* const to = memory + stage * 2 * TILE;
      load_rows<BN, 32>(to, k, a.k[2], end - key, a.size, lane);
      load_rows<BN, 32>(to + TILE, v, a.v[2], end - key, a.v_size, lane);
      key += WARPS * BN;
      k += WARPS * BN * a.k[2];
      v += WARPS * BN * a.v[2];
      stage = stage + 1 < STAGES ? stage + 1 : 0;
    }
    copy_async_commit();
  }
};

/// o = the weighted sums of a warp's tiles; the first ones are on their way.
__device__ inline void attend(const AttentionShape& a, WarpTiles& tiles, const Keys& open, RowState<1>& state,
                              float (&o)[1][D / 8][4], Place q) {
  const int lane = int(threadIdx.x) % 32;
  const Place k = place_of(tiles.memory + key_start(lane)), v = place_of(tiles.memory + TILE + value_start(lane));
  copy_async_wait<STAGES - 2>();
  __syncthreads();  // Q is there
  int now = 0;
  for (int key = tiles.begin; key < tiles.end; key += WARPS * BN) {
    float s[1][BN / 8][4], shrink[1][2];
    clear(s);
    state.fetch(a, key, tiles.end);
    copy_async_wait<STAGES - 2>();
    __syncwarp();  // this tile is there, and no lane reads the one before any more
    tiles.load(a, lane);
    multiply_keys(s, q, k + now * 2 * TILE * ELEMENT_BYTES);
    if (key >= open.first && key + BN <= open.last)
      state.template score<true>(a, s, key);
    else
      state.template score<false>(a, s, key);
    state.weigh(a, s, shrink);
    shrink_sums(o, shrink);
    multiply_values(o, s, v + now * 2 * TILE * ELEMENT_BYTES);
    now = now + 1 < STAGES ? now + 1 : 0;
  }
}

/// Blocks: (batch * splits, heads of Q over `pack`, blocks of rows), WARPS warps; shared memory for 16 rows of Q and
/// the stages of all warps, or for store_state or ROWS * 129 floats. `counters`: one per row of the grid's y and z and
/// batch entry.
extern "C" __global__ void __launch_bounds__(THREADS)
    attention_group(const T* q, const T* k, const T* v, T* y, const void* bias, const u8* flags, const int* lengths,
                    const T* sinks, float* parts, int* counters, AttentionShape a) {
  begin_kernel();
  extern __shared__ __align__(128) unsigned char shared_memory[];
  T* const tile_q = reinterpret_cast<T*>(shared_memory);
  const int thread = int(threadIdx.x), lane = thread % 32, warp = thread / 32;
  const int b = int(blockIdx.x) % a.batch, split = int(blockIdx.x) / a.batch, head = int(blockIdx.y) * a.pack;
  const int first_row = int(blockIdx.z) * ROWS;
  const Entry entry(a, lengths, b);
  BlockKeys keys(a, entry, first_row);
  keys.divide(split, a.splits);
  const int begin = keys.all.first / BN * BN + warp * BN;
  WarpTiles tiles;
  tiles.memory = tile_q + 16 * PITCH + warp * STAGES * 2 * TILE;
  tiles.k = k + b * a.k[0] + head / a.group * a.k[1] + begin * a.k[2];
  tiles.v = v + b * a.v[0] + head / a.group * a.v[1] + begin * a.v[2];
  tiles.begin = begin;
  tiles.end = keys.all.last;
  tiles.key = begin;
  tiles.stage = 0;
  const auto row_q = [&](int i) {
    const int r = first_row + i;
    return q + b * a.q[0] + (head + r % a.pack) * a.q[1] + r / a.pack * a.q[2];
  };
  load_any_rows<16, THREADS>(tile_q, row_q, least(ROWS, a.rows * a.pack - first_row), a.size, thread);
#pragma unroll
  for (int i = 0; i < STAGES - 1; ++i) tiles.load(a, lane);
  RowState<1> state;
  state.begin(a, entry, head, first_row, bias, flags);
  float o[1][D / 8][4];
  clear(o);
  attend(a, tiles, keys.open, state, o, place_of(tile_q + query_start(lane)));
  copy_async_wait<0>();
  __syncthreads();
  float* const memory = reinterpret_cast<float*>(shared_memory);
  store_state(a, state, o, memory);
  __syncthreads();
  const int place[4] = {b, head, first_row, split}, rows_at[3] = {b, head, first_row};
  finish(a, memory, place, sinks, y, parts);
  if (a.splits == 1) return;
  int* const counter = counters + (i64(b) * gridDim.y + blockIdx.y) * gridDim.z + blockIdx.z;
  if (is_last(a, counter, memory)) join_rows<ROWS>(a, parts, rows_at, sinks, y, memory);
}
