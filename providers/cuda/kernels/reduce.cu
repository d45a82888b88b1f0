// Reductions over any axes. The host merges neighbouring axes and picks a kernel: `reduce_rows` or `reduce_short_rows`
// where the innermost axis is reduced, `reduce_columns` where it is kept. If there are too few results to fill the
// device, each is computed in chunks (grid.y), and `reduce_chunks` joins them.
// Defines: STORED: type of the elements; COMPUTED: type in which they are joined; OP: one of the structs below; LEAST,
// GREATEST: the limits of the elements; PLAIN: 1 if the reduced elements are evenly spaced; LOADS: accesses of a thread
// that are on their way at once; LANES: threads of a row (a power of two up to 256), or of a result in `reduce_chunks`;
// ACROSS: threads along the columns; WIDE: columns that a thread reads with one access.
typedef STORED T;
typedef COMPUTED A;
constexpr int kThreads = 256;

/// Where the elements of merged axes are, innermost first. An axis of the last place is not taken modulo.
struct Walk {
  int rank, unused;
  i64 size[6], stride[6];
};
__device__ inline i64 walk(const Walk& w, i64 i) {
  i64 at = 0;
#pragma unroll  // arguments are read by fixed numbers; others are copied to memory first
  for (int d = 0; d < 6; ++d) {
    if (d >= w.rank) break;
    if (d + 1 == w.rank) return at + i * w.stride[d];
    const i64 next = (i | w.size[d]) >> 32 ? i / w.size[d] : i64(u32(i) / u32(w.size[d]));
    at += (i - next * w.size[d]) * w.stride[d];
    i = next;
  }
  return at;
}

__device__ inline float exp_of(float v) { return expf(v); }
__device__ inline double exp_of(double v) { return exp(v); }
__device__ inline i64 exp_of(i64 v) { return v; }  // for the compiler: integers are joined as doubles there
__device__ inline i64 exp_of(int v) { return v; }
__device__ inline u64 exp_of(u64 v) { return v; }
__device__ inline float log_of(float v) { return logf(v); }
__device__ inline double log_of(double v) { return log(v); }
__device__ inline float root_of(float v) { return sqrtf(v); }
__device__ inline double root_of(double v) { return sqrt(v); }

struct ReduceSum {
  typedef A State;
  __device__ static A none() { return A(0); }
  __device__ static A map(A v) { return v; }
  __device__ static A join(A a, A b) { return a + b; }
  __device__ static A finish(A a, i64) { return a; }
};
struct ReduceMean : ReduceSum {
  __device__ static float over(float a, i64 n) { return a / float(n); }
  __device__ static double over(double a, i64 n) { return a / double(n); }
  __device__ static i64 over(i64 a, i64 n) { return n ? a / n : 0; }
  __device__ static int over(int a, i64 n) { return n ? int(a / n) : 0; }
  __device__ static u64 over(u64 a, i64 n) { return n ? a / u64(n) : 0; }
  __device__ static A finish(A a, i64 n) { return over(a, n); }
};
struct ReduceSumSquare : ReduceSum {
  __device__ static A map(A v) { return v * v; }
};
struct ReduceL1 : ReduceSum {
  __device__ static A map(A v) { return v < A(0) ? -v : v; }
};
struct ReduceL2 : ReduceSumSquare {
  template <typename B>
  __device__ static B finish(B a, i64) {
    return root_of(a);
  }
};
struct ReduceLogSum : ReduceSum {
  template <typename B>
  __device__ static B finish(B a, i64) {
    return log_of(a);
  }
};
struct ReduceProd : ReduceSum {
  __device__ static A none() { return A(1); }
  __device__ static A join(A a, A b) { return a * b; }
};
struct ReduceMax : ReduceSum {  // NaN stays
  __device__ static A none() { return A(LEAST); }
  __device__ static A join(A a, A b) { return a > b || a != a ? a : b; }
};
struct ReduceMin : ReduceSum {
  __device__ static A none() { return A(GREATEST); }
  __device__ static A join(A a, A b) { return a < b || a != a ? a : b; }
};
/// The greatest value so far, and the sum of the powers of e relative to it.
struct Powers {
  A most, total;
};
struct ReduceLogSumExp {
  typedef Powers State;
  __device__ static Powers none() {
    const Powers p = {A(LEAST), A(0)};
    return p;
  }
  __device__ static Powers map(A v) {
    const Powers p = {v, A(1)};
    return p;
  }
  // An infinite or equal value has the weight 1: the difference of two infinities is no number. A NaN is neither less
  // nor greater, and its power makes the sum a NaN.
  template <typename B>
  __device__ static B weight(B v, B most) {
    return v == most ? B(1) : exp_of(v - most);
  }
  __device__ static Powers join(Powers a, Powers b) {
    Powers p;
    p.most = b.most > a.most ? b.most : a.most;
    p.total = a.total * weight(a.most, p.most) + b.total * weight(b.most, p.most);
    return p;
  }
  template <typename B>
  __device__ static A finish(B p, i64) {
    return p.most + log_of(p.total);
  }
};
typedef OP::State State;

template <typename S>
__device__ inline S lane_at(S v, int step) {
  return __shfl_xor_sync(0xffffffffu, v, step);
}
__device__ inline Powers lane_at(Powers v, int step) {
  v.most = __shfl_xor_sync(0xffffffffu, v.most, step);
  v.total = __shfl_xor_sync(0xffffffffu, v.total, step);
  return v;
}
__device__ inline State join_lanes(State s, int lanes) {
  for (int step = lanes / 2; step > 0; step /= 2) s = OP::join(s, lane_at(s, step));
  return s;
}
__device__ inline A load(T v) { return A(Compute<T>::load(v)); }
__device__ inline T result(State s, i64 count) { return Compute<T>::store((Compute<T>::type)(OP::finish(s, count))); }

constexpr int kWide = 16 / int(sizeof(T));

template <int bytes>
struct Bytes {
  typedef u8 type;
};
template <>
struct Bytes<2> {
  typedef u16 type;
};
template <>
struct Bytes<4> {
  typedef u32 type;
};
template <>
struct Bytes<8> {
  typedef u64 type;
};
template <>
struct Bytes<16> {
  typedef Wide type;
};
/// What one access reads: up to 16 bytes.
template <int kEach>
union Pack {
  typedef typename Bytes<kEach* int(sizeof(T))>::type Word;
  Word all;
  T at[kEach];
  __device__ void read(const T* p, bool aligned) {
    if (aligned) {
      all = *(const Word*)p;
    } else {
#pragma unroll
      for (int v = 0; v < kEach; ++v) at[v] = p[v];
    }
  }
};
/// The states of every fourth element are joined for themselves: a chain of all would be slow.
template <int kEach>
struct Parts {
  static constexpr int kCount = kEach < 4 ? kEach : 4;
  State s[kCount];
  __device__ Parts() {
#pragma unroll
    for (int v = 0; v < kCount; ++v) s[v] = OP::none();
  }
  __device__ void add(const Pack<kEach>& p) {
#pragma unroll
    for (int v = 0; v < kEach; ++v) s[v % kCount] = OP::join(s[v % kCount], OP::map(load(p.at[v])));
  }
  __device__ State all() const {
    State joined = s[0];
#pragma unroll
    for (int v = 1; v < kCount; ++v) joined = OP::join(joined, s[v]);
    return joined;
  }
};

#ifdef LANES
/// The elements of one lane among `n` at `p`, which may begin anywhere. LOADS accesses are on their way at once.
__device__ inline State row_part(const T* p, i64 n, int lane) {
  const int off = int(u64(p) % 16 / sizeof(T));
  const i64 head = off ? kWide - off : 0, before = head < n ? head : n, packs = (n - before) / kWide;
  const i64 after = before + packs * kWide;
  State ends = OP::none();
  if (lane < before) ends = OP::join(ends, OP::map(load(p[lane])));
  if (after + lane < n) ends = OP::join(ends, OP::map(load(p[after + lane])));
  const Pack<kWide>* from = (const Pack<kWide>*)(p + before);
  Parts<kWide> parts;
  i64 k = lane;
  for (; k + (LOADS - 1) * LANES < packs; k += LOADS * LANES) {
    Pack<kWide> read[LOADS];
#pragma unroll
    for (int u = 0; u < LOADS; ++u) read[u].all = from[k + u * LANES].all;
#pragma unroll
    for (int u = 0; u < LOADS; ++u) parts.add(read[u]);
  }
  if (k < packs) {
    Pack<kWide> read[LOADS];
#pragma unroll
    for (int u = 0; u < LOADS; ++u)
      if (k + u * LANES < packs) read[u].all = from[k + u * LANES].all;
#pragma unroll
    for (int u = 0; u < LOADS; ++u)
      if (k + u * LANES < packs) parts.add(read[u]);
  }
  return OP::join(ends, parts.all());
}

/// y[o] of `outs` rows with `count` elements each; with grid.y > 1, partial[chunk * outs + o].
extern "C" __global__ void __launch_bounds__(kThreads)
    reduce_rows(const T* x, T* y, State* partial, Walk kept, Walk reduced, i64 outs, i64 count, i64 chunk) {
  begin_kernel();
  const i64 o = i64(blockIdx.x) * (kThreads / LANES) + threadIdx.x / LANES;
  const int lane = threadIdx.x % LANES;
  const i64 begin = i64(blockIdx.y) * chunk, end = begin + chunk < count ? begin + chunk : count;
  State s = OP::none();
  if (o < outs && begin < end) {
    const T* p = x + walk(kept, o);
#if PLAIN
    s = row_part(p + begin, end - begin, lane);
#else
#pragma unroll 4
    for (i64 i = begin + lane; i < end; i += LANES) s = OP::join(s, OP::map(load(p[walk(reduced, i)])));
#endif
  }
  s = join_lanes(s, LANES < 32 ? LANES : 32);
  if (LANES > 32) {
    __shared__ State room[32];
    constexpr int kWarps = LANES / 32;
    if (threadIdx.x % 32 == 0) room[threadIdx.x / 32] = s;
    __syncthreads();
    s = join_lanes(lane < kWarps ? room[threadIdx.x / LANES * kWarps + lane] : OP::none(), kWarps);
  }
  if (o >= outs || lane) return;
  if (gridDim.y > 1)
    partial[blockIdx.y * outs + o] = s;
  else
    y[o] = result(s, count);
}

#ifdef ROWS
/// The same for evenly spaced elements and rows of up to HELD accesses of EACH elements by each lane; ROWS rows are on
/// their way at once.
extern "C" __global__ void __launch_bounds__(kThreads)
    reduce_short_rows(const T* x, T* y, Walk kept, i64 outs, i64 count) {
  begin_kernel();
  constexpr int kGroups = kThreads / LANES;
  const int lane = threadIdx.x % LANES;
  const i64 first = i64(blockIdx.x) * (kGroups * ROWS) + threadIdx.x / LANES;
  const bool aligned = u64(x) % sizeof(Pack<EACH>) == 0;
  Pack<EACH> read[ROWS][HELD];
#pragma unroll
  for (int r = 0; r < ROWS; ++r) {
    const i64 o = first + r * kGroups;
    const T* p = x + walk(kept, o < outs ? o : 0);
#pragma unroll
    for (int j = 0; j < HELD; ++j) {
      const int i = (lane + j * LANES) * EACH;
      if (i < count) read[r][j].read(p + i, aligned);
    }
  }
#pragma unroll
  for (int r = 0; r < ROWS; ++r) {
    Parts<EACH> parts;
#pragma unroll
    for (int j = 0; j < HELD; ++j)
      if ((lane + j * LANES) * EACH < count) parts.add(read[r][j]);
    const State s = join_lanes(parts.all(), LANES);
    const i64 o = first + r * kGroups;
    if (lane == 0 && o < outs) y[o] = result(s, count);
  }
}
#endif

/// Joins the chunks of `outs` results.
extern "C" __global__ void __launch_bounds__(kThreads)
    reduce_chunks(const State* partial, T* y, i64 outs, int chunks, i64 count) {
  begin_kernel();
  const i64 o = i64(blockIdx.x) * (kThreads / LANES) + threadIdx.x / LANES;
  State s = OP::none();
  if (o < outs)
#pragma unroll 8
    for (int c = threadIdx.x % LANES; c < chunks; c += LANES) s = OP::join(s, partial[c * outs + o]);
  s = join_lanes(s, LANES);
  if (threadIdx.x % LANES == 0 && o < outs) y[o] = result(s, count);
}
#endif

#ifdef ACROSS
constexpr int kDown = kThreads / ACROSS;

/// Adds elements `begin`, `begin` + kDown... of neighbouring columns. `stride`: from an element of a column to the next.
template <bool kAligned>
__device__ inline void column_part(const T* p, const Walk& reduced, i64 begin, i64 end, State (&s)[WIDE]) {
#if PLAIN
  const i64 stride = reduced.stride[0];
#define PLACE(i) ((i)*stride)
#else
#define PLACE(i) walk(reduced, i)
#endif
  for (i64 i = begin; i < end; i += LOADS * kDown) {
    Pack<WIDE> read[LOADS];
#pragma unroll
    for (int u = 0; u < LOADS; ++u)
      if (i + u * kDown < end) read[u].read(p + PLACE(i + u * kDown), kAligned);
#pragma unroll
    for (int u = 0; u < LOADS; ++u)
#pragma unroll
      for (int v = 0; v < WIDE; ++v)
        if (i + u * kDown < end) s[v] = OP::join(s[v], OP::map(load(read[u].at[v])));
  }
}

/// y[o * columns + c] of `columns` neighbouring columns with `count` elements each; with grid.y > 1,
/// partial[chunk * outs + o * columns + c]. Block: ACROSS threads along the columns; the others share a column.
extern "C" __global__ void __launch_bounds__(kThreads)
    reduce_columns(const T* x, T* y, State* partial, Walk kept, Walk reduced, i64 outs, i64 columns, i64 count,
                   i64 chunk) {
  begin_kernel();
  const int across = threadIdx.x % ACROSS, down = threadIdx.x / ACROSS;
  const u32 tiles = u32((columns + ACROSS * WIDE - 1) / (ACROSS * WIDE));
  const i64 o = blockIdx.x / tiles, c = i64(blockIdx.x % tiles * ACROSS + across) * WIDE;
  const i64 begin = i64(blockIdx.y) * chunk, end = begin + chunk < count ? begin + chunk : count;
  State s[WIDE];
#pragma unroll
  for (int v = 0; v < WIDE; ++v) s[v] = OP::none();
  if (c < columns) {
    const T* p = x + walk(kept, o) + c;
    if (u64(x) % sizeof(Pack<WIDE>) == 0)
      column_part<true>(p, reduced, begin + down, end, s);
    else
      column_part<false>(p, reduced, begin + down, end, s);
  }
  __shared__ State room[WIDE][kThreads];
#pragma unroll
  for (int v = 0; v < WIDE; ++v) room[v][threadIdx.x] = s[v];
  for (int step = kDown / 2; step > 0; step /= 2) {
    __syncthreads();
    if (down < step)
#pragma unroll
      for (int v = 0; v < WIDE; ++v)
        room[v][threadIdx.x] = OP::join(room[v][threadIdx.x], room[v][threadIdx.x + step * ACROSS]);
  }
  if (down || c >= columns) return;
#pragma unroll
  for (int v = 0; v < WIDE; ++v) {
    const i64 at = o * columns + c + v;
    if (gridDim.y > 1)
      partial[blockIdx.y * outs + at] = room[v][threadIdx.x];
    else
      y[at] = result(room[v][threadIdx.x], count);
  }
}
#endif
