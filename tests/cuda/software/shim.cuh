// In front of every kernel: what NVRTC knows without headers, for g++. kernel_abi.h comes before this text, and
// shim_math.cuh after it.
using size_t = decltype(sizeof 0);
using uint = unsigned;
using ushort = unsigned short;
using uchar = unsigned char;

#define __host__
#define __device__
#define __global__ __attribute__((visibility("default")))
#define __shared__ static
#define __constant__ static
#define __managed__
#define __launch_bounds__(...)
#define __grid_constant__
#define __forceinline__ inline
#define __align__(n) __attribute__((aligned(n)))
#define __builtin_assume(x) ((void)0)

using uint3 = SoftwareIndex;
struct dim3 {
  unsigned x, y, z;
  constexpr dim3(unsigned a = 1, unsigned b = 1, unsigned c = 1) : x(a), y(b), z(c) {}
  constexpr dim3(uint3 v) : x(v.x), y(v.y), z(v.z) {}
};

extern "C" {
[[gnu::visibility("hidden")]] const SoftwareRuntime* software_runtime;
[[gnu::visibility("hidden")]] SoftwareIndex software_thread, software_block, software_block_size, software_grid_size;
[[gnu::visibility("hidden")]] unsigned char* software_shared;
[[gnu::visibility("default")]] extern const SoftwareModule software_module;
const SoftwareModule software_module = {&software_runtime,    &software_thread,    &software_block,
                                        &software_block_size, &software_grid_size, &software_shared};
int printf(const char*, ...);
}
#define threadIdx software_thread
#define blockIdx software_block
#define blockDim software_block_size
#define gridDim software_grid_size
#define warpSize 32

inline void __syncthreads() { software_runtime->sync_threads(); }
inline int __syncthreads_count(int p) { return software_runtime->sync_count(p); }
inline int __syncthreads_or(int p) { return software_runtime->sync_count(p) != 0; }
inline int __syncthreads_and(int p) { return software_runtime->sync_count(!p) == 0; }
inline void __threadfence() {}
inline void __threadfence_block() {}
inline void __threadfence_system() {}
inline void __nanosleep(unsigned) { software_runtime->yield(); }
inline long long clock64() { return (long long)software_runtime->clock(); }
inline long clock() { return (long)software_runtime->clock(); }
inline void __trap() { software_runtime->fail("__trap was called"); }
inline void software_assert(bool fine, const char* what) {
  if (!fine) software_runtime->fail(what);
}
#define assert(x) software_assert(bool(x), "assertion failed: " #x)

inline unsigned software_lane() {
  return (threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z)) & 31u;
}
/// Threads need not run together, so each runs alone.
inline unsigned __activemask() { return 1u << software_lane(); }

struct SoftwareExchange {
  void* value;
  unsigned from, size;
  void* result;
};
inline void software_exchange(void** requests, unsigned mask) {
  for (unsigned l = 0; l < 32; ++l) {
    if (!(mask >> l & 1)) continue;
    SoftwareExchange& e = *(SoftwareExchange*)requests[l];
    // The value of a lane that does not take part is undefined on a device; here all its bits are set.
    if (mask >> e.from & 1) {
      __builtin_memcpy(e.result, ((SoftwareExchange*)requests[e.from])->value, e.size);
    } else {
      __builtin_memset(e.result, 0xFF, e.size);
    }
  }
}
template <typename T>
T software_shuffle(unsigned mask, T value, unsigned from) {
  static_assert(sizeof(T) == 4 || sizeof(T) == 8 || sizeof(T) == 2 || sizeof(T) == 1, "a type that can be shuffled");
  T result;
  SoftwareExchange e = {&value, from, sizeof(T), &result};
  software_runtime->meet(mask, &e, software_exchange);
  return result;
}
template <typename T>
T __shfl_sync(unsigned mask, T v, int source, int width = 32) {
  const unsigned lane = software_lane(), first = lane & ~unsigned(width - 1);
  return software_shuffle(mask, v, first + (unsigned(source) & unsigned(width - 1)));
}
template <typename T>
T __shfl_up_sync(unsigned mask, T v, unsigned delta, int width = 32) {
  const unsigned lane = software_lane(), first = lane & ~unsigned(width - 1);
  return software_shuffle(mask, v, lane - first >= delta ? lane - delta : lane);
}
template <typename T>
T __shfl_down_sync(unsigned mask, T v, unsigned delta, int width = 32) {
  const unsigned lane = software_lane(), first = lane & ~unsigned(width - 1);
  return software_shuffle(mask, v, lane - first + delta < unsigned(width) ? lane + delta : lane);
}
template <typename T>
T __shfl_xor_sync(unsigned mask, T v, int bits, int width = 32) {
  const unsigned lane = software_lane(), other = lane ^ unsigned(bits);
  return software_shuffle(mask, v, other / unsigned(width) > lane / unsigned(width) ? lane : other & 31u);
}

struct SoftwareVote {
  unsigned predicate, ballot;
};
inline void software_vote(void** requests, unsigned mask) {
  unsigned ballot = 0;
  for (unsigned l = 0; l < 32; ++l)
    if (mask >> l & 1 && ((SoftwareVote*)requests[l])->predicate) ballot |= 1u << l;
  for (unsigned l = 0; l < 32; ++l)
    if (mask >> l & 1) ((SoftwareVote*)requests[l])->ballot = ballot;
}
inline unsigned __ballot_sync(unsigned mask, int p) {
  SoftwareVote v = {unsigned(p != 0), 0};
  software_runtime->meet(mask, &v, software_vote);
  return v.ballot;
}
inline int __any_sync(unsigned mask, int p) { return __ballot_sync(mask, p) != 0; }
inline int __all_sync(unsigned mask, int p) { return __ballot_sync(mask, !p) == 0; }
inline void __syncwarp(unsigned mask = 0xffffffffu) { __ballot_sync(mask, 0); }

template <typename T>
struct SoftwareReduce {
  T value;
  int operation;
};
template <typename T>
void software_reduce(void** requests, unsigned mask) {
  using R = SoftwareReduce<T>;
  T all = 0;
  bool any = false;
  for (unsigned l = 0; l < 32; ++l) {
    if (!(mask >> l & 1)) continue;
    const T v = ((R*)requests[l])->value;
    const int o = ((R*)requests[l])->operation;
    all = !any      ? v
          : o == 0 ? T(all + v)
          : o == 1 ? (v < all ? v : all)
          : o == 2 ? (v > all ? v : all)
          : o == 3 ? T(all & v)
          : o == 4 ? T(all | v)
                   : T(all ^ v);
    any = true;
  }
  for (unsigned l = 0; l < 32; ++l)
    if (mask >> l & 1) ((R*)requests[l])->value = all;
}
#define SOFTWARE_REDUCE(name, number, T)                                       \
  inline T name(unsigned mask, T v) {                                          \
    SoftwareReduce<T> r = {v, number};                                         \
    software_runtime->meet(mask, &r, software_reduce<T>);                      \
    return r.value;                                                            \
  }
SOFTWARE_REDUCE(__reduce_add_sync, 0, unsigned)
SOFTWARE_REDUCE(__reduce_add_sync, 0, int)
SOFTWARE_REDUCE(__reduce_min_sync, 1, unsigned)
SOFTWARE_REDUCE(__reduce_min_sync, 1, int)
SOFTWARE_REDUCE(__reduce_max_sync, 2, unsigned)
SOFTWARE_REDUCE(__reduce_max_sync, 2, int)
SOFTWARE_REDUCE(__reduce_and_sync, 3, unsigned)
SOFTWARE_REDUCE(__reduce_or_sync, 4, unsigned)
SOFTWARE_REDUCE(__reduce_xor_sync, 5, unsigned)

// One thread of the machine runs the whole grid, so these need no lock.
#define SOFTWARE_ATOMIC(T)                                                     \
  inline T atomicAdd(T* p, T v) { const T o = *p; *p = (T)(o + v); return o; }   \
  inline T atomicExch(T* p, T v) { const T o = *p; *p = v; return o; }
#define SOFTWARE_ATOMIC_INTEGER(T)                                             \
  SOFTWARE_ATOMIC(T)                                                           \
  inline T atomicSub(T* p, T v) { const T o = *p; *p = (T)(o - v); return o; }   \
  inline T atomicMin(T* p, T v) { const T o = *p; if (v < o) *p = v; return o; } \
  inline T atomicMax(T* p, T v) { const T o = *p; if (v > o) *p = v; return o; } \
  inline T atomicAnd(T* p, T v) { const T o = *p; *p = o & v; return o; }      \
  inline T atomicOr(T* p, T v) { const T o = *p; *p = o | v; return o; }       \
  inline T atomicXor(T* p, T v) { const T o = *p; *p = o ^ v; return o; }      \
  inline T atomicCAS(T* p, T c, T v) { const T o = *p; if (o == c) *p = v; return o; }
SOFTWARE_ATOMIC(float)
SOFTWARE_ATOMIC(double)
SOFTWARE_ATOMIC_INTEGER(int)
SOFTWARE_ATOMIC_INTEGER(unsigned)
SOFTWARE_ATOMIC_INTEGER(long long)
SOFTWARE_ATOMIC_INTEGER(unsigned long long)
inline unsigned short atomicCAS(unsigned short* p, unsigned short c, unsigned short v) {
  const unsigned short o = *p;
  if (o == c) *p = v;
  return o;
}
inline unsigned atomicInc(unsigned* p, unsigned most) {
  const unsigned o = *p;
  *p = o >= most ? 0 : o + 1;
  return o;
}

#define SOFTWARE_LOAD(name) \
  template <typename T>     \
  T name(const T* p) {      \
    return *p;              \
  }
SOFTWARE_LOAD(__ldg)
SOFTWARE_LOAD(__ldcg)
SOFTWARE_LOAD(__ldca)
SOFTWARE_LOAD(__ldcs)
SOFTWARE_LOAD(__ldlu)
SOFTWARE_LOAD(__ldcv)
#define SOFTWARE_STORE(name)                                \
  template <typename T>                                     \
  void name(T* p, typename SoftwareSame<T>::type v) {       \
    *p = v;                                                 \
  }
template <typename T>
struct SoftwareSame {
  using type = T;
};
SOFTWARE_STORE(__stcg)
SOFTWARE_STORE(__stcs)
SOFTWARE_STORE(__stwb)
SOFTWARE_STORE(__stwt)

// Vectors.
#define SOFTWARE_VECTOR(name, T, align2, align4)                                              \
  struct name##1 { T x; };                                                                    \
  struct __align__(align2) name##2 { T x, y; };                                               \
  struct name##3 { T x, y, z; };                                                              \
  struct __align__(align4) name##4 { T x, y, z, w; };                                         \
  SOFTWARE_MAKE(name, T)                                                                      \
  inline name##3 make_##name##3(T x, T y, T z) { return {x, y, z}; }
#define SOFTWARE_MAKE(name, T)                                                                \
  inline name##2 make_##name##2(T x, T y) { return {x, y}; }                                  \
  inline name##4 make_##name##4(T x, T y, T z, T w) { return {x, y, z, w}; }
SOFTWARE_VECTOR(char, signed char, 2, 4)
SOFTWARE_VECTOR(uchar, unsigned char, 2, 4)
SOFTWARE_VECTOR(short, short, 4, 8)
SOFTWARE_VECTOR(ushort, unsigned short, 4, 8)
SOFTWARE_VECTOR(int, int, 8, 16)
SOFTWARE_VECTOR(float, float, 8, 16)
SOFTWARE_VECTOR(double, double, 16, 16)
SOFTWARE_VECTOR(longlong, long long, 16, 16)
SOFTWARE_VECTOR(ulonglong, unsigned long long, 16, 16)
struct uint1 {
  unsigned x;
};
struct __align__(8) uint2 {
  unsigned x, y;
};
struct __align__(16) uint4 {
  unsigned x, y, z, w;
};
SOFTWARE_MAKE(uint, unsigned)
inline uint3 make_uint3(unsigned x, unsigned y, unsigned z) { return {x, y, z}; }

template <int kPending>
void copy_async_wait() {
  software_runtime->wait_copies(kPending);
}
