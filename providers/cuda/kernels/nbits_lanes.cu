#include "nbits_fragments.cuh"
#include "products.cuh"

// Products of one or two rows with weights in codes (see nbits.cu), by tensor cores. A lane reads 16 bytes of a row of
// codes at once, which may belong to another block than those of the lanes beside it. The instruction adds up all lanes
// of a row; so each of its eight columns gets x of one lane of four, and zeros of the others: column 4 r + t of the
// result is the sum of row r of x over what lane t has read. WARPS: of a block; SPLIT: those that share 16 rows of codes,
// a divisor of WARPS; DEPTH: steps that a lane reads ahead. WHOLE: 1 if rows of codes are multiples of 64 bytes, and k of blocks. Rows of
// codes and of x are multiples of 16 bytes, and k is one of kLane.
constexpr int kSpan = 4 * kLane, kStepCodes = 4 * kSpan;          // codes of a lane and of a row in a step
constexpr int kBlocksOfLane = kSpan > BLOCK ? kSpan / BLOCK : 1;  // in a step
constexpr int kWordsOfBlock = 4 / kBlocksOfLane;
constexpr int kColumns = 16 * WARPS / SPLIT;  // of a block

struct Codes {
  i64 n, k, blocks;  // of a row
};

// Steps have as many blocks, and places of a lane's blocks in a step are the same in each. Two lanes' scales lie side by
// side if each has one block.
constexpr bool kEven = WHOLE && BLOCK <= kStepCodes, kPair = kEven && BLOCK == kSpan;
constexpr int kStepBlocks = kEven ? kStepCodes / BLOCK : 0;

// Two values as they are read: what takes them apart waits for them.
template <bool kTogether>
struct Values {  // singly
  T at[2];
  __device__ void read(const T* from, i64 first, i64 second) {
    at[0] = from[first];
    at[1] = from[second];
  }
  __device__ float operator[](int i) const { return Compute<T>::load(at[i]); }
};
template <>
struct Values<true> {  // side by side
  struct __align__(2 * sizeof(T)) Words {
    u32 word[sizeof(T) / 2];
  }
  all;
  __device__ void read(const T* from, i64 first, i64) { all = *(const Words*)(from + first); }
  __device__ float operator[](int i) const {
    if (sizeof(T) == 4) return bits_to_float(all.word[i % (sizeof(T) / 2)]);
    T v;
    *(u16*)&v = u16(all.word[0] >> 16 * i);
    return Compute<T>::load(v);
  }
};
typedef Values<kPair> Two;

// What a lane reads in a step: codes of rows g and g + 8; scales of two lanes' blocks, for the sums that it gets.
struct Step {
  Wide codes[2];
  Two scale[2][kBlocksOfLane];
#if ZEROS == 1
  u8 zero[2][kBlocksOfLane];
#elif ZEROS == 2
  Two zero[2][kBlocksOfLane];
#endif
};

struct Lane {
  const u8* codes[2];
  const T* scales[2];
#if ZEROS == 1
  const u8* zeros[2];
#elif ZEROS == 2
  const T* zeros[2];
#endif
  const Wide* x;
  int t, row_bytes, blocks;
  bool has_x;
};

// The block of lane t's codes in a step, of which it is the part-th.
__device__ inline int block_at(const Lane& lane, int step, int t, int part) {
  const int block = (step * kStepCodes + t * kSpan + part * BLOCK) / BLOCK;
  return WHOLE || block < lane.blocks ? block : lane.blocks - 1;
}

// Values of the blocks of lanes t / 2 * 2 and the next.
__device__ inline void fetch_two(const Lane& lane, const T* values, int step, Two (&to)[kBlocksOfLane]) {
  const int t = lane.t % 2 * 2;
#pragma unroll
  for (int part = 0; part < kBlocksOfLane; ++part) {
    if (kPair)
      to[part].read(values, step * kStepBlocks + t, 0);
    else
      to[part].read(values, block_at(lane, step, t, part), block_at(lane, step, t + 1, part));
  }
}

__device__ inline void fetch(const Lane& lane, int step, Step& to) {
  const bool there = WHOLE || step * 64 + lane.t * 16 < lane.row_bytes;
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    to.codes[half] = there ? *(const Wide*)(lane.codes[half] + step * 64) : Wide{};
    fetch_two(lane, lane.scales[half], step, to.scale[half]);
#if ZEROS == 1
#pragma unroll
    for (int part = 0; part < kBlocksOfLane; ++part)
      to.zero[half][part] = lane.zeros[half][block_at(lane, step, lane.t, part) * BITS / 8];
#elif ZEROS == 2
    fetch_two(lane, lane.zeros[half], step, to.zero[half]);
#endif
  }
}

// x as the instruction takes it. All threads; `capacity`: groups of kLane elements of a row, with those after its end.
__device__ inline void stage_x(const T* x, const Few& s, int capacity, Row* to) {
  for (int row = 0; row < s.m; ++row)
#pragma unroll 2
    for (int i = threadIdx.x; i < capacity; i += 32 * WARPS)
      to[row * capacity + i] = pairs_of(load_row(x + row * s.lead_x + i64(i) * kLane, WHOLE || i * kLane < s.k).word);
}

__device__ inline void add_step(const Lane& lane, int step, const Step& read, Row (&rows)[4], float (&total)[4]) {
  constexpr int kWides = int(sizeof rows) / 16;
  if (lane.has_x) {
#pragma unroll
    for (int i = 0; i < kWides; ++i) ((Wide*)rows)[i] = lane.x[step * (4 * kWides) + i];
  }
#pragma unroll
  for (int part = 0; part < kBlocksOfLane; ++part) {
    float sums[4] = {};
#if ZEROS == 2
    float sums_of_x[4] = {};
#endif
    u32 zero[2] = {1u << (BITS - 1), 1u << (BITS - 1)};
#if ZEROS == 1
#pragma unroll
    for (int half = 0; half < 2; ++half)
      zero[half] = u32(read.zero[half][part]) >> block_at(lane, step, lane.t, part) * BITS % 8 & ((1 << BITS) - 1);
#endif
#pragma unroll
    for (int word = part * kWordsOfBlock; word < (part + 1) * kWordsOfBlock; ++word) {
      u32 a[2][kPairs];
      decode(read.codes[0].word[word], zero[0], a[0]);
      decode(read.codes[1].word[word], zero[1], a[1]);
#pragma unroll
      for (int term = kTerms - 1; term >= 0; --term)
#pragma unroll
        for (int i = 0; i < kPairs; i += 2) {
          const u32 left[4] = {a[0][i], a[1][i], a[0][i + 1], a[1][i + 1]};
          const u32 right[2] = {rows[word].pair[term][i], rows[word].pair[term][i + 1]};
          multiply(sums, left, right);
#if ZEROS == 2
          const u32 one = kIsHalf ? 0x3c003c00u : 0x3f803f80u, ones[4] = {one, one, one, one};
          multiply(sums_of_x, ones, right);
#endif
        }
    }
#pragma unroll
    for (int i = 0; i < 4; ++i) {
#if ZEROS == 2
      sums[i] -= (read.zero[i / 2][part][i % 2] - float(1 << (BITS - 1))) * sums_of_x[i];
#endif
      total[i] += read.scale[i / 2][part][i % 2] * sums[i];
    }
  }
}

// The sums of the warps that share rows of codes become results.
__device__ inline void finish_warps(const Few& s, const float (&total)[4], const T* bias, T* y, i64 column0) {
  __shared__ float room[WARPS][2][16];
  const int warp = threadIdx.x / 32, g = threadIdx.x % 32 / 4, t = threadIdx.x % 4;
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    float v = total[2 * half] + total[2 * half + 1];
    v += __shfl_xor_sync(0xffffffffu, v, 1);
    if (t % 2 == 0) room[warp][t / 2][half * 8 + g] = v;
  }
  __syncthreads();
  const int row = threadIdx.x / kColumns, at = threadIdx.x % kColumns;
  const i64 column = column0 + at;
  if (row >= s.m || column >= s.n) return;
  float v = 0;
#pragma unroll
  for (int i = 0; i < SPLIT; ++i) v += room[at / 16 * SPLIT + i][row][at % 16];
  finish_few(s, row, column, v, bias, (const T*)0, y);
}

__device__ inline Lane lane_of(const u8* codes, const T* scales, const void* zeros, const Few& s, const Codes& w,
                               const Row* x, int capacity, i64 column0) {
  const int g = threadIdx.x % 32 / 4;
  Lane lane;
  lane.t = threadIdx.x % 4;
  lane.blocks = int(w.blocks);
  lane.row_bytes = int(w.blocks * (BLOCK * BITS / 8));
  lane.has_x = g % 4 == lane.t && g / 4 < s.m;
  lane.x = (const Wide*)(x + (lane.has_x ? g / 4 * capacity : 0) + lane.t * 4);
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    i64 column = column0 + half * 8 + g;
    column = column < w.n ? column : w.n - 1;
    lane.codes[half] = codes + column * lane.row_bytes + lane.t * 16;
    lane.scales[half] = scales + column * w.blocks;
#if ZEROS == 1
    lane.zeros[half] = (const u8*)zeros + column * ((w.blocks * BITS + 7) / 8);
#elif ZEROS == 2
    lane.zeros[half] = (const T*)zeros + column * w.blocks;
#endif
  }
  return lane;
}

extern "C" __global__ void __launch_bounds__(32 * WARPS, LEAST_BLOCKS)
    nbits_lanes(const T* __restrict__ x, const u8* __restrict__ codes, const T* __restrict__ scales,
                const void* __restrict__ zeros, const T* __restrict__ bias, T* y, Few s, Codes w) {
  extern __shared__ __align__(16) u8 shared[];
  Row* staged = (Row*)shared;
  const int warp = threadIdx.x / 32, part = warp % SPLIT;
  const i64 column0 = i64(blockIdx.x) * kColumns;
  const int steps = int((w.blocks * (BLOCK * BITS / 8) + 63) / 64), capacity = steps * 16;
  const Lane lane = lane_of(codes, scales, zeros, s, w, staged, capacity, column0 + warp / SPLIT * 16);
  const int each = (steps + SPLIT - 1) / SPLIT, begin = part * each, end = begin + each < steps ? begin + each : steps;
  Step ahead[DEPTH];
#pragma unroll
  for (int i = 0; i < DEPTH; ++i)
    if (begin + i < end) fetch(lane, begin + i, ahead[i]);
  begin_kernel();  // codes, scales and zero points are constants
  stage_x(x, s, capacity, staged);
  __syncthreads();
  float total[4] = {};
  __align__(16) Row rows[4] = {};
  for (int base = begin; base < end; base += DEPTH)
#pragma unroll
    for (int i = 0; i < DEPTH; ++i) {
      if (base + i >= end) break;
      add_step(lane, base + i, ahead[i], rows, total);
      if (base + i + DEPTH < end) fetch(lane, base + i + DEPTH, ahead[i]);
    }
  finish_warps(s, total, bias, y, column0);
}
