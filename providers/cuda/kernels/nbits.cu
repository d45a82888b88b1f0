#include "products.cuh"

// Products with weights in codes of BITS bits, in blocks of BLOCK along k, which have a scale each:
// (code - zero) * scale. The rows of codes are full blocks, the lowest bits first. ZEROS: 0: all are 2^(BITS - 1),
// 1: codes, packed for each row, 2: elements. ELEMENT is the type of all but the codes.
typedef ELEMENT T;
constexpr int kUnit = 16;             // codes of one block that are decoded together
constexpr int kUnitWords = BITS / 2;  // words of 32 bits
constexpr float kFactor = float(1 << BITS);

struct Codes {
  i64 n, k, blocks;  // of a row
};

__device__ inline float zero_of(const void* zeros, const Codes& s, i64 row, i64 block) {
#if ZEROS == 0
  return float(1 << (BITS - 1));
#elif ZEROS == 1
  const u8 byte = ((const u8*)zeros)[row * ((s.blocks * BITS + 7) / 8) + block * BITS / 8];
  return float(byte >> (block * BITS % 8) & ((1 << BITS) - 1));
#else
  return Compute<T>::load(((const T*)zeros)[row * s.blocks + block]);
#endif
}

// 1 + code / 2^BITS: the code becomes the highest bits of a mantissa.
__device__ inline void decode(const u32 (&words)[kUnitWords], float (&v)[kUnit]) {
  constexpr int kPerWord = 32 / BITS;
#pragma unroll
  for (int i = 0; i < kUnit; ++i) {
    const u32 word = words[i / kPerWord];
    const int left = 23 - BITS - i % kPerWord * BITS;
    const u32 placed = left >= 0 ? word << (left & 31) : word >> (-left & 31);
    v[i] = bits_to_float((placed & ((1u << 23) - (1u << (23 - BITS)))) | 0x3f800000u);
  }
}

#ifdef GEMV
// ROWS, COLUMNS and SPLIT as in gemv.cu. A lane loads one unit of each column at once: with wider loads, the lanes'
// parts of x would lie so far apart that reading them from the cache takes longer than the codes from memory.
struct __align__(kUnitWords * 4) Unit {
  u32 word[kUnitWords];
};

__device__ inline void load_codes(const u8* codes, const i64 (&columns)[COLUMNS], i64 row_bytes, i64 k,
                                  Unit (&units)[COLUMNS]) {
#pragma unroll
  for (int i = 0; i < COLUMNS; ++i) units[i] = *(const Unit*)(codes + columns[i] * row_bytes + k * BITS / 8);
}

// Elements k to k + 15 of a row of x; those after the end are 0.
__device__ inline void load_unit(const T* x, i64 k, i64 end, bool wide, float (&v)[kUnit]) {
  if (wide && k + kUnit <= end) {
    constexpr int kEach = Packed<T>::count;
#pragma unroll
    for (int i = 0; i < kUnit / kEach; ++i) {
      float some[kEach];
      unpack(((const Wide*)(x + k))[i], some, T());
#pragma unroll
      for (int j = 0; j < kEach; ++j) v[i * kEach + j] = some[j];
    }
  } else {
#pragma unroll
    for (int i = 0; i < kUnit; ++i) v[i] = k + i < end ? Compute<T>::load(x[k + i]) : 0.0f;
  }
}

extern "C" __global__ void __launch_bounds__(256, 2)
    nbits_gemv(const T* __restrict__ x, const u8* __restrict__ codes, const T* __restrict__ scales,
               const void* __restrict__ zeros, const T* __restrict__ bias, T* y, Few s, Codes w) {
  begin_kernel();
  __shared__ float parts[8][32];
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32, part = warp % SPLIT;
  const i64 column0 = (i64(blockIdx.x) * (8 / SPLIT) + warp / SPLIT) * COLUMNS;
  const i64 row_bytes = w.blocks * (BLOCK * BITS / 8);
  i64 columns[COLUMNS];
#pragma unroll
  for (int i = 0; i < COLUMNS; ++i) columns[i] = column0 + i < s.n ? column0 + i : s.n - 1;
  const bool wide = aligned16(x) && (s.lead_x % Packed<T>::count == 0 || s.m == 1);
  float sum[ROWS][COLUMNS] = {};
  const i64 step = SPLIT * 32 * kUnit;
  i64 k = (part * 32 + lane) * kUnit;
  Unit next[COLUMNS];
  if (k < s.k) load_codes(codes, columns, row_bytes, k, next);
  for (; k < s.k; k += step) {
    float values[COLUMNS][kUnit], scale[COLUMNS], zero[COLUMNS];
#pragma unroll
    for (int i = 0; i < COLUMNS; ++i) {
      scale[i] = Compute<T>::load(scales[columns[i] * w.blocks + k / BLOCK]);
      zero[i] = kFactor + zero_of(zeros, w, columns[i], k / BLOCK);
    }
    Unit units[COLUMNS];
#pragma unroll
    for (int i = 0; i < COLUMNS; ++i) units[i] = next[i];
    if (k + step < s.k) load_codes(codes, columns, row_bytes, k + step, next);
#pragma unroll
    for (int i = 0; i < COLUMNS; ++i) decode(units[i].word, values[i]);
#pragma unroll
    for (int r = 0; r < ROWS; ++r) {
      float row[kUnit], all = 0;
      load_unit(x + (r < s.m ? r : 0) * s.lead_x, k, s.k, wide, row);
#pragma unroll
      for (int j = 0; j < kUnit; ++j) all += row[j];
#pragma unroll
      for (int i = 0; i < COLUMNS; ++i) {
        float dot = 0;
#pragma unroll
        for (int j = 0; j < kUnit; ++j) dot += row[j] * values[i][j];
        sum[r][i] += scale[i] * (kFactor * dot - zero[i] * all);
      }
    }
  }
  float mine = 0;
#pragma unroll
  for (int r = 0; r < ROWS; ++r)
#pragma unroll
    for (int i = 0; i < COLUMNS; ++i) {
      const float total = reduce_warp<Sum>(sum[r][i]);
      if (lane == r * COLUMNS + i) mine = total;
    }
  if (SPLIT > 1) {
    parts[warp][lane] = mine;
    __syncthreads();
    if (part != 0) return;
#pragma unroll
    for (int i = 1; i < SPLIT; ++i) mine += parts[warp + i][lane];
  }
  const i64 row = lane / COLUMNS, column = column0 + lane % COLUMNS;
  if (lane < ROWS * COLUMNS && row < s.m && column < s.n) finish_few(s, row, column, mine, bias, (const T*)0, y);
}
#endif

// The weights as elements: [n, k]. A thread makes those of a unit.
extern "C" __global__ void __launch_bounds__(256)
    nbits_decode(const u8* __restrict__ codes, const T* __restrict__ scales, const void* __restrict__ zeros, T* y,
                 Codes w) {
  begin_kernel();
  const i64 units = (w.k + kUnit - 1) / kUnit, index = i64(blockIdx.x) * 256 + threadIdx.x;
  if (index >= units * w.n) return;
  const i64 row = index / units, k = index % units * kUnit, block = k / BLOCK;
  const u32* from = (const u32*)(codes + row * w.blocks * (BLOCK * BITS / 8) + k * BITS / 8);
  u32 words[kUnitWords];
#pragma unroll
  for (int i = 0; i < kUnitWords; ++i) words[i] = from[i];
  float v[kUnit];
  decode(words, v);
  const float scale = Compute<T>::load(scales[row * w.blocks + block]), zero = zero_of(zeros, w, row, block);
  constexpr int kEach = Packed<T>::count;
  union {
    Wide all[kUnit / kEach];
    T each[kUnit];
  } made;
#pragma unroll
  for (int i = 0; i < kUnit; ++i) made.each[i] = Compute<T>::store((kFactor * (v[i] - 1.0f) - zero) * scale);
  T* to = y + row * w.k + k;
  if (w.k % kEach == 0 && k + kUnit <= w.k) {
#pragma unroll
    for (int i = 0; i < kUnit / kEach; ++i) ((Wide*)to)[i] = made.all[i];
  } else {
#pragma unroll
    for (int i = 0; i < kUnit; ++i)
      if (k + i < w.k) to[i] = made.each[i];
  }
}
