// Attention by tensor cores: a block has BM rows of Q, whose weighted sums stay in registers while tiles of BN keys and
// values pass through shared memory, two of each at a time. WARPS warps share the rows.
#include "attention_rule.cuh"
#include "attention_tiles.cuh"

#define MT (BM / 16 / WARPS)  // products of 16 rows of a warp
#define THREADS (WARPS * 32)

/// Blocks: (batch * splits, heads of Q over `pack`, blocks of rows); shared memory for Q and twice K and V.
extern "C" __global__ void __launch_bounds__(THREADS)
    attention_flash(const T* q, const T* k, const T* v, T* y, const void* bias, const u8* flags, const int* lengths,
                    const T* sinks, float* parts, AttentionShape a) {
  begin_kernel();
  extern __shared__ __align__(128) unsigned char shared_memory[];
  T* const tile_q = reinterpret_cast<T*>(shared_memory);
  T* const tile_k = tile_q + BM * PITCH;
  T* const tile_v = tile_k + 2 * BN * PITCH;
  const int thread = int(threadIdx.x), lane = thread % 32, warp = thread / 32;
  const int b = int(blockIdx.x) % a.batch, split = int(blockIdx.x) / a.batch, head = int(blockIdx.y) * a.pack;
  const int first_row = int(gridDim.z - 1 - blockIdx.z) * BM;  // the blocks with the most keys begin first
  const Entry entry(a, lengths, b);
  BlockKeys keys(a, entry, first_row);
  keys.divide(split, a.splits);
  const int begin = keys.all.first / BN * BN, end = keys.all.last;
  const T* next_k = k + b * a.k[0] + head / a.group * a.k[1] + begin * a.k[2];
  const T* next_v = v + b * a.v[0] + head / a.group * a.v[1] + begin * a.v[2];
  if (begin < end) {
    const auto row_q = [&](int i) {
      const int r = first_row + i;
      return q + b * a.q[0] + (head + r % a.pack) * a.q[1] + r / a.pack * a.q[2];
    };
    if (a.pack == 1)
      load_rows<BM, THREADS>(tile_q, row_q(0), a.q[2], a.rows - first_row, a.size, thread);
    else
      load_any_rows<BM, THREADS>(tile_q, row_q, a.rows * a.pack - first_row, a.size, thread);
    load_rows<BN, THREADS>(tile_k, next_k, a.k[2], end - begin, a.size, thread);
    copy_async_commit();
    load_rows<BN, THREADS>(tile_v, next_v, a.v[2], end - begin, a.v_size, thread);
    copy_async_commit();
  }
  RowState<MT> state;
  state.begin(a, entry, head, first_row + warp * MT * 16, bias, flags);
  float o[MT][D / 8][4];
  clear(o);
  const Place place_q = place_of(tile_q + warp * MT * 16 * PITCH + query_start(lane));
  const Place place_k = place_of(tile_k + key_start(lane)), place_v = place_of(tile_v + value_start(lane));
  int now = 0;  // which of the two tiles
  for (int key = begin; key < end; key += BN, now ^= 1) {
    const int next = (now ^ 1) * BN * PITCH;
    next_k += BN * a.k[2];
    next_v += BN * a.v[2];
    if (key + BN < end) load_rows<BN, THREADS>(tile_k + next, next_k, a.k[2], end - key - BN, a.size, thread);
    copy_async_commit();
    float s[MT][BN / 8][4];
    clear(s);
    state.fetch(a, key, end);
    copy_async_wait<2>();
    __syncthreads();  // K is there, and nobody reads the other tile of V any more
    multiply_keys(s, place_q, place_k + now * BN * PITCH * ELEMENT_BYTES);
    if (key + BN < end) load_rows<BN, THREADS>(tile_v + next, next_v, a.v[2], end - key - BN, a.v_size, thread);
    copy_async_commit();
    if (key >= keys.open.first && key + BN <= keys.open.last)
      state.template score<true>(a, s, key);
    else
      state.template score<false>(a, s, key);
    float shrink[MT][2];
    state.weigh(a, s, shrink);
    shrink_sums(o, shrink);
    copy_async_wait<2>();
    __syncthreads();  // V is there, and nobody reads this tile of K any more
    multiply_values(o, s, place_v + now * BN * PITCH * ELEMENT_BYTES);
  }
  const int place[4] = {b, head, first_row + warp * MT * 16, split};
  store_rows(a, state, o, place, sinks, y, parts);
}
