// Attention by a state for each head, a matrix of KEYS rows, which each token changes and reads. A column of the state
// changes independently of the others: 8 lanes have the elements of one, a block has 16 columns.
// Defines: STORED: type of the tokens; STATE: type of the states; KEYS; READS: heads of queries that read one state;
// DECAY: 0 none, 1 one number for a token, 2 one for each key; CORRECTS: 1 for the delta rule; CHUNK: tokens that are
// brought to shared memory together.
typedef STORED T;
typedef STATE S;
constexpr int kLanes = 8, kColumns = 16, kThreads = kLanes * kColumns, kHeld = (KEYS + kLanes - 1) / kLanes;

struct Extents {
  i64 tokens;
  int heads, k_heads, q_heads, values, beta_heads;
  float scale;
};

__device__ inline float of_lanes(float v) {
#pragma unroll
  for (int step = kLanes / 2; step > 0; step /= 2) v += __shfl_xor_sync(0xffffffffu, v, step);
  return v;
}

struct Tokens {
  float k[CHUNK][KEYS], q[CHUNK][READS][KEYS], v[CHUNK][kColumns], beta[CHUNK], factor[CHUNK];
#if DECAY == 2
  float factors[CHUNK][KEYS];
#endif
};

struct Inputs {
  const T *q, *k, *v, *decay, *beta;
};

/// `row`: number of the first of `n` tokens; `first`: the first column.
__device__ inline void bring(Tokens& s, const Inputs& in, const Extents& x, i64 row, int n, int h, int first) {
  const int kh = h / (x.heads / x.k_heads);
  const int q0 = x.heads >= x.q_heads ? h / (x.heads / x.q_heads) : h * READS;
  for (int i = threadIdx.x; i < n * KEYS; i += kThreads) {
    const int t = i / KEYS, key = i % KEYS;
    s.k[t][key] = Compute<T>::load(in.k[((row + t) * x.k_heads + kh) * KEYS + key]);
#pragma unroll
    for (int r = 0; r < READS; ++r)
      s.q[t][r][key] = Compute<T>::load(in.q[((row + t) * x.q_heads + q0 + r) * KEYS + key]);
#if DECAY == 2
    s.factors[t][key] = expf(Compute<T>::load(in.decay[((row + t) * x.heads + h) * KEYS + key]));
#endif
  }
  for (int i = threadIdx.x; i < n * kColumns; i += kThreads) {
    const int t = i / kColumns, c = i % kColumns;
    s.v[t][c] = first + c < x.values ? Compute<T>::load(in.v[((row + t) * x.heads + h) * x.values + first + c]) : 0.0f;
  }
  for (int t = threadIdx.x; t < n; t += kThreads) {
    s.factor[t] = DECAY == 1 ? expf(Compute<T>::load(in.decay[(row + t) * x.heads + h])) : 1.0f;
    s.beta[t] = CORRECTS ? Compute<T>::load(in.beta[(row + t) * x.beta_heads + (x.beta_heads == 1 ? 0 : h)]) : 1.0f;
  }
}

extern "C" __global__ void __launch_bounds__(kThreads)
    linear_attention(const T* __restrict__ q, const T* __restrict__ k, const T* __restrict__ v,
                     const S* __restrict__ past, const T* __restrict__ decay, const T* __restrict__ beta,
                     T* __restrict__ y, S* __restrict__ present, Extents x) {
  begin_kernel();
  __shared__ Tokens s;
  const int h = int(blockIdx.x % x.heads), first = blockIdx.y * kColumns;
  const i64 b = blockIdx.x / x.heads;
  const int lane = threadIdx.x % kLanes, c = threadIdx.x / kLanes, column = first + c;
  const bool active = column < x.values;
  const i64 state_at = (b * x.heads + h) * KEYS * x.values + column;
  float state[kHeld];
#pragma unroll
  for (int p = 0; p < kHeld; ++p) {
    const int key = lane + p * kLanes;
    state[p] = past && active && key < KEYS ? Compute<S>::load(past[state_at + i64(key) * x.values]) : 0.0f;
  }
  const Inputs in = {q, k, v, decay, beta};
  const i64 out_heads = x.heads >= x.q_heads ? x.heads : x.q_heads;
  for (i64 t0 = 0; t0 < x.tokens; t0 += CHUNK) {
    const int n = x.tokens - t0 < CHUNK ? int(x.tokens - t0) : CHUNK;
    __syncthreads();
    bring(s, in, x, b * x.tokens + t0, n, h, first);
    __syncthreads();
    for (int t = 0; t < n; ++t) {
      float dot = 0, sum[READS];
#pragma unroll
      for (int p = 0; p < kHeld; ++p) {
        const int key = lane + p * kLanes;
        if (KEYS % kLanes && key >= KEYS) continue;
        state[p] *= s.factor[t];
#if DECAY == 2
        state[p] *= s.factors[t][key];
#endif
        dot += state[p] * s.k[t][key];
      }
      const float d = CORRECTS ? s.beta[t] * (s.v[t][c] - of_lanes(dot)) : s.v[t][c];
#pragma unroll
      for (int r = 0; r < READS; ++r) sum[r] = 0;
#pragma unroll
      for (int p = 0; p < kHeld; ++p) {
        const int key = lane + p * kLanes;
        if (KEYS % kLanes && key >= KEYS) continue;
        state[p] += s.k[t][key] * d;
#pragma unroll
        for (int r = 0; r < READS; ++r) sum[r] += state[p] * s.q[t][r][key];
      }
#pragma unroll
      for (int r = 0; r < READS; ++r) {
        const float all = of_lanes(sum[r]) * x.scale;
        const i64 at = ((b * x.tokens + t0 + t) * out_heads + i64(h) * READS + r) * x.values + column;
        if (lane == 0 && active) y[at] = Compute<T>::store(all);
      }
    }
  }
  if (!present || !active) return;
#pragma unroll
  for (int p = 0; p < kHeld; ++p) {
    const int key = lane + p * kLanes;
    if (key < KEYS) present[state_at + i64(key) * x.values] = Compute<S>::store(state[p]);
  }
}
