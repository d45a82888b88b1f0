// The k greatest or least elements along the middle axis of [outer, length, inner], in order; the first of equal ones
// comes first. Small k: tiles are sorted in shared memory, and the best of all tiles are sorted again until one tile is
// left. Large k: the k-th is found by its digits, and the chosen are sorted in device memory.
// Defines: STORED: type of the elements; KEY: u32, or u64 for elements of 8 bytes; GREATEST: 1, or 0 for the least;
// TILE: elements that a block sorts, a power of two.
typedef STORED T;
typedef KEY K;
constexpr int kNobody = 0x7fffffff;

__device__ inline u32 ordered(u32 bits) { return bits >> 31 ? ~bits : bits | 0x80000000u; }
__device__ inline u32 key_of(float v) { return v != v ? ~0u : ordered(float_to_bits(v == 0 ? 0.0f : v)); }
__device__ inline u32 key_of(f16 v) { return key_of(to_float(v)); }
__device__ inline u32 key_of(bf16 v) { return key_of(to_float(v)); }
__device__ inline u64 key_of(double v) {
  union {
    double value;
    u64 bits;
  } u;
  u.value = v == 0 ? 0.0 : v;
  return v != v ? ~0ull : u.bits >> 63 ? ~u.bits : u.bits | 1ull << 63;
}
__device__ inline u32 key_of(int v) { return u32(v) ^ 0x80000000u; }
__device__ inline u32 key_of(i8 v) { return key_of(int(v)); }
__device__ inline u32 key_of(u8 v) { return key_of(int(v)); }
__device__ inline u32 key_of(u32 v) { return v; }
__device__ inline u64 key_of(i64 v) { return u64(v) ^ 1ull << 63; }
__device__ inline u64 key_of(u64 v) { return v; }
/// Greater keys come first.
__device__ inline K key(T v) { return GREATEST ? K(key_of(v)) : K(~key_of(v)); }

/// Sorts `size` pairs (a power of two): the greatest key first, of equal keys the least place. All threads call it.
__device__ inline void sort(K* keys, int* places, int size) {
  for (int span = 2; span <= size; span *= 2)
    for (int step = span / 2; step > 0; step /= 2) {
      __syncthreads();
      for (int t = threadIdx.x; t < size / 2; t += blockDim.x) {
        const int i = 2 * t - (t & (step - 1)), j = i + step;
        const K a = keys[i], b = keys[j];
        const int p = places[i], q = places[j];
        const bool ordered_already = a != b ? a > b : p < q;
        if (ordered_already == ((i & span) == 0)) continue;
        keys[i] = b;
        keys[j] = a;
        places[i] = q;
        places[j] = p;
      }
    }
  __syncthreads();
}

struct Rows {
  i64 length, inner;  // of x
  i64 candidates;     // per row; 0: the elements of x are read
  i64 k;
};
__device__ inline i64 begin_of(const Rows& r, i64 row, i64 along) {
  return row / r.inner * along * r.inner + row % r.inner;
}

__device__ inline void give(const T* x, T* values, i64* indices, const Rows& r, i64 row, const int* places) {
  const i64 from = begin_of(r, row, r.length), to = begin_of(r, row, r.k);
  for (i64 i = threadIdx.x; i < r.k; i += blockDim.x) {
    values[to + i * r.inner] = x[from + places[i] * r.inner];
    indices[to + i * r.inner] = places[i];
  }
}

#ifdef TILE
/// grid.x: row * tiles + tile. One tile: writes the result; more: k candidates of each to `keys` and `places`.
extern "C" __global__ void topk_tiles(const T* x, const K* old_keys, const int* old_places, K* keys, int* places,
                                      T* values, i64* indices, i64 tiles, Rows r) {
  begin_kernel();
  __shared__ K sorted[TILE];
  __shared__ int origin[TILE];
  const i64 row = blockIdx.x / tiles, tile = blockIdx.x % tiles, begin = tile * TILE;
  const i64 count = r.candidates ? r.candidates : r.length, from = begin_of(r, row, r.length);
  for (int t = threadIdx.x; t < TILE; t += blockDim.x) {
    const i64 i = begin + t;
    const bool there = i < count;
    if (r.candidates) {
      sorted[t] = there ? old_keys[row * count + i] : K(0);
      origin[t] = there ? old_places[row * count + i] : kNobody;
    } else {
      sorted[t] = there ? key(x[from + i * r.inner]) : K(0);
      origin[t] = there ? int(i) : kNobody;
    }
  }
  sort(sorted, origin, TILE);
  if (tiles == 1) return give(x, values, indices, r, row, origin);
  for (i64 i = threadIdx.x; i < r.k; i += blockDim.x) {
    keys[(row * tiles + tile) * r.k + i] = sorted[i];
    places[(row * tiles + tile) * r.k + i] = origin[i];
  }
}
#else
/// Finds the k-th key of a row by its digits of 8 bits: keys whose bits under `mask` exceed `prefix` are chosen, and
/// `wanted` of those that equal it.
struct Threshold {
  K prefix, mask;
  int wanted, equal;
};
__device__ inline Threshold find_threshold(const T* x, const Rows& r) {
  __shared__ int counts[256];
  __shared__ Threshold t;
  if (threadIdx.x == 0) {
    const Threshold none = {K(0), K(0), int(r.k), 0};
    t = none;
  }
  for (int shift = 8 * int(sizeof(K)) - 8; shift >= 0; shift -= 8) {
    if (threadIdx.x < 256) counts[threadIdx.x] = 0;
    __syncthreads();
    for (i64 i = threadIdx.x; i < r.length; i += blockDim.x) {
      const K v = key(x[i * r.inner]);
      if ((v & t.mask) == t.prefix) atomicAdd(counts + int(v >> shift & 255), 1);
    }
    __syncthreads();
    if (threadIdx.x == 0) {
      int digit = 255;
      for (; counts[digit] < t.wanted; --digit) t.wanted -= counts[digit];
      t.equal = counts[digit];
      t.prefix |= K(digit) << shift;
      t.mask |= K(255) << shift;
    }
    __syncthreads();
    if (t.equal == t.wanted) break;
  }
  return t;
}

/// A block of 1024 threads for each row; `keys` and `places`: `room` (a power of two, at least k) for each row.
extern "C" __global__ void __launch_bounds__(1024)
    topk_select(const T* x, K* keys, int* places, T* values, i64* indices, int room, Rows r) {
  begin_kernel();
  __shared__ int chosen, before[32];
  const i64 row = blockIdx.x;
  const T* const p = x + begin_of(r, row, r.length);
  keys += row * room;
  places += row * room;
  const Threshold t = find_threshold(p, r);
  if (threadIdx.x == 0) chosen = 0;
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  int equals = 0;  // in the tiles that are done
  for (i64 tile = 0; tile < r.length; tile += 1024) {
    const i64 i = tile + threadIdx.x;
    const K v = i < r.length ? key(p[i * r.inner]) : K(0);
    const bool equal = i < r.length && (v & t.mask) == t.prefix;
    const u32 votes = __ballot_sync(0xffffffffu, equal);
    __syncthreads();
    if (lane == 0) before[warp] = __popc(votes);
    __syncthreads();
    int rank = equals + __popc(votes & ((1u << lane) - 1));
    for (int w = 0; w < 32; ++w) {
      equals += before[w];
      if (w < warp) rank += before[w];
    }
    if (i < r.length && ((v & t.mask) > t.prefix || (equal && rank < t.wanted))) {
      const int at = atomicAdd(&chosen, 1);
      keys[at] = v;
      places[at] = int(i);
    }
  }
  for (int i = int(r.k) + threadIdx.x; i < room; i += blockDim.x) {
    keys[i] = K(0);
    places[i] = kNobody;
  }
  sort(keys, places, room);
  give(x, values, indices, r, row, places);
}
#endif
