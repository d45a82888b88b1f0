// Attention of 16-bit elements by the products of whole groups of four warps that compute capability 9.0 has (compiled
// for sm_90a): a group has 64 rows of Q. Its products read K and V straight from shared memory and run while the group
// turns the scores of the tile before into weights. HEAD is 64 or 128, BM = 64 for each group, pack is 1.
#define FLOATS 0
#include "attention_tiles.cuh"
#include "warp_groups.cuh"

#define THREADS (BM * 2)
#ifndef BLOCKS
#define BLOCKS 1  // of a multiprocessor at a time
#endif
// Tiles lie in panels of 64 columns: a row of a panel has 128 bytes, and its eight words of 16 bytes are permuted by
// the row, as the instructions expect it ("128-byte swizzle"). Panels begin at multiples of 1024 bytes.
constexpr int kRowBytes = 128, kTileBytes = BN * D * 2;

/// Copies a tile's rows, `stride` apart; those from `count` on, and columns from `size` on, become zeros.
template <int kRows>
__device__ inline void load_panels(Place to, const T* from, i64 stride, int count, int size) {
  constexpr int kWords = D / 8, kStep = THREADS / kWords;
  static_assert(kStep % 8 == 0, "each thread keeps its place in the permutation");
  const int row = int(threadIdx.x) / kWords, word = int(threadIdx.x) % kWords;
  const int bytes = most(0, least(size - word * 8, 8)) * 2;
  const T* at = from + row * stride + (bytes ? word * 8 : 0);
  to += word / 8 * kRows * kRowBytes + row * kRowBytes + ((word ^ row) % 8) * 16;
  if (count >= kRows && size >= D) {
#pragma unroll
    for (int i = 0; i < kRows; i += kStep) {
      if (kRows % kStep && row + i >= kRows) break;
      copy_whole_word(to + i * kRowBytes, at);
      at += kStep * stride;
    }
    return;
  }
#pragma unroll
  for (int i = 0; i < kRows; i += kStep) {
    if (kRows % kStep && row + i >= kRows) break;
    const bool there = row + i < count;
    copy_word(to + i * kRowBytes, there ? at : from, there ? bytes : 0);
    at += kStep * stride;
  }
}

/// s = Q * K^T for the group's 64 rows.
__device__ inline void begin_scores(float (&s)[BN / 8][4], Place q, Place k) {
#pragma unroll
  for (int d = 0; d < D / 16; ++d) {
    const int in_row = d % 4 * 32;
    group_product(s, matrix(q + d / 4 * BM * kRowBytes + in_row, 16, 8 * kRowBytes),
                  matrix(k + d / 4 * BN * kRowBytes + in_row, 16, 8 * kRowBytes), d > 0);
  }
  groups_commit();
}
/// o += weights * V.
__device__ inline void begin_sums(float (&o)[D / 8][4], const u32 (&w)[BN / 16][4], Place v) {
#pragma unroll
  for (int i = 0; i < BN / 16; ++i)
    group_product(o, w[i], matrix(v + i * 16 * kRowBytes, BN * kRowBytes, 8 * kRowBytes));
  groups_commit();
}
__device__ inline void pack_weights(u32 (&w)[BN / 16][4], const float (&s)[BN / 8][4]) {
#pragma unroll
  for (int i = 0; i < BN / 16; ++i) weights(w[i], s, i);
}

/// The tiles of K and V of a block: two places for each.
struct WideTiles {
  const T *k, *v;
  Place to_k, to_v;
  Keys open;  // those that every row of the block sees
  int begin, end, count;
  __device__ void load_k(const AttentionShape& a, int i) const {
    const i64 first = begin + i64(i) * BN;
    if (i < count) load_panels<BN>(to_k + i % 2 * kTileBytes, k + first * a.k[2], a.k[2], int(end - first), a.size);
  }
  __device__ void load_v(const AttentionShape& a, int i) const {
    const i64 first = begin + i64(i) * BN;
    if (i < count) load_panels<BN>(to_v + i % 2 * kTileBytes, v + first * a.v[2], a.v[2], int(end - first), a.v_size);
  }
};
/// What this thread has loaded is there for the products of all.
template <int kPending>
__device__ inline void wait_for_tiles() {
  copy_async_wait<kPending>();
  show_copies();
  __syncthreads();
}

__device__ inline void weigh(const AttentionShape& a, const WideTiles& tiles, RowState<1>& state,
                             float (&s)[1][BN / 8][4], float (&shrink)[1][2], int tile) {
  const int key = tiles.begin + tile * BN;
  settle(s[0]);
  state.fetch(a, key, tiles.end);
  if (key >= tiles.open.first && key + BN <= tiles.open.last)
    state.template score<true>(a, s, key);
  else
    state.template score<false>(a, s, key);
  state.weigh(a, s, shrink);
}

/// o = the weighted sums of a group's rows; the first tiles are on their way.
__device__ inline void attend(const AttentionShape& a, const WideTiles& tiles, RowState<1>& state,
                              float (&o)[1][D / 8][4], Place q) {
  float s[1][BN / 8][4], shrink[1][2];
  u32 w[BN / 16][4];
  wait_for_tiles<1>();
  clear(s);
  groups_begin();
  begin_scores(s[0], q, tiles.to_k);
  groups_wait<0>();
  weigh(a, tiles, state, s, shrink, 0);
  pack_weights(w, s[0]);
  for (int i = 0; i + 1 < tiles.count; ++i) {
    wait_for_tiles<0>();  // nobody reads K of this tile and V of the one before any more, either
    settle(o[0]);
    groups_begin();
    begin_scores(s[0], q, tiles.to_k + (i + 1) % 2 * kTileBytes);
    begin_sums(o[0], w, tiles.to_v + i % 2 * kTileBytes);
    tiles.load_v(a, i + 1);
    tiles.load_k(a, i + 2);
    copy_async_commit();
    groups_wait<1>();
    weigh(a, tiles, state, s, shrink, i + 1);
    finish_before(state.sum[0]);
    groups_wait<0>();
    settle(o[0]);
    shrink_sums(o, shrink);
    pack_weights(w, s[0]);
  }
  wait_for_tiles<0>();
  settle(o[0]);
  groups_begin();
  begin_sums(o[0], w, tiles.to_v + (tiles.count - 1) % 2 * kTileBytes);
  groups_wait<0>();
  settle(o[0]);
}

/// Blocks: (batch * splits, heads of Q, blocks of rows), BM * 2 threads; shared memory for Q, twice K and V, and 1024
/// bytes.
extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS)
    attention_wide(const T* q, const T* k, const T* v, T* y, const void* bias, const u8* flags, const int* lengths,
                   const T* sinks, float* parts, AttentionShape a) {
  begin_kernel();
  extern __shared__ __align__(1024) unsigned char shared_memory[];
  const Place tile_q = aligned_place(shared_memory);
  const int warp = int(threadIdx.x) / 32;
  const int b = int(blockIdx.x) % a.batch, split = int(blockIdx.x) / a.batch, head = int(blockIdx.y);
  const int first_row = int(gridDim.z - 1 - blockIdx.z) * BM;  // the blocks with the most keys begin first
  const Entry entry(a, lengths, b);
  BlockKeys keys(a, entry, first_row);
  keys.divide(split, a.splits);
  WideTiles tiles;
  tiles.k = k + b * a.k[0] + head / a.group * a.k[1];
  tiles.v = v + b * a.v[0] + head / a.group * a.v[1];
  tiles.to_k = tile_q + BM * D * 2;
  tiles.to_v = tiles.to_k + 2 * kTileBytes;
  tiles.open = keys.open;
  tiles.begin = keys.all.first / BN * BN;
  tiles.end = keys.all.last;
  tiles.count = tiles.begin < tiles.end ? (tiles.end - tiles.begin + BN - 1) / BN : 0;
  RowState<1> state;
  state.begin(a, entry, head, first_row + warp * 16, bias, flags);
  float o[1][D / 8][4];
  clear(o);
  if (tiles.count) {
    load_panels<BM>(tile_q, q + b * a.q[0] + head * a.q[1] + first_row * a.q[2], a.q[2], a.rows - first_row, a.size);
    tiles.load_k(a, 0);
    copy_async_commit();
    tiles.load_v(a, 0);
    tiles.load_k(a, 1);
    copy_async_commit();
    attend(a, tiles, state, o, tile_q + warp / 4 * 64 * kRowBytes);
  }
  const int place[4] = {b, head, first_row + warp * 16, split};
  store_rows(a, state, o, place, sinks, y, parts);
}
