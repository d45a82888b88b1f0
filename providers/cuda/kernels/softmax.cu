// Softmax and its logarithm. Define: LOGARITHM: 1 for LogSoftmax; those of rows.cuh.
#include "rows.cuh"

constexpr int kAhead = 4;  // packs that a thread reads at once

/// The greatest value that a thread has seen, and the sum of the powers of e relative to it. It begins with the least
/// finite value: minus infinity then has the power 0, and a row of nothing else becomes NaN.
struct Powers {
  A most, total;
  /// Adds the values that are there.
  template <int count>
  __device__ void add(const A (&v)[count], const bool (&there)[count]) {
    A top = most;
#pragma unroll
    for (int i = 0; i < count; ++i) top = there[i] ? Most::apply(top, v[i]) : top;
    total *= exp_of(most - top);
    most = top;
#pragma unroll
    for (int i = 0; i < count; ++i) total += there[i] ? exp_of(v[i] - top) : A(0);
  }
};

/// `rows` rows of `length` elements; x and y may be the same.
extern "C" __global__ void __launch_bounds__(kBlock) softmax(const T* x, T* y, i64 rows, i64 length) {
  begin_kernel();
  const i64 row = i64(blockIdx.x) * (kBlock / THREADS) + threadIdx.x / THREADS;
  if (row >= rows) return;  // a whole warp
  const int lane = threadIdx.x % THREADS;
  x += row * length;
  y += row * length;
  __shared__ A room[32];
  const bool aligned = (u64(x) | u64(y)) % 16 == 0;
  const i64 packs = length / WIDE;
  A most = least_finite(A()), total = A(0);
#if PACKS > 0
  Pack<T> raw[kHeld];
  read_row(x, packs, lane, aligned, raw);
  A value[kHeld * WIDE];
  each_pack(packs, lane, [&](int k, i64) {
#pragma unroll
    for (int v = 0; v < WIDE; ++v) {
      value[k * WIDE + v] = as_computed(raw[k].at[v]);
      most = Most::apply(most, value[k * WIDE + v]);
    }
  });
  most = reduce_row<Most>(most, least_finite(A()), room);
  each_pack(packs, lane, [&](int k, i64) {
#pragma unroll
    for (int v = 0; v < WIDE; ++v) {
      const A power = exp_of(value[k * WIDE + v] - most);
      if (!LOGARITHM) value[k * WIDE + v] = power;
      total += power;
    }
  });
  total = reduce_row<Sum>(total, A(0), room);
#else
  Powers mine = {most, total};
  for (i64 p = lane; p < packs; p += kAhead * THREADS) {
    Pack<T> in[kAhead];
#pragma unroll
    for (int k = 0; k < kAhead; ++k)
      if (p + k * THREADS < packs) read_pack(x + (p + k * THREADS) * WIDE, aligned, in[k]);
    A v[kAhead * WIDE];
    bool there[kAhead * WIDE];
#pragma unroll
    for (int i = 0; i < kAhead * WIDE; ++i) {
      there[i] = p + i / WIDE * THREADS < packs;
      v[i] = as_computed(in[i / WIDE].at[i % WIDE]);
    }
    mine.add(v, there);
  }
  most = reduce_row<Most>(mine.most, most, room);
  total = reduce_row<Sum>(mine.total * exp_of(mine.most - most), A(0), room);
#endif
  const A scale = LOGARITHM ? most + log_of(total) : A(1) / total;
  each_pack(packs, lane, [&](int k, i64 p) {
    Pack<T> out;
#if PACKS == 0
    read_pack(x + p * WIDE, aligned, out);
#endif
#pragma unroll
    for (int v = 0; v < WIDE; ++v) {
#if PACKS > 0
      const A in = value[k * WIDE + v], power = in;
#else
      const A in = as_computed(out.at[v]), power = LOGARITHM ? in : exp_of(in - most);
#endif
      out.at[v] = Compute<T>::store(LOGARITHM ? in - scale : power * scale);
    }
    write_pack(out, aligned, y + p * WIDE);
  });
}

/// Along the middle axis of [outer, length, inner]: 32 neighbouring columns per block, DOWN threads share a column.
extern "C" __global__ void softmax_columns(const T* x, T* y, i64 tiles, i64 length, i64 inner) {
  begin_kernel();
  const int across = threadIdx.x % 32, down = threadIdx.x / 32, downs = blockDim.x / 32;
  const i64 outer = blockIdx.x / tiles, c = blockIdx.x % tiles * 32 + across;
  const i64 begin = outer * length * inner + c;
  Powers mine = {least_finite(A()), A(0)};
  for (i64 i = down; c < inner && i < length; i += kAhead * downs) {
    A v[kAhead];
    bool there[kAhead];
#pragma unroll
    for (int k = 0; k < kAhead; ++k) {
      there[k] = i + k * downs < length;
      v[k] = there[k] ? as_computed(x[begin + (i + k * downs) * inner]) : A(0);
    }
    mine.add(v, there);
  }
  __shared__ A mosts[1024], totals[1024];
  mosts[threadIdx.x] = mine.most;
  totals[threadIdx.x] = mine.total;
  __syncthreads();
  A most = least_finite(A()), total = A(0);
  for (int d = 0; d < downs; ++d) most = Most::apply(most, mosts[d * 32 + across]);
  for (int d = 0; d < downs; ++d) total += totals[d * 32 + across] * exp_of(mosts[d * 32 + across] - most);
  if (c >= inner) return;
  const A scale = LOGARITHM ? most + log_of(total) : A(1) / total;
#pragma unroll 4
  for (i64 i = down; i < length; i += downs) {
    const A in = as_computed(x[begin + i * inner]);
    y[begin + i * inner] = Compute<T>::store(LOGARITHM ? in - scale : exp_of(in - most) * scale);
  }
}
