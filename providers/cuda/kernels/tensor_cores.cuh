// Products of small matrices by a warp, and copies into shared memory that run while the kernel computes. This text
// follows prelude.cuh in front of each kernel. All 32 lanes of a warp call these functions together, in the same order.
//
// Fragments, with g = lane / 4 and t = lane % 4; "k, k + 1" are the two halves of a word, the lower half first:
//   16-bit types, d (16 x 8) += a (16 x 16) * b (16 x 8)
//     a[0]: row g,     k 2t, 2t + 1        a[2]: row g,     k 2t + 8, 2t + 9
//     a[1]: row g + 8, k 2t, 2t + 1        a[3]: row g + 8, k 2t + 8, 2t + 9
//     b[0]: k 2t, 2t + 1, column g         b[1]: k 2t + 8, 2t + 9, column g
//   tf32, d (16 x 8) += a (16 x 8) * b (8 x 8); the words hold floats, of which the low 13 bits are ignored
//     a[0]: row g, k t     a[1]: row g + 8, k t     a[2]: row g, k t + 4     a[3]: row g + 8, k t + 4
//     b[0]: k t, column g     b[1]: k t + 4, column g
//   d[0], d[1]: row g, columns 2t, 2t + 1     d[2], d[3]: row g + 8, columns 2t, 2t + 1
// HAS_BF16_CORES is 1 if mma_bf16 and mma_tf32 exist (compute capability 8.0 and later). The others always exist.
#pragma once

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
#define HAS_BF16_CORES 1
#else
#define HAS_BF16_CORES 0
#endif

#ifdef __CUDACC_RTC__

__device__ inline void mma_f16(float (&d)[4], const u32 (&a)[4], const u32 (&b)[2]) {
#if HAS_BF16_CORES
  asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
               : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
#else  // two products of half the depth
  asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5}, {%6}, {%0,%1,%2,%3};"
               : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
               : "r"(a[0]), "r"(a[1]), "r"(b[0]));
  asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5}, {%6}, {%0,%1,%2,%3};"
               : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
               : "r"(a[2]), "r"(a[3]), "r"(b[1]));
#endif
}

/// a & mask | bits, in one instruction.
__device__ inline u32 and_or(u32 a, u32 mask, u32 bits) {
  u32 r;
  asm("lop3.b32 %0, %1, %2, %3, 0xEA;" : "=r"(r) : "r"(a), "r"(mask), "r"(bits));
  return r;
}
/// The lower halves of two words, and the upper ones; that of `a` is the lower half of the result.
__device__ inline u32 low_halves(u32 a, u32 b) { return __byte_perm(a, b, 0x5410); }
__device__ inline u32 high_halves(u32 a, u32 b) { return __byte_perm(a, b, 0x7632); }
/// a * b + c of two float16 each, rounded once.
__device__ inline u32 fma_f16(u32 a, u32 b, u32 c) {
  u32 r;
  asm("fma.rn.f16x2 %0, %1, %2, %3;" : "=r"(r) : "r"(a), "r"(b), "r"(c));
  return r;
}
/// Sums of two numbers of 16 bits.
__device__ inline u32 add_f16(u32 a, u32 b) {
  u32 r;
  asm("add.rn.f16x2 %0, %1, %2;" : "=r"(r) : "r"(a), "r"(b));
  return r;
}
__device__ inline u32 add_bf16(u32 a, u32 b) {
#if HAS_BF16_CORES
  u32 r;
  asm("fma.rn.bf16x2 %0, %1, %2, %3;" : "=r"(r) : "r"(a), "r"(0x3f803f80u), "r"(b));
  return r;
#else
  return u32(to_bf16(bits_to_float(a << 16) + bits_to_float(b << 16)).bits) |
         u32(to_bf16(bits_to_float(a & 0xffff0000u) + bits_to_float(b & 0xffff0000u)).bits) << 16;
#endif
}

#if HAS_BF16_CORES
__device__ inline void mma_bf16(float (&d)[4], const u32 (&a)[4], const u32 (&b)[2]) {
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}
__device__ inline void mma_tf32(float (&d)[4], const u32 (&a)[4], const u32 (&b)[2]) {
  asm volatile(
      "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}
#endif

/// The 32-bit address of shared memory that instructions take.
__device__ inline u32 shared_address(const void* p) { return u32(__cvta_generic_to_shared(p)); }

/// Loads four 8 x 8 matrices of 16-bit elements. Lane l gives the address of row l % 8 of matrix l / 8: 16 bytes,
/// aligned. r[i] of a lane: row g of matrix i, columns 2t, 2t + 1.
__device__ inline void ldmatrix_x4(u32 (&r)[4], const void* shared) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
               : "r"(shared_address(shared))
               : "memory");
}
/// The same with each matrix transposed. r[i] of a lane: rows 2t, 2t + 1 of matrix i, column g.
__device__ inline void ldmatrix_x4_trans(u32 (&r)[4], const void* shared) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3}, [%4];"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
               : "r"(shared_address(shared))
               : "memory");
}

/// Copies 16 bytes, both sides aligned to 16; of the source only the first `bytes`, 0 to 16, are read, and the rest is
/// zero. The copy is there after copy_async_wait, for other threads after a __syncthreads that follows it.
__device__ inline void copy16_async(void* shared, const void* global, int bytes) {
#if HAS_BF16_CORES
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(shared_address(shared)),
               "l"(__cvta_generic_to_global(global)), "r"(bytes)
               : "memory");
#else
  if (bytes == 16) {
    *static_cast<Wide*>(shared) = *static_cast<const Wide*>(global);
  } else {
    for (int i = 0; i < 16; ++i) static_cast<u8*>(shared)[i] = i < bytes ? static_cast<const u8*>(global)[i] : u8(0);
  }
#endif
}
__device__ inline void copy16_async(void* shared, const void* global) { copy16_async(shared, global, 16); }
/// Closes the group of this thread's copies since the last commit.
__device__ inline void copy_async_commit() {
#if HAS_BF16_CORES
  asm volatile("cp.async.commit_group;" ::: "memory");
#endif
}
/// Waits until at most `kPending` of the last groups of this thread are still on their way.
template <int kPending>
__device__ inline void copy_async_wait() {
#if HAS_BF16_CORES
  asm volatile("cp.async.wait_group %0;" ::"n"(kPending) : "memory");
#endif
}

#else  // a compiler for the host, in tests without a GPU: it defines most of them

inline u32 and_or(u32 a, u32 mask, u32 bits) { return (a & mask) | bits; }
inline u32 low_halves(u32 a, u32 b) { return (a & 0xffffu) | b << 16; }
inline u32 high_halves(u32 a, u32 b) { return a >> 16 | (b & 0xffff0000u); }
inline u32 fma_f16(u32 a, u32 b, u32 c) {  // the product of two float16 is an exact float
  u32 r = 0;
  for (int shift = 0; shift < 32; shift += 16) {
    f16 v[3];
    v[0].bits = u16(a >> shift);
    v[1].bits = u16(b >> shift);
    v[2].bits = u16(c >> shift);
    r |= u32(to_f16(to_float(v[0]) * to_float(v[1]) + to_float(v[2])).bits) << shift;
  }
  return r;
}
inline u32 add_f16(u32 a, u32 b) {
  f16 low[2], high[2];
  low[0].bits = u16(a);
  low[1].bits = u16(b);
  high[0].bits = u16(a >> 16);
  high[1].bits = u16(b >> 16);
  return u32(to_f16(to_float(low[0]) + to_float(low[1])).bits) | u32(to_f16(to_float(high[0]) + to_float(high[1])).bits)
                                                                     << 16;
}
inline u32 add_bf16(u32 a, u32 b) {
  return u32(to_bf16(bits_to_float(a << 16) + bits_to_float(b << 16)).bits) |
         u32(to_bf16(bits_to_float(a & 0xffff0000u) + bits_to_float(b & 0xffff0000u)).bits) << 16;
}
void mma_f16(float (&d)[4], const u32 (&a)[4], const u32 (&b)[2]);
void mma_bf16(float (&d)[4], const u32 (&a)[4], const u32 (&b)[2]);
void mma_tf32(float (&d)[4], const u32 (&a)[4], const u32 (&b)[2]);
void ldmatrix_x4(u32 (&r)[4], const void* shared);
void ldmatrix_x4_trans(u32 (&r)[4], const void* shared);
void copy16_async(void* shared, const void* global, int bytes);
void copy16_async(void* shared, const void* global);
void copy_async_commit();
template <int kPending>
void copy_async_wait();

#endif
