// Tiles of Q, K and V in shared memory, and their products by tensor cores. With
// FLOATS 1, elements are float and products are tf32.
#include "attention_rule.cuh"
#include "places.cuh"

#if FLOATS
#define PITCH (D + 4)  // rows that four apart are in other banks
#define STEP 8         // depth of one product
#else
#define PITCH (D + 8)
#define STEP 16
#endif
#define WORD (16 / int(sizeof(T)))  // elements of 16 bytes

#define ELEMENT_BYTES int(sizeof(T))

/// Copies kRows rows to `to`, by kThreads threads; those from `count` on, and columns from `size` on, become zeros.
template <int kRows, int kThreads, typename Row>
__device__ inline void load_any_rows(T* to, const Row& row, int count, int size, int thread) {
#pragma unroll 1
  for (int i = thread; i < kRows * (D / WORD); i += kThreads) {
    const int r = i / (D / WORD), c = i % (D / WORD) * WORD;
    const int there = r < count ? most(0, least(size - c, WORD)) : 0;
    const T* from = row(there ? r : 0);
    T* place = to + r * PITCH + c;
#if ALIGNED
    copy_word(place_of(place), there ? from + c : from, there * ELEMENT_BYTES);
#else
    for (int e = 0; e < WORD; ++e) place[e] = e < there ? from[c + e] : T{};
#endif
  }
}

/// The same for rows `stride` apart, of which the first one exists.
template <int kRows, int kThreads>
__device__ inline void load_rows(T* to, const T* from, i64 stride, int count, int size, int thread) {
  constexpr int kWords = D / WORD, kStep = kThreads / kWords > 0 ? kThreads / kWords : 1;
  if constexpr (ALIGNED == 0 || kThreads % kWords != 0) {
    load_any_rows<kRows, kThreads>(
        to, [&](int r) { return from + r * stride; }, count, size, thread);
    return;
  }
  const int row = thread / kWords, c = thread % kWords * WORD, bytes = most(0, least(size - c, WORD)) * ELEMENT_BYTES;
  const Place place = place_of(to + row * PITCH + c);
  const T* at = from + row * stride + (bytes ? c : 0);
  if (count >= kRows && size >= D) {
#pragma unroll
    for (int i = 0; i < kRows; i += kStep) {
      if (kRows % kStep && row + i >= kRows) break;
      copy_whole_word(place + i * PITCH * ELEMENT_BYTES, at);
      at += kStep * stride;
    }
    return;
  }
#pragma unroll
  for (int i = 0; i < kRows; i += kStep) {
    if (kRows % kStep && row + i >= kRows) break;
    const bool there = row + i < count;
    copy_word(place + i * PITCH * ELEMENT_BYTES, there ? at : from, there ? bytes : 0);
    at += kStep * stride;
  }
}

#if FLOATS
__device__ inline void product(float (&d)[4], const u32 (&a)[4], const u32 (&b)[2]) { mma_tf32(d, a, b); }
__device__ inline u32 rounded(float v) {
#ifdef __CUDACC_RTC__
  u32 r;
  asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(r) : "f"(v));
  return r;
#else
  return float_to_bits(v) + 0x1000u;
#endif
}
/// Rows of Q for one step of the depth.
__device__ inline void load_queries(u32 (&a)[4], Place at) {
  a[0] = rounded(load_float(at));
  a[1] = rounded(load_float(at + 8 * PITCH * ELEMENT_BYTES));
  a[2] = rounded(load_float(at + 4 * ELEMENT_BYTES));
  a[3] = rounded(load_float(at + (8 * PITCH + 4) * ELEMENT_BYTES));
}
/// Two times 8 keys for one step.
__device__ inline void load_keys(u32 (&b)[2][2], Place at) {
  b[0][0] = rounded(load_float(at));
  b[0][1] = rounded(load_float(at + 4 * ELEMENT_BYTES));
  b[1][0] = rounded(load_float(at + 8 * PITCH * ELEMENT_BYTES));
  b[1][1] = rounded(load_float(at + (8 * PITCH + 4) * ELEMENT_BYTES));
}
/// Two times 8 columns of values. Depth t is key 2t and t + 4 is key 2t + 1, so that weights need not move.
__device__ inline void load_values(u32 (&b)[2][2], Place at) {
  b[0][0] = rounded(load_float(at));
  b[0][1] = rounded(load_float(at + PITCH * ELEMENT_BYTES));
  b[1][0] = rounded(load_float(at + 8 * ELEMENT_BYTES));
  b[1][1] = rounded(load_float(at + (PITCH + 8) * ELEMENT_BYTES));
}
// Where a lane begins.
__device__ inline int query_start(int lane) { return lane / 4 * PITCH + lane % 4; }
__device__ inline int key_start(int lane) { return lane / 4 * PITCH + lane % 4; }
__device__ inline int value_start(int lane) { return lane % 4 * 2 * PITCH + lane / 4; }
template <int kColumns>
__device__ inline void weights(u32 (&a)[4], const float (&s)[kColumns][4], int step) {
  a[0] = rounded(s[step][0]);
  a[1] = rounded(s[step][2]);
  a[2] = rounded(s[step][1]);
  a[3] = rounded(s[step][3]);
}
#else
__device__ inline void product(float (&d)[4], const u32 (&a)[4], const u32 (&b)[2]) { Cores<T>::product(d, a, b); }
__device__ inline void load_queries(u32 (&a)[4], Place at) { load_matrices(a, at); }
__device__ inline void load_keys(u32 (&b)[2][2], Place at) {
  u32 r[4];
  load_matrices(r, at);
  b[0][0] = r[0], b[0][1] = r[1], b[1][0] = r[2], b[1][1] = r[3];
}
__device__ inline void load_values(u32 (&b)[2][2], Place at) {
  u32 r[4];
  load_matrices_turned(r, at);
  b[0][0] = r[0], b[0][1] = r[1], b[1][0] = r[2], b[1][1] = r[3];
}
// Where a lane begins.
__device__ inline int query_start(int lane) { return lane % 16 * PITCH + lane / 16 * 8; }
__device__ inline int key_start(int lane) { return (lane / 16 * 8 + lane % 8) * PITCH + lane / 8 % 2 * 8; }
__device__ inline int value_start(int lane) { return lane % 16 * PITCH + lane / 16 * 8; }
template <int kColumns>
__device__ inline void weights(u32 (&a)[4], const float (&s)[kColumns][4], int step) {
  a[0] = pair_of(T{}, s[step * 2][0], s[step * 2][1]);
  a[1] = pair_of(T{}, s[step * 2][2], s[step * 2][3]);
  a[2] = pair_of(T{}, s[step * 2 + 1][0], s[step * 2 + 1][1]);
  a[3] = pair_of(T{}, s[step * 2 + 1][2], s[step * 2 + 1][3]);
}
#endif

/// s += Q * K^T for kTiles times 16 rows and kKeys / 8 times 8 keys. The places are those of the lane.
template <int kTiles, int kColumns>
__device__ inline void multiply_keys(float (&s)[kTiles][kColumns][4], Place q, Place k) {
#pragma unroll
  for (int d = 0; d < D / STEP; ++d) {
    u32 a[kTiles][4];
#pragma unroll
    for (int m = 0; m < kTiles; ++m) load_queries(a[m], q + (m * 16 * PITCH + d * STEP) * ELEMENT_BYTES);
#pragma unroll
    for (int n = 0; n < kColumns / 2; ++n) {
      u32 b[2][2];
      load_keys(b, k + (n * 16 * PITCH + d * STEP) * ELEMENT_BYTES);
#pragma unroll
      for (int m = 0; m < kTiles; ++m) {
        product(s[m][n * 2], a[m], b[0]);
        product(s[m][n * 2 + 1], a[m], b[1]);
      }
    }
  }
}

/// o += weights * V.
template <int kTiles, int kColumns>
__device__ inline void multiply_values(float (&o)[kTiles][D / 8][4], const float (&s)[kTiles][kColumns][4], Place v) {
#pragma unroll
  for (int step = 0; step < kColumns * 8 / STEP; ++step) {
    u32 a[kTiles][4];
#pragma unroll
    for (int m = 0; m < kTiles; ++m) weights(a[m], s[m], step);
#pragma unroll
    for (int n = 0; n < D / 16; ++n) {
      u32 b[2][2];
      load_values(b, v + (step * STEP * PITCH + n * 16) * ELEMENT_BYTES);
#pragma unroll
      for (int m = 0; m < kTiles; ++m) {
        product(o[m][n * 2], a[m], b[0]);
        product(o[m][n * 2 + 1], a[m], b[1]);
      }
    }
  }
}

template <int kTiles, int kColumns>
__device__ inline void clear(float (&x)[kTiles][kColumns][4]) {
#pragma unroll
  for (int i = 0; i < kTiles * kColumns * 4; ++i) x[i / 4 / kColumns][i / 4 % kColumns][i % 4] = 0;
}
