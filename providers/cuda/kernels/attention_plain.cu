// Attention in single precision without tensor cores: a block has BM rows of Q and passes over tiles of BN keys. Of its
// 256 threads, 16 share a row. It reads any alignment and any type.
#include "attention_rule.cuh"

#define RM (BM / 16)  // rows of a thread
#define RN (BN / 16)  // keys of a thread: every 16th
#define PITCH (D + 4)
#define WEIGHTS (BN + 4)

struct __align__(16) Four {
  float v[4];
};
struct __align__(8) Two {
  float v[2];
};

/// Copies rows [first, first + rows) as floats; those from `end` on, and columns from `size` on, become zeros.
template <typename Row>
__device__ inline void load_rows(float* to, const Row& row, int rows, int first, int end, int size) {
  for (int i = int(threadIdx.x); i < rows * (D / 4); i += 256) {
    const int r = i / (D / 4), c = i % (D / 4) * 4;
    const bool there = first + r < end;
    const T* from = row(there ? first + r : 0) + c;
    Four f;
#if ALIGNED && FLOATS
    if (there && c < size)
      f = *reinterpret_cast<const Four*>(from);
    else
      f = Four{{0, 0, 0, 0}};
#else
    for (int e = 0; e < 4; ++e) f.v[e] = there && c + e < size ? as_float(from[e]) : 0.0f;
#endif
    *reinterpret_cast<Four*>(to + r * PITCH + c) = f;
  }
}

/// Rows of one thread: first + [0, RM).
struct ThreadRows {
  float top[RM], sum[RM];
  Keys keys[RM];
#if HAS_OPERANDS
  RowOperands operands[RM];
#endif
  __device__ ThreadRows(const AttentionShape& a, const Entry& entry, int head, int first, const void* bias,
                        const u8* flags) {
#pragma unroll
    for (int i = 0; i < RM; ++i) {
      const int row = first + i, query = row / a.pack;
      top[i] = lowest();
      sum[i] = 0;
      keys[i] = query < a.rows ? entry.visible(a, query) : Keys{0, 0};
#if HAS_OPERANDS
      const int at[3] = {entry.b, head + row % a.pack, query < a.rows ? query : 0};
      operands[i].find(a, bias, flags, at);
#endif
    }
  }
  /// Makes the products of row i weights; returns the factor of earlier sums.
  __device__ float weigh(const AttentionShape& a, int i, float (&s)[RN], int key) {
    float high = top[i];
#pragma unroll
    for (int n = 0; n < RN; ++n) {
      const int at = key + n * 16 + int(threadIdx.x) % 16;
      s[n] = scaled(a, s[n]);
      if (at < keys[i].first || at >= keys[i].last) {
        s[n] = lowest();
      } else {
#if HAS_OPERANDS
        s[n] = operands[i].apply(a, s[n], at);
#endif
      }
      high = fmaxf(high, s[n]);
    }
    for (int step = 8; step > 0; step /= 2) high = fmaxf(high, __shfl_xor_sync(0xffffffffu, high, step));
    const float base = high == lowest() ? 0.0f : high, shrink = power_of_two(top[i] - base);
    top[i] = high;
    float total = 0;
#pragma unroll
    for (int n = 0; n < RN; ++n) {
      s[n] = power_of_two(s[n] - base);
      total += s[n];
    }
    for (int step = 8; step > 0; step /= 2) total += __shfl_xor_sync(0xffffffffu, total, step);
    sum[i] = sum[i] * shrink + total;
    return shrink;
  }
};

__device__ inline void multiply_keys(float (&s)[RM][RN], const float* q, const float* k) {
#pragma unroll 4
  for (int d = 0; d < D; d += 4) {
    Four a[RM], b[RN];
#pragma unroll
    for (int i = 0; i < RM; ++i) a[i] = *reinterpret_cast<const Four*>(q + i * PITCH + d);
#pragma unroll
    for (int n = 0; n < RN; ++n) b[n] = *reinterpret_cast<const Four*>(k + n * 16 * PITCH + d);
#pragma unroll
    for (int i = 0; i < RM; ++i)
#pragma unroll
      for (int n = 0; n < RN; ++n)
#pragma unroll
        for (int e = 0; e < 4; ++e) s[i][n] += a[i].v[e] * b[n].v[e];
  }
}

__device__ inline void multiply_values(float (&o)[RM][D / 32][2], const float* weights, const float* v) {
#pragma unroll 2
  for (int key = 0; key < BN; key += 4) {
    Four w[RM];
#pragma unroll
    for (int i = 0; i < RM; ++i) w[i] = *reinterpret_cast<const Four*>(weights + i * WEIGHTS + key);
#pragma unroll
    for (int j = 0; j < 4; ++j)
#pragma unroll
      for (int c = 0; c < D / 32; ++c) {
        const Two x = *reinterpret_cast<const Two*>(v + (key + j) * PITCH + c * 32);
#pragma unroll
        for (int i = 0; i < RM; ++i) {
          o[i][c][0] += w[i].v[j] * x.v[0];
          o[i][c][1] += w[i].v[j] * x.v[1];
        }
      }
  }
}

__device__ inline void store(const AttentionShape& a, const ThreadRows& rows, float (&o)[RM][D / 32][2],
                             const int (&place)[4], const T* sinks, T* y, float* parts) {
  const int column = int(threadIdx.x) % 16 * 2;
#pragma unroll
  for (int i = 0; i < RM; ++i) {
    const int row = place[2] + i, at[3] = {place[0], place[1] + row % a.pack, row / a.pack};
    if (at[2] >= a.rows) continue;
    if (a.splits > 1) {
      const Parts to(parts, a);
      const i64 r = Parts::row(a, place[3], at);
#pragma unroll
      for (int c = 0; c < D / 16; ++c) to.sums[r * D + c / 2 * 32 + column + c % 2] = o[i][c / 2][c % 2];
      if (column == 0) to.stats[r * 2] = rows.top[i], to.stats[r * 2 + 1] = rows.sum[i];
      continue;
    }
    const float sink = sinks ? as_float(sinks[at[1]]) * kLog2E : lowest();
    const float factor = last_factor(rows.top[i], rows.sum[i], sink);
    const bool blind = rows.sum[i] == 0 && sink == lowest();
    T* to = y + at[0] * a.y[0] + at[1] * a.y[1] + at[2] * a.y[2];
#pragma unroll
    for (int c = 0; c < D / 16; ++c) {
      const int d = c / 2 * 32 + column + c % 2;
      if (d < a.v_size) to[d] = Compute<T>::store(blind ? a.blind : o[i][c / 2][c % 2] * factor);
    }
  }
}

/// Blocks: (batch * splits, heads of Q over `pack`, blocks of rows), 256 threads.
extern "C" __global__ void __launch_bounds__(256)
    attention_plain(const T* q, const T* k, const T* v, T* y, const void* bias, const u8* flags, const int* lengths,
                    const T* sinks, float* parts, AttentionShape a) {
  begin_kernel();
  extern __shared__ __align__(128) unsigned char shared_memory[];
  float* const tile_q = reinterpret_cast<float*>(shared_memory);
  float* const tile = tile_q + BM * PITCH;  // of K, then of V
  float* const weights = tile + BN * PITCH;
  const int x = int(threadIdx.x) % 16, first = int(threadIdx.x) / 16 * RM;
  const int b = int(blockIdx.x) % a.batch, split = int(blockIdx.x) / a.batch, head = int(blockIdx.y) * a.pack;
  const int first_row = int(gridDim.z - 1 - blockIdx.z) * BM;
  const Entry entry(a, lengths, b);
  BlockKeys keys(a, entry, first_row);
  keys.divide(split, a.splits);
  const T* const all_k = k + b * a.k[0] + head / a.group * a.k[1];
  const T* const all_v = v + b * a.v[0] + head / a.group * a.v[1];
  const auto row_q = [&](int r) { return q + b * a.q[0] + (head + r % a.pack) * a.q[1] + r / a.pack * a.q[2]; };
  const auto row_k = [&](int r) { return all_k + r * a.k[2]; };
  const auto row_v = [&](int r) { return all_v + r * a.v[2]; };
  ThreadRows rows(a, entry, head, first_row + first, bias, flags);
  float o[RM][D / 32][2] = {};
  load_rows(tile_q, row_q, BM, first_row, a.rows * a.pack, a.size);
  const int end = keys.all.last;
  for (int key = keys.all.first / BN * BN; key < end; key += BN) {
    load_rows(tile, row_k, BN, key, end, a.size);
    __syncthreads();
    float s[RM][RN] = {};
    multiply_keys(s, tile_q + first * PITCH, tile + x * PITCH);
#pragma unroll
    for (int i = 0; i < RM; ++i) {
      const float shrink = rows.weigh(a, i, s[i], key);
#pragma unroll
      for (int c = 0; c < D / 16; ++c) o[i][c / 2][c % 2] *= shrink;
#pragma unroll
      for (int n = 0; n < RN; ++n) weights[(first + i) * WEIGHTS + n * 16 + x] = s[i][n];
    }
    __syncthreads();
    load_rows(tile, row_v, BN, key, end, a.v_size);
    __syncthreads();
    multiply_values(o, weights + first * WEIGHTS, tile + x * 2);
    __syncthreads();
  }
  const int place[4] = {b, head, first_row + first, split};
  store(a, rows, o, place, sinks, y, parts);
}
