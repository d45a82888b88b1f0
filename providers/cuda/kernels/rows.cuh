// Rows that a warp or a block shares and keeps in registers, for softmax.cu and norm.cu.
// Defines: STORED: type of the elements; WIDE: elements of one access: 1, or 16 bytes of them if the row length allows;
// THREADS: threads that share a row: 32 (a warp; 4 rows per block) or all of the block; PACKS: accesses of each thread
// for a row, 0 for rows that are too long for registers and are read again in each pass.
typedef STORED T;
typedef Compute<T>::type A;
constexpr int kBlock = THREADS == 32 ? 128 : THREADS;
constexpr int kHeld = PACKS ? PACKS : 1;

template <int bytes>
struct Words {
  Wide word[bytes / 16];
};
template <>
struct Words<8> {
  u64 word;
};
template <>
struct Words<4> {
  u32 word;
};
template <>
struct Words<2> {
  u16 word;
};
/// What one access reads of elements of type E.
template <typename E>
union Pack {
  Words<WIDE* int(sizeof(E))> all;
  E at[WIDE];
};
/// The caller checks that pointers are multiples of 16 bytes; otherwise elements are read one by one.
template <typename E>
__device__ inline void read_pack(const E* p, bool aligned, Pack<E>& to) {
  if (WIDE == 1) {
    to.at[0] = *p;
  } else if (aligned) {
    to.all = *(const Words<WIDE* int(sizeof(E))>*)p;
  } else {
#pragma unroll
    for (int v = 0; v < WIDE; ++v) to.at[v] = p[v];
  }
}
template <typename E>
__device__ inline void write_pack(const Pack<E>& from, bool aligned, E* p) {
  if (WIDE == 1) {
    *p = from.at[0];
  } else if (aligned) {
    *(Words<WIDE* int(sizeof(E))>*)p = from.all;
  } else {
#pragma unroll
    for (int v = 0; v < WIDE; ++v) p[v] = from.at[v];
  }
}
/// Reads a thread's packs of a row, all before the first is used.
__device__ inline void read_row(const T* row, i64 packs, int lane, bool aligned, Pack<T>* to) {
  if (WIDE == 1 || !aligned) {
#pragma unroll
    for (int k = 0; k < kHeld; ++k)
      if (lane + k * THREADS < packs) read_pack(row + (lane + k * THREADS) * WIDE, false, to[k]);
  } else {
#pragma unroll
    for (int k = 0; k < kHeld; ++k)
      if (lane + k * THREADS < packs) read_pack(row + (lane + k * THREADS) * WIDE, true, to[k]);
  }
}

/// f(k, p) for each pack p of this thread; k counts them where the row is held in registers.
template <typename F>
__device__ inline void each_pack(i64 packs, int lane, F f) {
  if (PACKS) {
#pragma unroll
    for (int k = 0; k < kHeld; ++k)
      if (lane + k * THREADS < packs) f(k, i64(lane + k * THREADS));
  } else {
#pragma unroll 2
    for (i64 p = lane; p < packs; p += THREADS) f(0, p);
  }
}

/// Over the threads that share a row.
template <typename Operation>
__device__ inline A reduce_row(A v, A none, A* room) {
  return THREADS == 32 ? reduce_warp<Operation>(v) : reduce_block<Operation>(v, none, room);
}

__device__ inline A as_computed(T v) { return Compute<T>::load(v); }
__device__ inline float exp_of(float v) { return expf(v); }
__device__ inline double exp_of(double v) { return exp(v); }
__device__ inline float log_of(float v) { return logf(v); }
__device__ inline double log_of(double v) { return log(v); }
__device__ inline float root_of(float v) { return sqrtf(v); }
__device__ inline double root_of(double v) { return sqrt(v); }
__device__ inline float least_finite(float) { return bits_to_float(0xff7fffffu); }
__device__ inline double least_finite(double) { return -1.7976931348623157e308; }
