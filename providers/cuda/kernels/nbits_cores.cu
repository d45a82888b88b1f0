#include "nbits_fragments.cuh"
#include "products.cuh"

// Products of few rows with weights in codes (see nbits.cu), by tensor cores: A of the instruction are 16 rows of
// codes, B are 8 rows of x, so that each code is read and decoded once for all rows. The sums of a block are scaled in
// float. ROWS: 8 rows of x at once, TILES: 16 rows of codes of a warp, WARPS: of a block, SPLIT: those that share rows
// of codes, a divisor of WARPS.
// WHOLE: 1 if rows of codes are multiples of 64 bytes, and k of blocks. Rows of codes and of x are multiples of 16
// bytes, and k is one of kLane.
constexpr int kUnits = 4;  // of a row, in a step of the pipeline
constexpr int kScales = (kUnits * kUnit > BLOCK ? kUnits * kUnit : BLOCK) / BLOCK;  // of a row, in a step
constexpr int kHeld = (kScales + 3) / 4;                                            // of them, in a lane
constexpr int kSteps = TILES * ROWS == 1 ? 4 : 3, kWords = kUnits * 4;              // steps in flight; words of a row
constexpr int kStepBytes = TILES * 16 * kWords * 4;
// Blocks of a multiprocessor, as registers allow it.
constexpr int kBlocks = (!kIsFloat && ROWS * TILES == 1 && ZEROS == 0 && BITS >= 4 ? 3 : 2) * 8 / WARPS;
constexpr int kAhead = ROWS * TILES * kRowWords <= 8 ? kUnits : 1;  // units whose x is asked for before it is needed

struct Codes {
  i64 n, k, blocks;  // of a row
};

#if ZEROS == 2
typedef float Zero;  // what it differs from the middle of all codes
#else
typedef u32 Zero;
#endif

// Scales and zero points of rows g and g + 8 of each tile, of blocks t, t + 4... of a step.
struct Held {
  float scale[TILES][2][kHeld];
#if ZEROS != 0
  Zero zero[TILES][2][kHeld];
#endif
};
struct Fetched {  // as they are stored: a conversion would wait for them
  T scale[TILES][2][kHeld];
#if ZEROS == 1
  u8 zero[TILES][2][kHeld];
#elif ZEROS == 2
  T zero[TILES][2][kHeld];
#endif
};

// What a lane reads: its words of rows g of x, units of codes, scales and zero points of rows g and g + 8 of each tile.
struct Task {
  const T* x[ROWS];
  const u8* codes[TILES * 2];
  const T* scales[TILES * 2];
#if ZEROS == 1
  const u8* zeros[TILES * 2];
#elif ZEROS == 2
  const T* zeros[TILES * 2];
#endif
  int k, row_bytes, blocks, lane;
};

__device__ inline Task task_of(const T* x, const u8* codes, const T* scales, const void* zeros, const Few& s,
                               const Codes& w, i64 row0, i64 column0) {
  const int lane = threadIdx.x % 32;
  Task task;
  task.lane = lane;
  task.k = int(s.k);
  task.blocks = int(w.blocks);
  task.row_bytes = int(w.blocks * (BLOCK * BITS / 8));
#pragma unroll
  for (int r = 0; r < ROWS; ++r) {  // sums of a row that is not there are not stored
    const i64 row = row0 + r * 8 + lane / 4;
    task.x[r] = x + (row < s.m ? row : s.m - 1) * s.lead_x + lane % 4 * kLane;
  }
#pragma unroll
  for (int i = 0; i < TILES * 2; ++i) {
    i64 column = column0 + i * 8 + lane / 4;
    column = column < w.n ? column : w.n - 1;
    task.codes[i] = codes + column * task.row_bytes + lane % 4 * 16;
    task.scales[i] = scales + column * w.blocks;
#if ZEROS == 1
    task.zeros[i] = (const u8*)zeros + column * ((w.blocks * BITS + 7) / 8);
#elif ZEROS == 2
    task.zeros[i] = (const T*)zeros + column * w.blocks;
#endif
  }
  return task;
}

// Codes of a step on their way to shared memory. Units of 16 bytes lie so that 8 rows of them use all banks.
__device__ inline void fetch_codes(const Task& task, int step, u8* shared) {
  const int unit = task.lane % 4, at = step * (kUnits * 16);
  const bool there = WHOLE || at + unit * 16 < task.row_bytes;
#pragma unroll
  for (int i = 0; i < TILES * 2; ++i) {
    const int row = i * 8 + task.lane / 4;
    copy16_async(shared + row * (kUnits * 16) + (unit ^ (row / 2 % 4)) * 16, there ? task.codes[i] + at : task.codes[i],
                 there ? 16 : 0);
  }
}

// The block whose scale is number `i` of the lane.
__device__ inline int block_of(const Task& task, int step, int i) {
  const int block = step * (kUnits * kUnit) / BLOCK + (kScales == 1 ? 0 : i * 4 + task.lane % 4);
  return WHOLE || block < task.blocks ? block : task.blocks - 1;
}

__device__ inline void fetch_scales(const Task& task, int step, Fetched& to) {
#pragma unroll
  for (int j = 0; j < kHeld; ++j) {
    const int block = block_of(task, step, j);
#pragma unroll
    for (int i = 0; i < TILES * 2; ++i) {
      to.scale[i / 2][i % 2][j] = task.scales[i][block];
#if ZEROS == 1
      to.zero[i / 2][i % 2][j] = task.zeros[i][block * BITS / 8];
#elif ZEROS == 2
      to.zero[i / 2][i % 2][j] = task.zeros[i][block];
#endif
    }
  }
}

__device__ inline Held held_of(const Task& task, int step, const Fetched& from) {
  Held held;
#pragma unroll
  for (int j = 0; j < kHeld; ++j)
#pragma unroll
    for (int i = 0; i < TILES * 2; ++i) {
      held.scale[i / 2][i % 2][j] = Compute<T>::load(from.scale[i / 2][i % 2][j]);
#if ZEROS == 1
      const int shift = block_of(task, step, j) * BITS % 8;
      held.zero[i / 2][i % 2][j] = u32(from.zero[i / 2][i % 2][j]) >> shift & ((1 << BITS) - 1);
#elif ZEROS == 2
      held.zero[i / 2][i % 2][j] = Compute<T>::load(from.zero[i / 2][i % 2][j]) - float(1 << (BITS - 1));
#endif
    }
  return held;
}

// The value of block `at` of the step; `at / 4` is the same for all lanes.
template <typename V>
__device__ inline V value_of(const V (&held)[kHeld], int group, int at, int lane) {
  return kScales == 1 ? held[0] : __shfl_sync(0xffffffffu, held[group], (lane & ~3) | at % 4);
}

struct Sums {
  float d[TILES][ROWS][4];
#if ZEROS == 2
  float x[ROWS][4];  // sums of x alone
#endif
};

__device__ inline void add_unit(const u32 (&words)[TILES][2], const Row (&rows)[ROWS], int part, const Held& held,
                                int unit, int lane, Sums& sums) {
  const int mine = kParts == 1 ? 0 : lane % 4 * kParts / 4;
#pragma unroll
  for (int tile = 0; tile < TILES; ++tile) {
    u32 a[2][kPairs];
#pragma unroll
    for (int half = 0; half < 2; ++half) {
#if ZEROS == 1
      const int block = unit * kUnit / BLOCK;
      decode(words[tile][half], value_of(held.zero[tile][half], block / 4, block + mine, lane), a[half]);
#else
      decode(words[tile][half], 1u << (BITS - 1), a[half]);
#endif
    }
#pragma unroll
    for (int r = 0; r < ROWS; ++r)
#pragma unroll
      for (int term = kTerms - 1; term >= 0; --term)
#pragma unroll
        for (int i = 0; i < kPairs; i += 2) {
          const bool used = kParts == 1 || mine == part;
          const u32 left[4] = {a[0][i], a[1][i], a[0][i + 1], a[1][i + 1]};
          const u32 right[2] = {used ? rows[r].pair[term][i] : 0u, used ? rows[r].pair[term][i + 1] : 0u};
          multiply(sums.d[tile][r], left, right);
#if ZEROS == 2
          const u32 one = kIsHalf ? 0x3c003c00u : 0x3f803f80u, ones[4] = {one, one, one, one};
          if (tile == 0) multiply(sums.x[r], ones, right);
#endif
        }
  }
}

// Adds the scaled sums of a block to those of all.
__device__ inline void close_block(const Held& held, int block, int lane, const Sums& sums,
                                   float (&total)[TILES][ROWS][4]) {
#pragma unroll
  for (int tile = 0; tile < TILES; ++tile)
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const float scale = value_of(held.scale[tile][half], block / 4, block, lane);
#if ZEROS == 2
      const float zero = value_of(held.zero[tile][half], block / 4, block, lane);
#endif
#pragma unroll
      for (int r = 0; r < ROWS; ++r)
#pragma unroll
        for (int i = 2 * half; i < 2 * half + 2; ++i) {
#if ZEROS == 2
          total[tile][r][i] += scale * (sums.d[tile][r][i] - zero * sums.x[r][i]);
#else
          total[tile][r][i] += scale * sums.d[tile][r][i];
#endif
        }
    }
}

__device__ inline void load_rows(const Task& task, int unit, Elements (&rows)[ROWS]) {
  const int k = unit * kUnit;
  if (WHOLE && k >= task.k) return;  // it is not used
  const bool there = WHOLE || k + task.lane % 4 * kLane < task.k;
#pragma unroll
  for (int r = 0; r < ROWS; ++r) rows[r] = load_row(task.x[r] + k, there);
}

// `loaded`: x of the next kAhead units, at the begin and at the end.
__device__ inline void add_step(const Task& task, int step, const u8* shared, const Fetched& fetched,
                                Elements (&loaded)[kAhead][ROWS], float (&total)[TILES][ROWS][4]) {
  const int lane = task.lane;
  copy_async_wait<kSteps - 2>();
  __syncwarp();
  const Held held = held_of(task, step, fetched);
  Sums sums;
#pragma unroll
  for (int unit = 0; unit < kUnits; ++unit) {
    u32 words[TILES][2];
#pragma unroll
    for (int i = 0; i < TILES * 2; ++i) {
      const int row = i * 8 + lane / 4;
      words[i / 2][i % 2] = ((const u32*)(shared + row * (kUnits * 16) + (unit ^ (row / 2 % 4)) * 16))[lane % 4];
    }
    Row rows[ROWS];
#pragma unroll
    for (int r = 0; r < ROWS; ++r) rows[r] = pairs_of(loaded[unit % kAhead][r].word);
    constexpr int kSkipped = (SPLIT - 1) * kUnits;  // units of other warps between steps
    const int next = unit + kAhead;
    load_rows(task, step * kUnits + next + (next < kUnits ? 0 : kSkipped), loaded[unit % kAhead]);
#pragma unroll
    for (int part = 0; part < kParts; ++part) {
      if (part > 0 || unit * kUnit % BLOCK == 0 || unit == 0) sums = Sums{};
      add_unit(words, rows, part, held, unit, lane, sums);
      if (kParts > 1 || (unit + 1) * kUnit % BLOCK == 0 || unit + 1 == kUnits)
        close_block(held, unit * kUnit / BLOCK + part, lane, sums, total);
    }
  }
  __syncwarp();  // the step's memory is free
}

// Sums of the warps that share columns become results. The warps' memory for codes is free.
__device__ inline void finish_warps(const Few& s, float (&total)[TILES][ROWS][4], float* room, const T* bias, T* y,
                                    i64 row0, i64 column0) {
  constexpr int kSums = TILES * ROWS * 4 * 32;  // of a warp
  const int warp = threadIdx.x / 32, part = warp % SPLIT;
#pragma unroll
  for (int tile = 0; tile < TILES; ++tile)
#pragma unroll
    for (int r = 0; r < ROWS; ++r)
#pragma unroll
      for (int i = 0; i < 4; ++i)
        room[warp * kSums + ((tile * ROWS + r) * 4 + i) * 32 + threadIdx.x % 32] = total[tile][r][i];
  __syncthreads();
  for (int at = part * 32 + threadIdx.x % 32; at < kSums; at += SPLIT * 32) {
    float v = 0;
#pragma unroll
    for (int i = 0; i < SPLIT; ++i) v += room[(warp - part + i) * kSums + at];
    const int lane = at % 32, i = at / 32 % 4, r = at / 128 % ROWS, tile = at / 128 / ROWS;
    const i64 row = row0 + r * 8 + lane % 4 * 2 + i % 2, column = column0 + tile * 16 + lane / 4 + i / 2 * 8;
    if (row < s.m && column < s.n) finish_few(s, row, column, v, bias, (const T*)0, y);
  }
}

extern "C" __global__ void __launch_bounds__(32 * WARPS, kBlocks)
    nbits_cores(const T* __restrict__ x, const u8* __restrict__ codes, const T* __restrict__ scales,
                const void* __restrict__ zeros, const T* __restrict__ bias, T* y, Few s, Codes w) {
  __shared__ __align__(16) u8 shared[WARPS * kSteps * kStepBytes];
  static_assert(TILES * ROWS * 512 <= kSteps * kStepBytes, "sums need more memory than codes");
  constexpr int kBefore = kSteps - 1;
  const int warp = threadIdx.x / 32, part = warp % SPLIT;
  const i64 row0 = i64(blockIdx.y) * (8 * ROWS);
  const i64 column0 = (i64(blockIdx.x) * (WARPS / SPLIT) + warp / SPLIT) * (16 * TILES);
  const Task task = task_of(x, codes, scales, zeros, s, w, row0, column0);
  const int steps = (task.row_bytes + kUnits * 16 - 1) / (kUnits * 16);
  u8* ring = shared + warp * (kSteps * kStepBytes);
  float total[TILES][ROWS][4] = {};
  Fetched fetched[kSteps];
#pragma unroll
  for (int i = 0; i < kBefore; ++i) {
    const int step = part + i * SPLIT;
    if (step < steps) {
      fetch_codes(task, step, ring + i * kStepBytes);
      fetch_scales(task, step, fetched[i]);
    }
    copy_async_commit();
  }
  begin_kernel();  // codes, scales and zero points are constants
  Elements loaded[kAhead][ROWS] = {};
#pragma unroll
  for (int i = 0; i < kAhead; ++i) load_rows(task, part * kUnits + i, loaded[i]);
  for (int base = part; base < steps; base += kSteps * SPLIT)
#pragma unroll
    for (int i = 0; i < kSteps; ++i) {
      const int step = base + i * SPLIT, next = step + kBefore * SPLIT;
      if (step >= steps) break;
      add_step(task, step, ring + i * kStepBytes, fetched[i], loaded, total);
      if (next < steps) {
        fetch_codes(task, next, ring + (i + kBefore) % kSteps * kStepBytes);
        fetch_scales(task, next, fetched[(i + kBefore) % kSteps]);
      }
      copy_async_commit();
    }
  copy_async_wait<0>();
  __syncthreads();
  finish_warps(s, total, (float*)shared, bias, y, row0, column0);
}
