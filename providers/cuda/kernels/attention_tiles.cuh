// Tiles of Q, K and V in shared memory, and their products by tensor cores. With
// FLOATS 1, elements are float and products are tf32.
#include "attention_rule.cuh"

#if FLOATS
#define PITCH (D + 4)  // rows that four apart are in other banks
#define STEP 8         // depth of one product
#else
#define PITCH (D + 8)
#define STEP 16
#endif
#define WORD (16 / int(sizeof(T)))  // elements of 16 bytes

// A place in shared memory, in bytes: the compiler makes constant distances part of instructions.
#ifdef __CUDACC_RTC__
typedef u32 Place;
__device__ inline Place place_of(const void* p) { return shared_address(p); }
__device__ inline void load_matrices(u32 (&r)[4], Place p) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
               : "r"(p));
}
__device__ inline void load_matrices_turned(u32 (&r)[4], Place p) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3}, [%4];"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
               : "r"(p));
}
__device__ inline float load_float(Place p) {
  float r;
  asm volatile("ld.shared.f32 %0, [%1];" : "=f"(r) : "r"(p));
  return r;
}
__device__ inline void copy_word(Place to, const T* from, int bytes) {
#if HAS_BF16_CORES
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(to), "l"(__cvta_generic_to_global(from)),
               "r"(bytes)
               : "memory");
#else
  Wide x = {};
  if (bytes == 16) {
    x = *reinterpret_cast<const Wide*>(from);
  } else if (bytes) {
    for (int i = 0; i < bytes / int(sizeof(T)); ++i) reinterpret_cast<T*>(&x)[i] = from[i];
  }
  asm volatile("st.shared.v4.u32 [%0], {%1,%2,%3,%4};" ::"r"(to), "r"(x.word[0]), "r"(x.word[1]), "r"(x.word[2]),
               "r"(x.word[3])
               : "memory");
#endif
}
// Takes far fewer instructions than 16 bytes of copy_word.
__device__ inline void copy_whole_word(Place to, const T* from) {
#if HAS_BF16_CORES
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(to), "l"(__cvta_generic_to_global(from)) : "memory");
#else
  copy_word(to, from, 16);
#endif
}
#else
typedef u8* Place;
__device__ inline Place place_of(const void* p) { return static_cast<u8*>(const_cast<void*>(p)); }
__device__ inline void load_matrices(u32 (&r)[4], Place p) { ldmatrix_x4(r, p); }
__device__ inline void load_matrices_turned(u32 (&r)[4], Place p) { ldmatrix_x4_trans(r, p); }
__device__ inline float load_float(Place p) { return *reinterpret_cast<const float*>(p); }
__device__ inline void copy_word(Place to, const T* from, int bytes) { copy16_async(to, from, bytes); }
__device__ inline void copy_whole_word(Place to, const T* from) { copy16_async(to, from, 16); }
#endif
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
__device__ inline u32 pair(f16 low, f16 high) { return u32(low.bits) | u32(high.bits) << 16; }
__device__ inline u32 pair(bf16 low, bf16 high) { return u32(low.bits) | u32(high.bits) << 16; }
#if defined(__CUDACC_RTC__) && HAS_BF16_CORES
__device__ inline u32 pair_of(f16, float low, float high) {
  u32 r;
  asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(r) : "f"(high), "f"(low));
  return r;
}
__device__ inline u32 pair_of(bf16, float low, float high) {
  u32 r;
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(r) : "f"(high), "f"(low));
  return r;
}
#else
__device__ inline u32 pair_of(f16, float low, float high) { return pair(to_f16(low), to_f16(high)); }
__device__ inline u32 pair_of(bf16, float low, float high) { return pair(to_bf16(low), to_bf16(high)); }
#endif
template <typename E>
struct Cores;
template <>
struct Cores<f16> {
  __device__ static void product(float (&d)[4], const u32 (&a)[4], const u32 (&b)[2]) { mma_f16(d, a, b); }
};
#if HAS_BF16_CORES || !defined(__CUDACC_RTC__)
template <>
struct Cores<bf16> {
  __device__ static void product(float (&d)[4], const u32 (&a)[4], const u32 (&b)[2]) { mma_bf16(d, a, b); }
};
#endif
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
