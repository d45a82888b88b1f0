// What every kernel may use: types of elements, their conversion to and from float, reductions over a warp and a block.
// It comes before the text of each kernel. NVRTC has no headers of the toolkit, so nothing is included.
// A kernel stores elements as f16, bf16 and so on, and computes in float (in double for double, in long long for
// integers).
#pragma once

typedef unsigned char u8;
typedef signed char i8;
typedef unsigned short u16;
typedef short i16;
typedef unsigned int u32;
typedef long long i64;
typedef unsigned long long u64;

struct f16 {
  u16 bits;
};
struct bf16 {
  u16 bits;
};
/// 16 bytes, the widest access of a thread.
struct __align__(16) Wide {
  u32 word[4];
};

#ifdef __CUDACC_RTC__
__device__ inline float to_float(f16 v) {
  float r;
  asm("cvt.f32.f16 %0, %1;" : "=f"(r) : "h"(v.bits));
  return r;
}
__device__ inline f16 to_f16(float v) {
  f16 r;
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(r.bits) : "f"(v));
  return r;
}
__device__ inline float bits_to_float(u32 v) { return __uint_as_float(v); }
__device__ inline u32 float_to_bits(float v) { return __float_as_uint(v); }
#else  // a compiler for the host, in tests without a GPU: it defines these four, the built-in variables and functions
float to_float(f16 v);
f16 to_f16(float v);
float bits_to_float(u32 v);
u32 float_to_bits(float v);
#endif

/// Every kernel begins with this: on newer GPUs it is launched while the one before still runs (core/kernels.h). What
/// comes before this call may only read constants of the model. Once all its blocks have called it, the next may begin.
__device__ inline void begin_kernel() {
#if defined(__CUDACC_RTC__) && __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.wait;" ::: "memory");
  asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#endif
}

__device__ inline float to_float(bf16 v) { return bits_to_float(u32(v.bits) << 16); }
/// Rounds to nearest even; NaN stays NaN.
__device__ inline bf16 to_bf16(float v) {
  const u32 b = float_to_bits(v);
  bf16 r;
  r.bits = (b & 0x7fffffffu) > 0x7f800000u ? u16((b >> 16) | 0x40u) : u16((b + 0x7fffu + ((b >> 16) & 1u)) >> 16);
  return r;
}

/// The type in which a kernel computes with elements of type T, and both conversions.
template <typename T>
struct Compute {
  typedef T type;
  __device__ static T load(T v) { return v; }
  __device__ static T store(T v) { return v; }
};
template <>
struct Compute<f16> {
  typedef float type;
  __device__ static float load(f16 v) { return to_float(v); }
  __device__ static f16 store(float v) { return to_f16(v); }
};
template <>
struct Compute<bf16> {
  typedef float type;
  __device__ static float load(bf16 v) { return to_float(v); }
  __device__ static bf16 store(float v) { return to_bf16(v); }
};

struct Sum {
  template <typename A>
  __device__ static A apply(A a, A b) {
    return a + b;
  }
};
struct Most {  // NaN stays
  template <typename A>
  __device__ static A apply(A a, A b) {
    return a > b || a != a ? a : b;
  }
};

/// Of the 32 lanes of a warp; each lane gets the result.
template <typename Operation, typename A>
__device__ inline A reduce_warp(A v) {
  for (int step = 16; step > 0; step /= 2) v = Operation::apply(v, __shfl_xor_sync(0xffffffffu, v, step));
  return v;
}
/// Of a block of whole warps, at most 1024 threads; each thread gets the result. `room`: shared memory for 32 values,
/// free again when this returns.
template <typename Operation, typename A>
__device__ inline A reduce_block(A v, A none, A* room) {
  v = reduce_warp<Operation>(v);
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32, warps = blockDim.x / 32;
  if (lane == 0) room[warp] = v;
  __syncthreads();
  v = reduce_warp<Operation>(lane < warps ? room[lane] : none);
  __syncthreads();
  return v;
}
