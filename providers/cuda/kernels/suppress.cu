// NonMaxSuppression: a block for each class of each batch takes the best box again and again, and drops those that
// overlap it. Of equal scores, the earlier box comes first, so results do not depend on the order of threads.

struct Limits {
  int boxes, classes, most;
  float overlap, least;
  int has_least, is_center;
};
struct Box {
  float y1, x1, y2, x2;
};

// The host's code rounds after the product, so a product must not be joined with the sum around it.
__device__ inline float product(float a, float b) {
#ifdef __CUDACC_RTC__
  return __fmul_rn(a, b);
#else
  return a * b;
#endif
}
__device__ inline float area(const Box& b) { return product(b.y2 - b.y1, b.x2 - b.x1); }
__device__ inline Box load_box(const float* v, bool is_center) {
  if (is_center) return {v[1] - v[3] / 2, v[0] - v[2] / 2, v[1] + v[3] / 2, v[0] + v[2] / 2};
  return {fminf(v[0], v[2]), fminf(v[1], v[3]), fmaxf(v[0], v[2]), fmaxf(v[1], v[3])};
}
__device__ inline float overlap(const Box& a, const Box& b) {
  const float height = fminf(a.y2, b.y2) - fmaxf(a.y1, b.y1), width = fminf(a.x2, b.x2) - fmaxf(a.x1, b.x1);
  if (!(height > 0 && width > 0 && area(a) > 0 && area(b) > 0)) return 0;
  const float both = product(height, width);
  return both / (area(a) + area(b) - both);
}
/// Larger for a better box: by score, then by place; never 0.
__device__ inline u64 rank_of(float score, u32 box) {
  const u32 bits = float_to_bits(score == 0 ? 0.0f : score);
  return u64(bits & 0x80000000u ? ~bits : bits | 0x80000000u) << 32 | u32(~box);
}

/// `room`: for each block, the boxes that are left, those of a thread at thread + i * 256. `chosen`: [blocks][most].
extern "C" __global__ void __launch_bounds__(256)
    suppress(const float* boxes, const float* scores, u32* room, int* chosen, int* counts, Limits limits) {
  begin_kernel();
  __shared__ u64 best_of_warps[32];
  const i64 block = blockIdx.x, n = limits.boxes;
  boxes += block / limits.classes * n * 4;
  scores += block * n;
  room += block * ((n + 255) / 256 * 256);
  chosen += block * limits.most;
  u32 left = 0;  // boxes of this thread
  u64 best = 0;
  for (i64 i = threadIdx.x; i < n; i += 256) {
    const float s = scores[i];
    if (!(s > limits.least || (!limits.has_least && s == limits.least))) continue;  // NaN is dropped
    room[threadIdx.x + left++ * 256] = u32(i);
    const u64 rank = rank_of(s, u32(i));
    if (rank > best) best = rank;
  }
  int taken = 0;
  while (taken < limits.most) {
    best = reduce_block<Most>(best, u64(0), best_of_warps);
    if (best == 0) break;
    const u32 box = ~u32(best);
    if (threadIdx.x == 0) chosen[taken] = int(box);
    ++taken;
    const Box kept = load_box(boxes + i64(box) * 4, limits.is_center);
    const u32 had = left;
    left = 0;
    best = 0;
    for (u32 k = 0; k < had; ++k) {
      const u32 i = room[threadIdx.x + k * 256];
      if (i == box || overlap(kept, load_box(boxes + i64(i) * 4, limits.is_center)) > limits.overlap) continue;
      room[threadIdx.x + left++ * 256] = i;
      const u64 rank = rank_of(scores[i], i);
      if (rank > best) best = rank;
    }
  }
  if (threadIdx.x == 0) counts[block] = taken;
}

/// Lists (batch, class, box) of all blocks one after another.
extern "C" __global__ void __launch_bounds__(256)
    list_chosen(const int* chosen, const int* counts, i64* to, int classes, int most) {
  begin_kernel();
  __shared__ i64 room[32];
  const i64 block = blockIdx.x;
  i64 before = 0;
  for (i64 b = threadIdx.x; b < block; b += 256) before += counts[b];
  before = reduce_block<Sum>(before, i64(0), room);
  for (i64 i = threadIdx.x; i < counts[block]; i += 256) {
    i64* const row = to + (before + i) * 3;
    row[0] = block / classes;
    row[1] = block % classes;
    row[2] = chosen[block * most + i];
  }
}
