// LayerNormalization and its kin. A row is x, plus a row of `skip` and one of `bias` if they are there.
// Defines: SKIP, BIAS: 1 if there; CENTRED: 0 for the root mean square alone; SCALE: 0: none, 1: an element each,
// 2: per channel; SCALED: type of scale, shift and y; STATISTIC: type of mean and inverse; and those of rows.cuh.
#include "rows.cuh"
typedef SCALED P;
typedef STATISTIC M;

struct Sizes {
  i64 rows, length;
  i64 x_rows, skip_rows, bias_rows;  // rows that the summands have; row r takes row r % skip_rows of `skip`
  i64 groups, area;  // SCALE 2: element i of row r has the channel (r % groups) * (length / area) + i / area
  float epsilon;
  int unused;
};

/// The row of a table: by its number in `ids` if there are any, within the table's bounds.
__device__ inline i64 row_of(const int* ids, i64 row, i64 otherwise, i64 rows) {
  if (!ids) return otherwise;
  const i64 at = ids[row];
  return at < 0 ? 0 : at < rows ? at : rows - 1;
}

/// The sum of up to three rows, in registers or read again in each pass.
struct Row {
  const T *x, *skip, *bias;
  i64 packs;
  int lane;
  bool aligned;
#if PACKS > 0
  A value[kHeld * WIDE];

  __device__ inline void begin() {
    Pack<T> a[kHeld], b[kHeld], c[kHeld];
    read_row(x, packs, lane, aligned, a);
    if (SKIP) read_row(skip, packs, lane, aligned, b);
    if (BIAS) read_row(bias, packs, lane, aligned, c);
    each_pack(packs, lane, [&](int k, i64) {
#pragma unroll
      for (int v = 0; v < WIDE; ++v) {
        A t = as_computed(a[k].at[v]);
        if (SKIP) t += as_computed(b[k].at[v]);
        if (BIAS) t += as_computed(c[k].at[v]);
        value[k * WIDE + v] = t;
      }
    });
  }
  __device__ inline void fetch(int k, i64, A* t) const {
#pragma unroll
    for (int v = 0; v < WIDE; ++v) t[v] = value[k * WIDE + v];
  }
#else
  __device__ inline void begin() {}
  __device__ inline void add(const T* from, i64 p, A* t) const {
    Pack<T> a;
    read_pack(from + p * WIDE, aligned, a);
#pragma unroll
    for (int v = 0; v < WIDE; ++v) t[v] += as_computed(a.at[v]);
  }
  __device__ inline void fetch(int, i64 p, A* t) const {
#pragma unroll
    for (int v = 0; v < WIDE; ++v) t[v] = A(0);
    add(x, p, t);
    if (SKIP) add(skip, p, t);
    if (BIAS) add(bias, p, t);
  }
#endif
  /// The mean of (value - middle) ^ power over the row; power 1 or 2.
  template <int power>
  __device__ inline A moment(A middle, i64 length, A* room) const {
    A total = A(0);
    each_pack(packs, lane, [&](int k, i64 p) {
      A t[WIDE];
      fetch(k, p, t);
#pragma unroll
      for (int v = 0; v < WIDE; ++v) total += power == 1 ? t[v] : (t[v] - middle) * (t[v] - middle);
    });
    return reduce_row<Sum>(total, A(0), room) / A(length);
  }
};

/// Scale and shift of pack p; `first`: the row's first channel.
__device__ inline void read_scale(const P* scale, const P* shift, i64 p, bool aligned, i64 first, const Sizes& s,
                                  Pack<P>& g, Pack<P>& h) {
  if (SCALE == 1) {
    read_pack(scale + p * WIDE, aligned, g);
    if (shift) read_pack(shift + p * WIDE, aligned, h);
  }
#pragma unroll
  for (int v = 0; v < WIDE && SCALE == 2; ++v) {
    const i64 channel = first + int(u32(p * WIDE + v) / u32(s.area));
    g.at[v] = scale[channel];
    if (shift) h.at[v] = shift[channel];
  }
}

/// mean, inverse, sum: outputs; null if nobody needs them.
extern "C" __global__ void __launch_bounds__(kBlock)
    norm_rows(const T* x, const T* skip, const T* bias, const P* scale, const P* shift, P* y, M* mean, M* inverse,
              T* sum, const int* ids, const int* skip_ids, const int* bias_ids, Sizes s) {
  begin_kernel();
  const i64 at = i64(blockIdx.x) * (kBlock / THREADS) + threadIdx.x / THREADS;
  if (at >= s.rows) return;  // a whole warp
  __shared__ A room[32];
  Row row;
  row.packs = s.length / WIDE;
  row.lane = threadIdx.x % THREADS;
  row.x = x + row_of(ids, at, at, s.x_rows) * s.length;
  if (SKIP) row.skip = skip + row_of(skip_ids, at, at % s.skip_rows, s.skip_rows) * s.length;
  if (BIAS) row.bias = bias + row_of(bias_ids, at, 0, s.bias_rows) * s.length;
  y += at * s.length;
  if (sum) sum += at * s.length;
  bool aligned = (u64(row.x) | u64(y) | u64(sum) | u64(scale) | u64(shift)) % 16 == 0;
  if (SKIP) aligned = aligned && u64(row.skip) % 16 == 0;
  if (BIAS) aligned = aligned && u64(row.bias) % 16 == 0;
  row.aligned = aligned;
  row.begin();
  const A middle = CENTRED ? row.moment<1>(A(0), s.length, room) : A(0);
  const A factor = A(1) / root_of(row.moment<2>(middle, s.length, room) + A(s.epsilon));
  if (row.lane == 0 && mean) mean[at] = Compute<M>::store((Compute<M>::type)(middle));
  if (row.lane == 0 && inverse) inverse[at] = Compute<M>::store((Compute<M>::type)(factor));
  const i64 first = SCALE == 2 ? at % s.groups * (s.length / s.area) : 0;
  each_pack(row.packs, row.lane, [&](int k, i64 p) {
    A t[WIDE];
    row.fetch(k, p, t);
    Pack<T> total;
    Pack<P> g, h, out;
    read_scale(scale, shift, p, aligned, first, s, g, h);
#pragma unroll
    for (int v = 0; v < WIDE; ++v) {
      total.at[v] = Compute<T>::store(t[v]);
      A r = (t[v] - middle) * factor;
      if (SCALE) r = r * A(Compute<P>::load(g.at[v]));
      if (SCALE && shift) r += A(Compute<P>::load(h.at[v]));
      out.at[v] = Compute<P>::store((Compute<P>::type)(r));
    }
    if (sum) write_pack(total, aligned, sum + p * WIDE);
    write_pack(out, aligned, y + p * WIDE);
  });
}
