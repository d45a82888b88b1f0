// NonZero and Compress: the places of elements that are not 0, in their order. ELEMENT: the type of elements.
// A block handles 4096 elements in steps of 256, one of each thread.
#define CHUNK 4096

__device__ inline bool is_set(ELEMENT v) { return Compute<ELEMENT>::load(v) != 0; }

/// Counts in each block.
extern "C" __global__ void __launch_bounds__(256) count_set(const ELEMENT* x, i64 count, u32* counts) {
  begin_kernel();
  __shared__ int room[32];
  const i64 first = i64(blockIdx.x) * CHUNK + threadIdx.x;
  int n = 0;
  for (int k = 0; k < CHUNK / 256; ++k)
    if (first + k * 256 < count) n += is_set(x[first + k * 256]);
  n = reduce_block<Sum>(n, 0, room);
  if (threadIdx.x == 0) counts[blockIdx.x] = u32(n);
}

/// One block: begins[b] is the sum of the counts before block b, begins[blocks] that of all.
extern "C" __global__ void __launch_bounds__(1024) sum_counts(const u32* counts, i64* begins, i64 blocks) {
  begin_kernel();
  __shared__ i64 sums[1024];
  const i64 each = (blocks + 1023) / 1024, first = each * threadIdx.x;
  i64 mine = 0;
  for (i64 b = first; b < first + each && b < blocks; ++b) mine += counts[b];
  sums[threadIdx.x] = mine;
  __syncthreads();
  for (int step = 1; step < 1024; step *= 2) {
    const i64 before = threadIdx.x >= step ? sums[threadIdx.x - step] : 0;
    __syncthreads();
    sums[threadIdx.x] += before;
    __syncthreads();
  }
  i64 sum = sums[threadIdx.x] - mine;
  for (i64 b = first; b < first + each && b < blocks; ++b) {
    begins[b] = sum;
    sum += counts[b];
  }
  if (threadIdx.x == 1023) begins[blocks] = sums[1023];
}

/// Places along `rank` axes: to[d * total + i] is the place of the i-th element on axis d.
struct Axes {
  int rank;
  i64 extent[12];
};
extern "C" __global__ void __launch_bounds__(256)
    write_places(const ELEMENT* x, i64 count, const i64* begins, i64* to, i64 total, Axes axes) {
  begin_kernel();
  __shared__ int warps[8];
  i64 next = begins[blockIdx.x];
  const i64 first = i64(blockIdx.x) * CHUNK + threadIdx.x;
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  for (int k = 0; k < CHUNK / 256; ++k) {
    i64 at = first + k * 256;
    const bool set = at < count && is_set(x[at]);
    const u32 ballot = __ballot_sync(0xffffffffu, set);
    if (lane == 0) warps[warp] = __popc(ballot);
    __syncthreads();
    int before = __popc(ballot & ((1u << lane) - 1)), all = 0;
    for (int w = 0; w < 8; ++w) {
      if (w < warp) before += warps[w];
      all += warps[w];
    }
    if (set) {
      for (int d = axes.rank - 1; d >= 0; --d) {
        to[d * total + next + before] = at % axes.extent[d];
        at /= axes.extent[d];
      }
    }
    next += all;
    __syncthreads();
  }
}
