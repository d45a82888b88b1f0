// The place of the greatest or least element along the middle axis of [outer, length, inner].
// Defines: STORED: type of the elements; GREATEST: 1, or 0 for the least; LAST: 1 if the last of equal ones is wanted;
// MARK: 1 if the result is a tensor like x with 1 at the place and 0 elsewhere (Hardmax); THREADS: of the block.
typedef STORED T;
typedef Compute<T>::type A;
constexpr int kThreads = THREADS;

__device__ inline A as_computed(T v) { return Compute<T>::load(v); }

struct Best {
  A value;
  i64 at;  // < 0: none
};
/// NaN counts as greatest and least.
__device__ inline bool better(Best a, Best b) {
  if (a.at < 0 || b.at < 0) return b.at < 0 && a.at >= 0;
  const bool a_nan = a.value != a.value, b_nan = b.value != b.value;
  if (a_nan != b_nan) return a_nan;
  if (!a_nan && a.value != b.value) return GREATEST ? a.value > b.value : a.value < b.value;
  return LAST ? a.at > b.at : a.at < b.at;
}

/// Block: `across` neighbouring columns, each shared by `downs` threads (powers of two); where there is room for more,
/// columns of further outer blocks.
extern "C" __global__ void __launch_bounds__(kThreads)
    arg_best(const T* x, void* y, i64 outers, i64 tiles, i64 length, i64 inner, int across, int downs) {
  begin_kernel();
  const int column = threadIdx.x % across, down = threadIdx.x / across % downs, group = threadIdx.x / (across * downs);
  const i64 outer = blockIdx.x / tiles * (kThreads / (across * downs)) + group;
  const i64 c = blockIdx.x % tiles * across + column;
  const bool live = c < inner && outer < outers;
  const T* p = x + outer * length * inner + c;
  Best best = {A(), -1};
  if (live) {
#pragma unroll 4
    for (i64 i = down; i < length; i += downs) {
      const Best other = {as_computed(p[i * inner]), i};
      if (better(other, best)) best = other;
    }
  }
  __shared__ A values[kThreads];
  __shared__ i64 places[kThreads];
  values[threadIdx.x] = best.value;
  places[threadIdx.x] = best.at;
  for (int step = downs / 2; step > 0; step /= 2) {
    __syncthreads();
    if (down >= step) continue;
    const Best other = {values[threadIdx.x + step * across], places[threadIdx.x + step * across]};
    if (better(other, best)) best = other;
    values[threadIdx.x] = best.value;
    places[threadIdx.x] = best.at;
  }
  __syncthreads();
  if (!live) return;
#if MARK
  const i64 at = places[threadIdx.x - down * across];
  for (i64 i = down; i < length; i += downs)
    ((T*)y)[outer * length * inner + c + i * inner] = Compute<T>::store(A(i == at ? 1 : 0));
#else
  if (down == 0) ((i64*)y)[outer * inner + c] = best.at;
#endif
}
