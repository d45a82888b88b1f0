// Reductions over any axes. The host merges neighbouring axes and picks one of two kernels: `reduce_rows` where the
// innermost axis is reduced, `reduce_columns` where it is kept. If there are too few results to fill the device, each
// is computed in chunks (grid.y), and `reduce_chunks` joins them.
// Defines: STORED: type of the elements; COMPUTED: type in which they are joined; OP: one of the structs below; LEAST,
// GREATEST: the limits of the elements; PLAIN: 1 if the reduced elements are evenly spaced; LANES: threads of a row (a
// power of two up to 32, or the block);
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
  for (int d = 0; d < w.rank; ++d) {
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

#ifdef LANES
constexpr int kWide = 16 / int(sizeof(T));

/// The elements of one lane among `n` at `p`, which may begin anywhere.
__device__ inline State row_part(const T* p, i64 n, int lane) {
  State s = OP::none();
  i64 i = 0;
  if (LANES >= 32 || n % kWide == 0) {
    const int off = int(u64(p) % 16 / sizeof(T));
    const i64 head = off ? kWide - off : 0;
    i = head < n ? head : n;
    if (lane < i) s = OP::join(s, OP::map(load(p[lane])));
    const i64 packs = (n - i) / kWide;
    const Wide* wide = (const Wide*)(p + i);
#pragma unroll 4
    for (i64 k = lane; k < packs; k += LANES) {
      union {
        Wide all;
        T at[kWide];
      } u;
      u.all = wide[k];
#pragma unroll
      for (int v = 0; v < kWide; ++v) s = OP::join(s, OP::map(load(u.at[v])));
    }
    i += packs * kWide;
  }
  for (i += lane; i < n; i += LANES) s = OP::join(s, OP::map(load(p[i])));
  return s;
}

/// y[o] of `outs` rows with `count` elements each; with grid.y > 1, partial[o * grid.y + chunk].
extern "C" __global__ void __launch_bounds__(kThreads)
    reduce_rows(const T* x, T* y, State* partial, Walk kept, Walk reduced, i64 outs, i64 count, i64 chunk) {
  begin_kernel();
  const i64 o = i64(blockIdx.x) * (kThreads / LANES) + threadIdx.x / LANES;
  const int lane = threadIdx.x % LANES;
  const i64 begin = i64(blockIdx.y) * chunk, end = begin + chunk < count ? begin + chunk : count;
  State s = OP::none();
  if (o < outs) {
#if PLAIN
    if (begin < end) s = row_part(x + walk(kept, o) + begin, end - begin, lane);
#else
    const T* p = x + walk(kept, o);
#pragma unroll 4
    for (i64 i = begin + lane; i < end; i += LANES) s = OP::join(s, OP::map(load(p[walk(reduced, i)])));
#endif
  }
  s = join_lanes(s, LANES < 32 ? LANES : 32);
  if (LANES > 32) {
    __shared__ State room[32];
    if (threadIdx.x % 32 == 0) room[threadIdx.x / 32] = s;
    __syncthreads();
    s = join_lanes(threadIdx.x < kThreads / 32 ? room[threadIdx.x] : OP::none(), kThreads / 32);
  }
  if (o >= outs || lane) return;
  if (gridDim.y > 1)
    partial[o * gridDim.y + blockIdx.y] = s;
  else
    y[o] = result(s, count);
}

/// Joins the chunks of `outs` results: a warp for each.
extern "C" __global__ void __launch_bounds__(kThreads)
    reduce_chunks(const State* partial, T* y, i64 outs, int chunks, i64 count) {
  begin_kernel();
  const i64 o = i64(blockIdx.x) * (kThreads / 32) + threadIdx.x / 32;
  if (o >= outs) return;
  State s = OP::none();
  for (int c = threadIdx.x % 32; c < chunks; c += 32) s = OP::join(s, partial[o * chunks + c]);
  s = join_lanes(s, 32);
  if (threadIdx.x % 32 == 0) y[o] = result(s, count);
}
#endif

#ifdef ACROSS
/// y[o * columns + c] of `columns` neighbouring columns with `count` elements each; with grid.y > 1,
/// partial[(o * columns + c) * grid.y + chunk]. Block: ACROSS threads along the columns; the others share a column.
extern "C" __global__ void __launch_bounds__(kThreads)
    reduce_columns(const T* x, T* y, State* partial, Walk kept, Walk reduced, i64 columns, i64 count, i64 chunk) {
  begin_kernel();
  constexpr int kDown = kThreads / ACROSS;
  const int across = threadIdx.x % ACROSS, down = threadIdx.x / ACROSS;
  const i64 tiles = (columns + ACROSS * WIDE - 1) / (ACROSS * WIDE);
  const i64 o = blockIdx.x / tiles, c = (blockIdx.x % tiles * ACROSS + across) * WIDE;
  const i64 begin = i64(blockIdx.y) * chunk, end = begin + chunk < count ? begin + chunk : count;
  State s[WIDE];
#pragma unroll
  for (int v = 0; v < WIDE; ++v) s[v] = OP::none();
  if (c < columns) {
    const T* p = x + walk(kept, o) + c;
#if WIDE > 1
    const bool aligned = u64(x) % 16 == 0;
#endif
#pragma unroll 4
    for (i64 i = begin + down; i < end; i += kDown) {
#if PLAIN
      const T* q = p + i * reduced.stride[0];
#else
      const T* q = p + walk(reduced, i);
#endif
#if WIDE > 1
      union {
        Wide all;
        T at[WIDE];
      } u;
      if (aligned)
        u.all = *(const Wide*)q;
      else
        for (int v = 0; v < WIDE; ++v) u.at[v] = q[v];
#pragma unroll
      for (int v = 0; v < WIDE; ++v) s[v] = OP::join(s[v], OP::map(load(u.at[v])));
#else
      s[0] = OP::join(s[0], OP::map(load(*q)));
#endif
    }
  }
  __shared__ State room[kThreads];
#pragma unroll
  for (int v = 0; v < WIDE; ++v) {
    __syncthreads();
    room[threadIdx.x] = s[v];
    for (int step = kDown / 2; step > 0; step /= 2) {
      __syncthreads();
      if (down < step) room[threadIdx.x] = OP::join(room[threadIdx.x], room[threadIdx.x + step * ACROSS]);
    }
    if (down || c >= columns) continue;
    const i64 at = o * columns + c + v;
    if (gridDim.y > 1)
      partial[at * gridDim.y + blockIdx.y] = room[threadIdx.x];
    else
      y[at] = result(room[threadIdx.x], count);
  }
}
#endif
