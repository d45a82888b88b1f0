// Copies between tensors with any strides, and transpositions. It follows words.cuh.

extern "C" __global__ void __launch_bounds__(256) copy_box(const Unit* from, Unit* to, i64 count, Walk walk) {
  begin_kernel();
  const bool aligned = ((u64(from) | u64(to)) % WORD) == 0;
  const i64 first = first_word();
  Place rest[4], source[4], target[4];
  for (int k = 0; k < 4; ++k) {
    rest[k] = Place(first + k * 256 < count ? first + k * 256 : 0);
    source[k] = target[k] = 0;
  }
  for (int d = walk.rank - 1; d > 0; --d) {
    for (int k = 0; k < 4; ++k) {
      const Place next = divide(rest[k], walk.extent[d]), at = rest[k] - next * walk.extent[d].by;
      source[k] += at * walk.from[d];
      target[k] += at * walk.to[d];
      rest[k] = next;
    }
  }
  Word words[4];
  for (int k = 0; k < 4; ++k) words[k] = load_word(from, Signed(source[k] + rest[k] * walk.from[0]), aligned);
  for (int k = 0; k < 4; ++k)
    if (first + k * 256 < count) store_word(to, i64(target[k] + rest[k] * walk.to[0]), words[k], aligned);
}

/// A transposition in tiles: the source is contiguous along `across`, the target along `down`.
struct Tiles {
  i64 across, down;          // extents
  i64 from_down, to_across;  // strides
  u32 tiles_across, tiles_down;
  int rank;  // of the other axes
  u32 extent[MOST_AXES];
  i64 from[MOST_AXES], to[MOST_AXES];
};

template <int tile>
__device__ inline void transpose(const Unit* from, Unit* to, const Tiles& t) {
  constexpr int kRows = 256 / tile;
  constexpr int kPitch = tile + (WORD < 4 ? 4 / WORD : 1);  // neighbours in a column lie in different banks
  __shared__ Whole room[tile * kPitch];
  const bool aligned = ((u64(from) | u64(to)) % WORD) == 0;
  u32 rest = blockIdx.x;
  const i64 across0 = i64(rest % t.tiles_across) * tile;
  rest /= t.tiles_across;
  const i64 down0 = i64(rest % t.tiles_down) * tile;
  rest /= t.tiles_down;
  i64 source = 0, target = 0;
  for (int d = t.rank - 1; d >= 0; --d) {
    const u32 at = rest % t.extent[d];
    rest /= t.extent[d];
    source += at * t.from[d];
    target += at * t.to[d];
  }
  const int x = threadIdx.x % tile, y = threadIdx.x / tile;
  const i64 across = across0 + x, down = down0 + x;
  Word words[tile / kRows];
  if (across < t.across) {
    source += (down0 + y) * t.from_down + across;
#pragma unroll
    for (int k = 0; k < tile / kRows; ++k)  // all are on their way before the first is used
      if (down0 + y + k * kRows < t.down) words[k] = load_word(from, source + k * kRows * t.from_down, aligned);
#pragma unroll
    for (int k = 0; k < tile / kRows; ++k) room[(y + k * kRows) * kPitch + x] = words[k].whole;
  }
  __syncthreads();
  if (down >= t.down) return;
  target += (across0 + y) * t.to_across + down;
#pragma unroll
  for (int k = 0; k < tile / kRows; ++k) {
    if (across0 + y + k * kRows >= t.across) continue;
    Word w;
    w.whole = room[x * kPitch + y + k * kRows];
    store_word(to, target + k * kRows * t.to_across, w, aligned);
  }
}
extern "C" __global__ void __launch_bounds__(256) transpose_32(const Unit* from, Unit* to, Tiles t) {
  begin_kernel();
  transpose<32>(from, to, t);
}
#if WORD <= 4
extern "C" __global__ void __launch_bounds__(256) transpose_64(const Unit* from, Unit* to, Tiles t) {
  begin_kernel();
  transpose<64>(from, to, t);
}
#endif
