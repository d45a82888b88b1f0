// What the kernels of attention share: which keys a query sees, what is added to scores, and the softmax of scores that
// lie in the fragments of tensor cores. This text comes before attention_*.cu.
//
// Macros: ELEMENT, the type of Q, K, V and Y; HEAD, the head size rounded up; BIAS, the type of what is added to
// scores, and FLAGS, 0 if false flags hide a key and 1 if true ones do (both only if there are such operands); SOFTCAP,
// 1 if scores have a soft cap; ALIGNED, 1 if rows can be read 16 bytes at a time
// and written 2 elements at a time; SHARED_BIAS, 1 if all rows of a block
// have the same BIAS; FUSED, 1 if scores are scaled by their softmax only: the scale is positive, and nothing is added.
// Scores are kept in units of ln 2, so that the softmax needs powers of two only.
#ifndef SHARED_BIAS
#define SHARED_BIAS 0
#endif
#ifndef FUSED
#define FUSED 0
#endif

typedef ELEMENT T;
constexpr int D = HEAD;
struct __align__(2 * sizeof(T)) Neighbours {
  T v[2];
};

/// Strides count elements. Those of Q, K, V and Y are from one batch entry, head and row to the next; those of the
/// operands of scores from one batch entry, head, query and key to the next. The host's copy is AttentionArguments.
struct AttentionShape {
  i64 q[3], k[3], v[3], y[3], bias[4], flags[4];
  int batch, heads, group, rows, keys, size, v_size;  // group: heads of Q that share one of K and V
  int causal, left, right, before;                    // left, right: -1 for no limit; before: keys before query 0
  int length_step, length_plus, from_end;  // keys of entry b: lengths[b * step] + plus; from_end: queries are the last
  int pack, splits;                        // heads that a block's rows alternate between; blocks that share the keys
  float scale, softcap, hidden, blind;     // scale has softcap's division or 1 / ln 2; the others are in units of ln 2
};

constexpr float kLog2E = 1.4426950408889634f;
__device__ inline float lowest() { return bits_to_float(0xff800000u); }
__device__ inline int least(int a, int b) { return a < b ? a : b; }
__device__ inline int most(int a, int b) { return a > b ? a : b; }

#ifdef __CUDACC_RTC__
__device__ inline float power_of_two(float v) {
  float r;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"(v));
  return r;
}
#else
__device__ inline float power_of_two(float v) { return exp2f(v); }
#endif
/// In units of ln 2. A finite number stays finite: the lowest one often stands for a hidden key, and a query that sees
/// only such keys weighs them equally.
__device__ inline float in_units(float v) {
  const float r = v * kLog2E;
  return r == lowest() && v != lowest() ? bits_to_float(0xff7fffffu) : r;
}
__device__ inline float as_float(float v) { return v; }
__device__ inline float as_float(f16 v) { return to_float(v); }
__device__ inline float as_float(bf16 v) { return to_float(v); }

/// Keys [first, last).
struct Keys {
  int first, last;
};

/// One entry of the batch.
struct Entry {
  int b, keys, before;
  __device__ Entry(const AttentionShape& a, const int* lengths, int b) : b(b), keys(a.keys), before(a.before) {
    if (!lengths) return;
    const int given = lengths[i64(b) * a.length_step] + a.length_plus;
    keys = most(least(given, a.keys), 0);
    if (a.from_end) before = given - a.rows;
  }
  __device__ Keys visible(const AttentionShape& a, int query) const {
    const int position = before + query;
    Keys r = {0, keys};
    if (a.causal) r.last = least(r.last, position + 1);
    if (a.right >= 0) r.last = least(r.last, position + 1 + a.right);
    if (a.left >= 0) r.first = most(0, position - a.left);
    r.last = most(r.last, 0);
    r.first = least(r.first, r.last);
    return r;
  }
};

#ifdef BN
/// The keys of a block's BM rows, and those that each of its rows sees.
struct BlockKeys {
  Keys all, open;
  __device__ BlockKeys(const AttentionShape& a, const Entry& entry, int first_row) {
    const int begin = first_row / a.pack, end = least((first_row + BM - 1) / a.pack, a.rows - 1);
    const Keys low = entry.visible(a, begin), high = entry.visible(a, end);
    all = {least(low.first, high.first), most(low.last, high.last)};
    open = {most(low.first, high.first), least(low.last, high.last)};
  }
  /// The share of one of several blocks: whole tiles.
  __device__ void divide(int split, int splits) {
    const int begin = all.first / BN, tiles = (all.last + BN - 1) / BN - begin, each = (tiles + splits - 1) / splits;
    const int from = begin + least(split * each, tiles), to = begin + least((split + 1) * each, tiles);
    all = {from * BN, least(all.last, to * BN)};
  }
};
#endif

__device__ inline float scaled(const AttentionShape& a, float dot) {
#if SOFTCAP
  return a.softcap * tanhf(dot * a.scale);
#else
  return dot * a.scale;
#endif
}

/// What is added to the scores of a row, and the flags that hide them.
struct RowOperands {
#ifdef BIAS
  const BIAS* bias;
#endif
#ifdef FLAGS
  const u8* flags;
#endif
  __device__ void find(const AttentionShape& a, const void* all_bias, const u8* all_flags, const int (&at)[3]) {
#ifdef BIAS
    bias = static_cast<const BIAS*>(all_bias) + at[0] * a.bias[0] + at[1] * a.bias[1] + at[2] * a.bias[2];
#endif
#ifdef FLAGS
    flags = all_flags + at[0] * a.flags[0] + at[1] * a.flags[1] + at[2] * a.flags[2];
#endif
  }
  __device__ float apply(const AttentionShape& a, float score, int key) const {
#ifdef FLAGS
    if ((flags[key * a.flags[3]] != 0) == (FLAGS != 0)) score = a.hidden;
#endif
#if defined(BIAS) && !SHARED_BIAS
    score += in_units(as_float(bias[key * a.bias[3]]));
#endif
    return score;
  }
};
#if defined(BIAS) || defined(FLAGS)
#define HAS_OPERANDS 1
#else
#define HAS_OPERANDS 0
#endif

/// The softmax of kTiles times 16 rows of a warp, as far as it has come. A lane has rows g and g + 8 of each tile, with
/// g = lane / 4; four lanes share a row.
template <int kTiles>
struct RowState {
  float top[kTiles][2], sum[kTiles][2];  // sum: of this lane's keys only
  int first[kTiles][2], last[kTiles][2];
#if HAS_OPERANDS
  RowOperands operands[kTiles][2];
#endif
#if SHARED_BIAS
  float extra[BN / 8][2];  // what is added to this lane's keys of a tile
#endif

  /// Row r of the block is head r % pack of query r / pack.
  __device__ void begin(const AttentionShape& a, const Entry& entry, int first_head, int first_row, const void* bias,
                        const u8* flags) {
#pragma unroll
    for (int i = 0; i < kTiles * 2; ++i) {
      const int row = first_row + i / 2 * 16 + i % 2 * 8 + int(threadIdx.x % 32) / 4, query = row / a.pack;
      const bool there = query < a.rows;
      const Keys keys = there ? entry.visible(a, query) : Keys{0, 0};
      top[i / 2][i % 2] = lowest();
      sum[i / 2][i % 2] = 0;
      first[i / 2][i % 2] = keys.first;
      last[i / 2][i % 2] = keys.last;
#if HAS_OPERANDS
      const int at[3] = {entry.b, first_head + row % a.pack, there ? query : 0};
      operands[i / 2][i % 2].find(a, bias, flags, at);
#endif
    }
  }

  /// Reads what is added to the scores of a tile, before it is needed.
  __device__ void fetch(const AttentionShape& a, int key, int end) {
#if SHARED_BIAS
#pragma unroll
    for (int i = 0; i < BN / 4; ++i) {
      const int at = key + i / 2 * 8 + int(threadIdx.x % 4) * 2 + i % 2;
      extra[i / 2][i % 2] = at < end ? in_units(as_float(operands[0][0].bias[at * a.bias[3]])) : 0.0f;
    }
#endif
  }

  /// Scales the products of a tile of keys that begins at `key`; hides those that a row does not see, unless the tile
  /// is open: every row sees all of its keys.
  template <bool kOpen, int kColumns>
  __device__ void score(const AttentionShape& a, float (&s)[kTiles][kColumns][4], int key) const {
#pragma unroll
    for (int m = 0; m < kTiles; ++m)
#pragma unroll
      for (int n = 0; n < kColumns; ++n)
#pragma unroll
        for (int e = 0; e < 4; ++e) {
          float& x = s[m][n][e];
#if !FUSED
          x = scaled(a, x);
#endif
          const int at = key + n * 8 + int(threadIdx.x % 4) * 2 + e % 2;
          if (!kOpen && (at < first[m][e / 2] || at >= last[m][e / 2])) {
            x = lowest();
            continue;
          }
#if HAS_OPERANDS
          x = operands[m][e / 2].apply(a, x, at);
#endif
#if SHARED_BIAS
          x += extra[n][e % 2];
#endif
        }
  }

  /// Makes scores weights. NaN stays in them. `shrink`: what the sums of earlier tiles must be multiplied by.
  template <int kColumns>
  __device__ void weigh(const AttentionShape& a, float (&s)[kTiles][kColumns][4], float (&shrink)[kTiles][2]) {
#if FUSED
    const float scale = a.scale;
#else
    const float scale = 1.0f;
#endif
#pragma unroll
    for (int i = 0; i < kTiles * 2; ++i) {
      const int m = i / 2, half = i % 2;
      float high = top[m][half];
#pragma unroll
      for (int n = 0; n < kColumns; ++n) high = fmaxf(high, fmaxf(s[m][n][half * 2], s[m][n][half * 2 + 1]));
      high = fmaxf(high, __shfl_xor_sync(0xffffffffu, high, 1));
      high = fmaxf(high, __shfl_xor_sync(0xffffffffu, high, 2));
      const float base = (high == lowest() ? 0.0f : high) * scale;
      shrink[m][half] = power_of_two(top[m][half] * scale - base);
      top[m][half] = high;
      float total = 0;
#pragma unroll
      for (int n = 0; n < kColumns; ++n)
#pragma unroll
        for (int e = 0; e < 2; ++e) {
          float& x = s[m][n][half * 2 + e];
          x = power_of_two(x * scale - base);
          total += x;
        }
      sum[m][half] = sum[m][half] * shrink[m][half] + total;
    }
  }

  /// The top of a row in units of ln 2.
  __device__ float top_of(const AttentionShape& a, int m, int half) const {
#if FUSED
    return top[m][half] * a.scale;
#else
    return top[m][half];
#endif
  }
};

/// Multiplies the sums of each row by its factor.
template <int kTiles, int kWide>
__device__ inline void shrink_sums(float (&o)[kTiles][kWide][4], const float (&shrink)[kTiles][2]) {
#pragma unroll
  for (int i = 0; i < kTiles * kWide * 4; ++i) {
    const int m = i / 4 / kWide;
    o[m][i / 4 % kWide][i % 4] *= shrink[m][i % 4 / 2];
  }
}

/// The factor of weighted sums whose scores have the top `top` and whose weights have the sum `sum`. `sink`: the score
/// of a key without a value, in units of ln 2, or the lowest number.
__device__ inline float last_factor(float top, float sum, float sink) {
  const float base = fmaxf(top, sink);
  if (base == lowest()) return 1.0f;  // the caller handles a sum of 0
  const float shrink = power_of_two(top - base);
  return shrink / (sum * shrink + power_of_two(sink - base));
}

/// Where the parts of the result lie if several blocks share the keys: sums [row][D], then the top and the sum of
/// weights of each row [row][2], with row = ((split * batch + b) * heads + head) * rows + query.
struct Parts {
  float *sums, *stats;
  __device__ Parts(float* memory, const AttentionShape& a)
      : sums(memory), stats(memory + i64(a.splits) * a.batch * a.heads * a.rows * D) {}
  __device__ static i64 row(const AttentionShape& a, int split, const int (&at)[3]) {
    return ((i64(split) * a.batch + at[0]) * a.heads + at[1]) * a.rows + at[2];
  }
};

/// Joins the parts of one row, by all threads of a block. `room`: shared memory for twice `splits` numbers.
__device__ inline void join_parts(const AttentionShape& a, float* memory, const int (&at)[3], const T* sinks, T* y,
                                  float* room) {
  const Parts parts(memory, a);
  const volatile float *sums = parts.sums, *stats = parts.stats;  // other blocks may just have written them
  for (int s = int(threadIdx.x); s < a.splits; s += int(blockDim.x)) {
    const i64 row = Parts::row(a, s, at);
    room[s] = stats[row * 2];
    room[a.splits + s] = stats[row * 2 + 1];
  }
  __syncthreads();
  float top = lowest(), sum = 0;
  for (int s = 0; s < a.splits; ++s) top = fmaxf(top, room[s]);
  const float base = top == lowest() ? 0.0f : top;
  for (int s = 0; s < a.splits; ++s) sum += room[a.splits + s] * power_of_two(room[s] - base);
  const float sink = sinks ? as_float(sinks[at[1]]) * kLog2E : lowest(), factor = last_factor(top, sum, sink);
  const bool blind = sum == 0 && sink == lowest();
  T* const to = y + at[0] * a.y[0] + at[1] * a.y[1] + at[2] * a.y[2];
  for (int d = int(threadIdx.x); d < a.v_size; d += int(blockDim.x)) {
    float o = 0;
#pragma unroll 4
    for (int s = 0; s < a.splits; ++s) o += sums[Parts::row(a, s, at) * D + d] * power_of_two(room[s] - base);
    to[d] = Compute<T>::store(blind ? a.blind : o * factor);
  }
  __syncthreads();
}

/// Stores the results of a warp whose state and sums are complete. `sinks`: [heads] or null; `parts`: null unless
/// several blocks share the keys.
template <int kTiles, int kWide>
__device__ inline void store_rows(const AttentionShape& a, RowState<kTiles>& state, float (&o)[kTiles][kWide][4],
                                  const int (&place)[4], const T* sinks, T* y, float* parts) {
  const int t = int(threadIdx.x % 4);
#pragma unroll
  for (int i = 0; i < kTiles * 2; ++i) {
    const int m = i / 2, half = i % 2;
    float sum = state.sum[m][half];
    sum += __shfl_xor_sync(0xffffffffu, sum, 1);
    sum += __shfl_xor_sync(0xffffffffu, sum, 2);
    const int row = place[2] + m * 16 + half * 8 + int(threadIdx.x % 32) / 4;
    const int at[3] = {place[0], place[1] + row % a.pack, row / a.pack};
    if (at[2] >= a.rows) continue;
    const float top = state.top_of(a, m, half);
    if (a.splits > 1) {
      const Parts to(parts, a);
      const i64 r = Parts::row(a, place[3], at);
#pragma unroll
      for (int n = 0; n < kWide; ++n) {
        to.sums[r * D + n * 8 + t * 2] = o[m][n][half * 2];
        to.sums[r * D + n * 8 + t * 2 + 1] = o[m][n][half * 2 + 1];
      }
      if (t == 0) to.stats[r * 2] = top, to.stats[r * 2 + 1] = sum;
      continue;
    }
    const float sink = sinks ? as_float(sinks[at[1]]) * kLog2E : lowest(), factor = last_factor(top, sum, sink);
    const bool blind = sum == 0 && sink == lowest();
    T* to = y + at[0] * a.y[0] + at[1] * a.y[1] + at[2] * a.y[2];
#pragma unroll
    for (int n = 0; n < kWide; ++n) {
      const int d = n * 8 + t * 2;
      const float low = blind ? a.blind : o[m][n][half * 2] * factor;
      const float high = blind ? a.blind : o[m][n][half * 2 + 1] * factor;
#if ALIGNED
      if (d < a.v_size) *reinterpret_cast<Neighbours*>(to + d) = {Compute<T>::store(low), Compute<T>::store(high)};
#else
      if (d < a.v_size) to[d] = Compute<T>::store(low);
      if (d + 1 < a.v_size) to[d + 1] = Compute<T>::store(high);
#endif
    }
  }
}
