// Products of 64 rows by a group of four warps, of compute capability 9.0 (compiled for sm_90a). They are submitted,
// and run while the group does something else. The right side lies in shared memory; the left side there or in
// registers.
// A warp has 16 of the rows; its sums, and the left side in registers, lie as those of tensor_cores.cuh.
//
// In shared memory, a matrix lies in panels of 64 elements, 128 bytes a row, that begin at multiples of 1024 bytes. The
// eight words of 16 bytes of a row are permuted: word w of row r is at w ^ r % 8.
#pragma once
#include "places.cuh"

#ifdef __CUDACC_RTC__
#define TEXT_OF(x) #x
#define TEXT(x) TEXT_OF(x)
#define KIND TEXT(ELEMENT)  // as instructions call it
#define SUMS4(d, n) "+f"(d[n][0]), "+f"(d[n][1]), "+f"(d[n][2]), "+f"(d[n][3])
#define SUMS16(d, n) SUMS4(d, n), SUMS4(d, n + 1), SUMS4(d, n + 2), SUMS4(d, n + 3)

/// How products find a matrix: its place, and the distances in bytes from one panel to the next (only of a right side
/// whose rows have columns side by side) and from eight rows to the next eight.
typedef u64 GroupMatrix;
__device__ inline GroupMatrix matrix(Place place, int leading, int stride) {
  return u64((place & 0x3ffffu) >> 4) | u64(leading >> 4) << 16 | u64(stride >> 4) << 32 | u64(1) << 62;
}
__device__ inline void groups_begin() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
__device__ inline void groups_commit() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }
template <int kPending>
__device__ inline void groups_wait() {
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(kPending) : "memory");
}
/// What this thread's copies have written to shared memory is there for products, after a __syncthreads.
__device__ inline void show_copies() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }
/// Keeps the compiler from moving what makes or uses the values across this, as it does not know what waits are for.
template <int kColumns>
__device__ inline void settle(float (&x)[kColumns][4]) {
#pragma unroll
  for (int i = 0; i < kColumns * 4; ++i) asm volatile("" : "+f"(x[i / 4][i % 4])::"memory");
}
/// Has the sums, of what is never negative, made before the wait that follows: assemblers move the wait up otherwise.
__device__ inline void finish_before(const float (&sums)[2]) {
  asm volatile("{ .reg .pred p; setp.eq.f32 p, %0, 0fBF800000; @p trap; }" ::"f"(sums[0] + sums[1]) : "memory");
}
__device__ inline void group_product(float (&d)[8][4], GroupMatrix a, GroupMatrix b, int more) {
  asm volatile(
      "{ .reg .pred p; setp.ne.b32 p, %34, 0; "
      "wgmma.mma_async.sync.aligned.m64n64k16.f32." KIND "." KIND
      " {"
      "%0,%1,%2,%3,%4,%5,%6,%7,%8,%9,%10,%11,%12,%13,%14,%15,%16,%17,%18,%19,%20,%21,%22,%23,%24,"
      "%25,%26,%27,%28,%29,%30,%31"
      "}, %32, %33, p, 1, 1, 0, 0; }"
      : SUMS16(d, 0), SUMS16(d, 4)
      : "l"(a), "l"(b), "r"(more));
}
__device__ inline void group_product(float (&d)[16][4], GroupMatrix a, GroupMatrix b, int more) {
  asm volatile(
      "{ .reg .pred p; setp.ne.b32 p, %66, 0; "
      "wgmma.mma_async.sync.aligned.m64n128k16.f32." KIND "." KIND
      " {"
      "%0,%1,%2,%3,%4,%5,%6,%7,%8,%9,%10,%11,%12,%13,%14,%15,%16,%17,%18,%19,%20,%21,%22,%23,%24,"
      "%25,%26,%27,%28,%29,%30,%31,%32,%33,%34,%35,%36,%37,%38,%39,%40,%41,%42,%43,%44,%45,%46,"
      "%47,%48,%49,%50,%51,%52,%53,%54,%55,%56,%57,%58,%59,%60,%61,%62,%63"
      "}, %64, %65, p, 1, 1, 0, 0; }"
      : SUMS16(d, 0), SUMS16(d, 4), SUMS16(d, 8), SUMS16(d, 12)
      : "l"(a), "l"(b), "r"(more));
}
__device__ inline void group_product(float (&d)[8][4], const u32 (&a)[4], GroupMatrix b) {
  asm volatile("wgmma.mma_async.sync.aligned.m64n64k16.f32." KIND "." KIND
               " {"
               "%0,%1,%2,%3,%4,%5,%6,%7,%8,%9,%10,%11,%12,%13,%14,%15,%16,%17,%18,%19,%20,%21,%22,%23,%24,"
               "%25,%26,%27,%28,%29,%30,%31"
               "}, {%32,%33,%34,%35}, %36, 1, 1, 1, 1;"
               : SUMS16(d, 0), SUMS16(d, 4)
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b));
}
__device__ inline void group_product(float (&d)[16][4], const u32 (&a)[4], GroupMatrix b) {
  asm volatile("wgmma.mma_async.sync.aligned.m64n128k16.f32." KIND "." KIND
               " {"
               "%0,%1,%2,%3,%4,%5,%6,%7,%8,%9,%10,%11,%12,%13,%14,%15,%16,%17,%18,%19,%20,%21,%22,%23,%24,"
               "%25,%26,%27,%28,%29,%30,%31,%32,%33,%34,%35,%36,%37,%38,%39,%40,%41,%42,%43,%44,%45,%46,"
               "%47,%48,%49,%50,%51,%52,%53,%54,%55,%56,%57,%58,%59,%60,%61,%62,%63"
               "}, {%64,%65,%66,%67}, %68, 1, 1, 1, 1;"
               : SUMS16(d, 0), SUMS16(d, 4), SUMS16(d, 8), SUMS16(d, 12)
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b));
}

#else  // a compiler for the host, in tests without a GPU
/// As the instructions find it.
struct GroupMatrix {
  const u8* at;
  int leading, stride;
  __device__ static float value(const u8* p) {
    const u64 address = reinterpret_cast<u64>(p);
    return Compute<T>::load(*reinterpret_cast<const T*>(address ^ (address >> 7 & 7) << 4));
  }
  /// Row r, depth k of a matrix whose rows have the depth side by side.
  __device__ float row_first(int r, int k) const { return value(at + r / 8 * stride + r % 8 * 128 + k * 2); }
  /// Depth k, column c of a matrix whose rows have columns side by side.
  __device__ float depth_first(int k, int c) const {
    return value(at + c / 64 * leading + k / 8 * stride + k % 8 * 128 + c % 64 * 2);
  }
};
__device__ inline GroupMatrix matrix(Place place, int leading, int stride) { return {place, leading, stride}; }
__device__ inline void groups_begin() {}
__device__ inline void groups_commit() {}
template <int kPending>
__device__ inline void groups_wait() {
  __syncwarp();
}
__device__ inline void show_copies() {}
template <int kColumns>
__device__ inline void settle(float (&)[kColumns][4]) {}
__device__ inline void finish_before(const float (&)[2]) {}

template <int kColumns>
__device__ inline void group_product(float (&d)[kColumns][4], GroupMatrix a, GroupMatrix b, int more) {
  const int warp = int(threadIdx.x) / 32 % 4, lane = int(threadIdx.x) % 32;
  for (int i = 0; i < kColumns * 4; ++i) {
    const int row = warp * 16 + lane / 4 + i % 4 / 2 * 8, column = i / 4 * 8 + lane % 4 * 2 + i % 2;
    float sum = more ? d[i / 4][i % 4] : 0;
    for (int k = 0; k < 16; ++k) sum += a.row_first(row, k) * b.row_first(column, k);
    d[i / 4][i % 4] = sum;
  }
}
template <int kColumns>
__device__ inline void group_product(float (&d)[kColumns][4], const u32 (&a)[4], GroupMatrix b) {
  const int lane = int(threadIdx.x) % 32;
  float rows[2][16];
  for (int i = 0; i < 16; ++i) {
    const u32 word = __shfl_sync(0xffffffffu, a[i / 4], lane / 4 * 4 + i % 4);
    for (int half = 0; half < 2; ++half) {
      T x;
      x.bits = u16(word >> half * 16);
      rows[i / 4 % 2][i / 8 * 8 + i % 4 * 2 + half] = Compute<T>::load(x);
    }
  }
  for (int i = 0; i < kColumns * 4; ++i)
    for (int k = 0; k < 16; ++k)
      d[i / 4][i % 4] += rows[i % 4 / 2][k] * b.depth_first(k, i / 4 * 8 + lane % 4 * 2 + i % 2);
}
#endif
__device__ inline Place aligned_place(void* p) {
  const Place place = place_of(p);
#ifdef __CUDACC_RTC__
  return (place + 1023) & ~1023u;
#else
  return place + (1024 - u32(reinterpret_cast<u64>(p)) % 1024) % 1024;
#endif
}
