// Mixtures of experts: which experts compute which tokens, and the sum of what they have computed.
// Defines: ELEMENT: type of scores, weights and results.
typedef ELEMENT T;
constexpr int kMostExperts = 2048;

struct Routing {
  i64 tokens;
  int experts, k;
  int normalized;  // shares are divided by their sum
  int tile;        // rows of a tile
};

struct Candidate {
  float probability;
  int expert;
};
/// Among equally probable experts, the last is better.
__device__ inline Candidate better(Candidate a, Candidate b) {
  if (b.expert < 0) return a;
  if (a.expert < 0) return b;
  return b.probability > a.probability || (b.probability == a.probability && b.expert > a.expert) ? b : a;
}

// The k most probable experts of a token, and their shares of its result. A warp does this.
__device__ inline void route(const Routing& s, const T* scores, const T* weights, int* chosen, float* shares) {
  const int lane = threadIdx.x % 32;
  float most = bits_to_float(0xff800000u), sum = 0;
  for (int e = lane; e < s.experts; e += 32) most = Most::apply(most, float(Compute<T>::load(scores[e])));
  most = reduce_warp<Most>(most);
  for (int e = lane; e < s.experts; e += 32) sum += expf(Compute<T>::load(scores[e]) - most);
  sum = reduce_warp<Sum>(sum);
  u64 taken = 0;  // of the experts of this lane
  float total = 0;
  for (int i = 0; i < s.k; ++i) {
    Candidate best = {0.0f, -1};
    for (int e = lane; e < s.experts; e += 32) {
      if (taken >> (e / 32) & 1) continue;
      const Candidate one = {expf(Compute<T>::load(scores[e]) - most) / sum, e};
      best = better(best, one);
    }
    for (int step = 16; step > 0; step /= 2) {
      Candidate other;
      other.probability = __shfl_xor_sync(0xffffffffu, best.probability, step);
      other.expert = __shfl_xor_sync(0xffffffffu, best.expert, step);
      best = better(best, other);
    }
    best.expert = __shfl_sync(0xffffffffu, best.expert, 0);  // lanes may disagree about NaN
    best.probability = __shfl_sync(0xffffffffu, best.probability, 0);
    if (best.expert % 32 == lane) taken |= u64(1) << (best.expert / 32);
    const float share = weights ? float(Compute<T>::load(weights[best.expert])) : best.probability;
    total += share;
    if (lane) continue;
    chosen[i] = best.expert;
    shares[i] = share;
  }
  __syncwarp();
  for (int i = lane; s.normalized && i < s.k; i += 32) shares[i] /= total;
}

// Sorts the slots, of which a token has k, by expert: those of expert e are order[begin[e]] to order[begin[e + 1] - 1].
// tiles[e]: tiles of the experts before; active: the experts that have slots, active[experts]: how many. By one block.
__device__ inline void sort(const Routing& s, const int* chosen, int* order, int* begin, int* tiles, int* active) {
  __shared__ int counts[kMostExperts];
  for (int e = threadIdx.x; e < s.experts; e += blockDim.x) counts[e] = 0;
  __syncthreads();
  const int slots = int(s.tokens * s.k);
  for (int i = threadIdx.x; i < slots; i += blockDim.x) atomicAdd(&counts[chosen[i]], 1);
  __syncthreads();
  if (threadIdx.x < 32) {
    const int each = (s.experts + 31) / 32, lane = threadIdx.x;
    const int first = lane * each, last = first + each < s.experts ? first + each : s.experts;
    int rows = 0, blocks = 0, some = 0;
    for (int e = first; e < last; ++e) {
      rows += counts[e];
      blocks += (counts[e] + s.tile - 1) / s.tile;
      some += counts[e] > 0;
    }
    int before[3] = {rows, blocks, some};
    for (int step = 1; step < 32; step *= 2)
      for (int j = 0; j < 3; ++j) {
        const int other = __shfl_up_sync(0xffffffffu, before[j], step);
        if (lane >= step) before[j] += other;
      }
    if (lane == 31) {
      begin[s.experts] = before[0];
      tiles[s.experts] = before[1];
      active[s.experts] = before[2];
    }
    before[0] -= rows;
    before[1] -= blocks;
    before[2] -= some;
    for (int e = first; e < last; ++e) {
      const int count = counts[e];
      begin[e] = before[0];
      tiles[e] = before[1];
      if (count) active[before[2]++] = e;
      counts[e] = before[0];
      before[0] += count;
      before[1] += (count + s.tile - 1) / s.tile;
    }
  }
  __syncthreads();
  for (int i = threadIdx.x; i < slots; i += blockDim.x) order[atomicAdd(&counts[chosen[i]], 1)] = i;
}

// Warps for tokens.
extern "C" __global__ void __launch_bounds__(256)
    experts_route(const T* scores, const T* weights, int* chosen, float* shares, Routing s) {
  begin_kernel();
  const i64 token = i64(blockIdx.x) * 8 + threadIdx.x / 32;
  if (token >= s.tokens) return;
  route(s, scores + token * s.experts, weights ? weights + token * s.experts : nullptr, chosen + token * s.k,
        shares + token * s.k);
}
extern "C" __global__ void __launch_bounds__(1024)
    experts_sort(const int* chosen, int* order, int* begin, int* tiles, int* active, Routing s) {
  begin_kernel();
  sort(s, chosen, order, begin, tiles, active);
}
// Both for few tokens, by one block.
extern "C" __global__ void __launch_bounds__(1024)
    experts_plan(const T* scores, const T* weights, int* chosen, float* shares, int* order, int* begin, int* tiles,
                 int* active, Routing s) {
  begin_kernel();
  for (i64 token = threadIdx.x / 32; token < s.tokens; token += blockDim.x / 32)
    route(s, scores + token * s.experts, weights ? weights + token * s.experts : nullptr, chosen + token * s.k,
          shares + token * s.k);
  __syncthreads();
  sort(s, chosen, order, begin, tiles, active);
}

// y [tokens, hidden] from the results of slots.
extern "C" __global__ void __launch_bounds__(256)
    experts_join(const float* parts, const float* shares, T* y, i64 count, i64 hidden, int k) {
  begin_kernel();
  const i64 at = i64(blockIdx.x) * 256 + threadIdx.x;
  if (at >= count) return;
  const i64 token = at / hidden, column = at % hidden;
  float sum = 0;
  for (int i = 0; i < k; ++i) {
    const float share = shares[token * k + i];
    if (share > 0) sum += share * parts[(token * k + i) * hidden + column];
  }
  y[at] = Compute<T>::store(sum);
}
