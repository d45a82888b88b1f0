#include "experts_place.cuh"
#include "warp_groups.cuh"

// Layers for many rows of each expert, by tensor cores: a block makes a tile of 128 rows and COLUMNS results, 128 or 256,
// with the products of groups of four warps (compiled for sm_90a). ELEMENT is f16 or bf16, and X the same. Weights are
// elements, or codes that become elements in shared memory. STAGES: places for parts of the rows, at least 3. Rows of x
// are multiples of 8 elements, and those of W of a unit of codes. The arguments and results are those of experts_few.cu.
constexpr int kRows = 128, kDepth = 64, kRowBytes = kDepth * 2;
constexpr int kStageBytes = (kRows + COLUMNS) * kRowBytes, kAhead = STAGES - 2;
constexpr int kThreads = 256, kWords = 8,
              kStep = kThreads / kWords;  // of 16 bytes in a row; rows that are copied at once
static_assert(kStep % 8 == 0, "each thread keeps its place in the permutation");

/// A row of a stage has 128 bytes, whose words are permuted by the row as warp_groups.cuh tells.
__device__ inline Place word_of(Place stage, int row, int word) {
  return stage + row * kRowBytes + ((word ^ row) % 8) * 16;
}

/// Where a thread copies rows of x from: kRows / kStep rows that are kStep apart, one word of each.
struct Rows {
  const T* from[kRows / kStep];
  int count;
  __device__ Rows(const ExpertTile& p, const Layer& s, const X* x, const int* order) {
    const int row = int(threadIdx.x) / kWords;
    count = (p.count - row + kStep - 1) / kStep;
#pragma unroll
    for (int i = 0; i < kRows / kStep; ++i) {
      const int at = p.first + (i < count ? row + i * kStep : 0);
      from[i] = (const T*)x + (s.per_token ? order[at] / s.per_token : at) * s.k + threadIdx.x % kWords * 8;
    }
  }
  __device__ void load(const Layer& s, Place stage, i64 k) const {
    const int row = int(threadIdx.x) / kWords, word = int(threadIdx.x) % kWords;
    const bool there = k + word * 8 < s.k;
    const Place to = word_of(stage, row, word);
#pragma unroll
    for (int i = 0; i < kRows / kStep; ++i)
      if (i < count) copy_word(to + i * kStep * kRowBytes, there ? from[i] + k : from[i] - word * 8, there ? 16 : 0);
  }
};

__device__ inline Matrix chosen(const Matrix* matrices, i64 v) {
  return matrix_of(v) ? matrices[GATE == 3 ? 1 : 0] : matrices[0];
}

#if BITS == 0
/// The same for rows of W.
struct Weights {
  const T* from;
  i64 step;
  int count;
  __device__ Weights(const Matrix* matrices, const Layer& s, int expert, i64 first) {
    const int row = int(threadIdx.x) / kWords;
    const i64 v = first + row, left = s.results - v;
    count = left <= 0 ? 0 : left > COLUMNS ? COLUMNS / kStep : int((left + kStep - 1) / kStep);
    from = (const T*)chosen(matrices, v).codes + (expert * s.rows + row_of(s, left > 0 ? v : 0)) * s.k;
    step = (GATE > 1 ? kStep / 2 : kStep) * s.k;
  }
  __device__ void load(const Layer& s, Place stage, i64 k) const {
    const int row = int(threadIdx.x) / kWords, word = int(threadIdx.x) % kWords;
    const bool there = k + word * 8 < s.k;
    const T* at = there ? from + k + word * 8 : from;
    const Place to = word_of(stage, row, word);
#pragma unroll
    for (int i = 0; i < COLUMNS / kStep; ++i, at += step)
      if (i < count) copy_word(to + i * kStep * kRowBytes, at, there ? 16 : 0);
  }
};
#else
/// A thread decodes some units of one row of W. They are read a stage before.
struct Weights {
  static constexpr int kUnits = COLUMNS / (kThreads / (kDepth / kUnit));
  const Matrix matrix;
  const i64 row;
  const int expert, first_unit;
  Unit units[kUnits];
  float scale[kUnits], zero[kUnits];
  __device__ Weights(const Matrix* matrices, const Layer& s, int expert, i64 first)
      : matrix(chosen(matrices, threadIdx.x % COLUMNS)),
        row(row_of(
            s, first + threadIdx.x % COLUMNS < s.results ? first + threadIdx.x % COLUMNS : threadIdx.x % COLUMNS % 2)),
        expert(expert),
        first_unit(int(threadIdx.x) / COLUMNS * kUnits) {}
  __device__ void read(const Layer& s, i64 k) {
#pragma unroll
    for (int i = 0; i < kUnits; ++i) {
      const i64 at = k + (first_unit + i) * kUnit;
      if (at >= s.k) continue;
      units[i] = load_unit(matrix, s, expert, row, at);
      scale[i] = scale_of(matrix, s, expert, row, at);
      zero[i] = zero_of(matrix, s, expert, row, at);
    }
  }
  __device__ void write(const Layer& s, Place stage, i64 k) const {
#pragma unroll
    for (int i = 0; i < kUnits; ++i) {
      const bool there = k + (first_unit + i) * kUnit < s.k;
      float v[kUnit];
      decode(units[i], v);
      Wide words[2];
#pragma unroll
      for (int j = 0; j < kUnit / 2; ++j) {
        const float low = scale[i] * (kFactor * v[2 * j] - zero[i]),
                    high = scale[i] * (kFactor * v[2 * j + 1] - zero[i]);
        words[j / 4].word[j % 4] = there ? pair_of(T{}, low, high) : 0u;
      }
#pragma unroll
      for (int j = 0; j < 2; ++j)
        store_word(word_of(stage, int(threadIdx.x) % COLUMNS, (first_unit + i) * 2 + j), words[j]);
    }
  }
};
#endif

struct Products {
  float d[COLUMNS / 128][16][4];
  __device__ void begin() {
#pragma unroll
    for (int i = 0; i < COLUMNS / 2; ++i) d[i / 64][i / 4 % 16][i % 4] = 0;
  }
  __device__ void submit(Place stage) {
    const Place left = stage + int(threadIdx.x) / 128 * 64 * kRowBytes, right = stage + kRows * kRowBytes;
    groups_begin();
#pragma unroll
    for (int i = 0; i < kDepth / 16; ++i)
#pragma unroll
      for (int half = 0; half < COLUMNS / 128; ++half)
        group_product(d[half], matrix(left + i * 32, 16, 8 * kRowBytes),
                      matrix(right + half * 128 * kRowBytes + i * 32, 16, 8 * kRowBytes), 1);
    groups_commit();
  }
  __device__ void finish() {
    groups_wait<0>();
#pragma unroll
    for (int half = 0; half < COLUMNS / 128; ++half) settle(d[half]);
  }
  template <typename F>
  __device__ void each(const F& f) const {
    const int row = int(threadIdx.x) / 32 * 16 + int(threadIdx.x) % 32 / 4, column = int(threadIdx.x) % 4 * 2;
#pragma unroll
    for (int i = 0; i < COLUMNS / 4; ++i) {
      const float(&four)[4] = d[i / 32][i / 2 % 16];
      f(row + i % 2 * 8, column + i / 2 * 8, four[i % 2 * 2], four[i % 2 * 2 + 1]);
    }
  }
};

/// Blocks: (tiles, parts of the results), so that those that share weights run at the same time; shared memory for
/// STAGES stages and 1024 bytes.
extern "C" __global__ void __launch_bounds__(kThreads, 1)
    experts_cores(const X* __restrict__ x, OUT* y, const int* order, const int* begin, const int* tiles, int experts,
                  const u8* codes, const S* scales, const u8* zeros, const T* bias, const u8* codes3, const S* scales3,
                  const u8* zeros3, const T* bias3, Layer s, Activation f) {
  extern __shared__ __align__(1024) unsigned char shared_memory[];
  ExpertTile p;
  if (!find_place(begin, tiles, experts, int(blockIdx.x), kRows, p)) return;
  const Matrix matrices[2] = {{codes, scales, zeros, bias}, {codes3, scales3, zeros3, bias3}};
  const Place ring = aligned_place(shared_memory);
  const i64 column = i64(blockIdx.y) * COLUMNS;
  const int stages = int((s.k + kDepth - 1) / kDepth);
  const Rows rows(p, s, x, order);
  Weights weights(matrices, s, p.expert, column);
  const auto stage_of = [&](int i) { return ring + i % STAGES * kStageBytes; };
  const auto fetch = [&](int i) {
    if (i < stages) {
      rows.load(s, stage_of(i), i64(i) * kDepth);
#if BITS == 0
      weights.load(s, stage_of(i) + kRows * kRowBytes, i64(i) * kDepth);
#endif
    }
    copy_async_commit();
  };
#if BITS
  weights.read(s, 0);
  weights.write(s, stage_of(0) + kRows * kRowBytes, 0);
  weights.read(s, kDepth);
#endif
  for (int i = 0; i < kAhead; ++i) fetch(i);
  // A group of four warps whose rows do not exist only copies.
  const bool works = int(threadIdx.x) / 128 * 64 < p.count;
  Products products;
  products.begin();
  for (int i = 0; i < stages; ++i) {
    copy_async_wait<kAhead - 1>();
    show_copies();
    __syncthreads();  // the products of the stage before the last have ended, too
    if (works) products.submit(stage_of(i));
    fetch(i + kAhead);
#if BITS
    if (i + 1 < stages) weights.write(s, stage_of(i + 1) + kRows * kRowBytes, i64(i + 1) * kDepth);
    weights.read(s, i64(i + 2) * kDepth);
#endif
    groups_wait<1>();
  }
  products.finish();
  products.each(
      [&](int row, int at, float a, float b) { store_two(matrices, s, f, p, row, column + at, a, b, order, y); });
}
