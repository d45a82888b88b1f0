// Places in shared memory, and tensor cores' products of elements T of 16 bits.
#pragma once
#include "tensor_cores.cuh"

typedef ELEMENT T;

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
__device__ inline void store_word(Place to, const Wide& x) {
  asm volatile("st.shared.v4.u32 [%0], {%1,%2,%3,%4};" ::"r"(to), "r"(x.word[0]), "r"(x.word[1]), "r"(x.word[2]),
               "r"(x.word[3])
               : "memory");
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
  store_word(to, x);
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
__device__ inline void store_word(Place to, const Wide& x) { *reinterpret_cast<Wide*>(to) = x; }
__device__ inline void copy_word(Place to, const T* from, int bytes) { copy16_async(to, from, bytes); }
__device__ inline void copy_whole_word(Place to, const T* from) { copy16_async(to, from, 16); }
#endif
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
