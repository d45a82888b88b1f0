#include "products.cuh"

// Products of any type and order, without a library, and what is done with the result of a library's product.
typedef ELEMENT T;
typedef Compute<T>::type Real;

struct Plain {
  i64 m, n, k;
  i64 row_a, column_a, row_b, column_b, lead_d;  // elements from one to the next
  i64 stride_a, stride_b, stride_d, batch;
  float alpha;
};

// Blocks of 16 x 16 threads make as many elements of d.
extern "C" __global__ void __launch_bounds__(256) multiply_plain(const T* a, const T* b, T* d, Plain s) {
  begin_kernel();
  __shared__ Real left[16][17], right[16][17];
  const int x = threadIdx.x % 16, y = threadIdx.x / 16;
  const i64 across = (s.n + 15) / 16;
  const i64 row = blockIdx.x / across * 16 + y, column = blockIdx.x % across * 16 + x;
  for (i64 batch = blockIdx.y; batch < s.batch; batch += gridDim.y) {
    const T* at_a = a + batch * s.stride_a;
    const T* at_b = b + batch * s.stride_b;
    Real sum = 0;
    for (i64 k = 0; k < s.k; k += 16) {
      left[y][x] = row < s.m && k + x < s.k ? Compute<T>::load(at_a[row * s.row_a + (k + x) * s.column_a]) : Real(0);
      right[y][x] =
          k + y < s.k && column < s.n ? Compute<T>::load(at_b[(k + y) * s.row_b + column * s.column_b]) : Real(0);
      __syncthreads();
#pragma unroll
      for (int i = 0; i < 16; ++i) sum += left[y][i] * right[i][x];
      __syncthreads();
    }
    if (s.alpha != 1.0f) sum = Real(sum * Real(s.alpha));
    if (row < s.m && column < s.n) d[batch * s.stride_d + row * s.lead_d + column] = Compute<T>::store(sum);
  }
}

struct Ending {
  i64 count, columns;
  i64 matrix, stride_bias;  // elements of a matrix; from its bias to the next
  float beta, a, b;
};

// d = activation(d + bias + beta * c), where c has d's shape. bias and c may be null.
extern "C" __global__ void __launch_bounds__(256) finish(T* d, const T* bias, const T* c, Ending s) {
  begin_kernel();
  constexpr int kEach = 16 / sizeof(T);
  const i64 from = (i64(blockIdx.x) * 256 + threadIdx.x) * kEach;
  if (from >= s.count) return;
  union {
    Wide all;
    T each[kEach];
  } v, more;
  const bool wide = from + kEach <= s.count && aligned16(d) && (!c || aligned16(c));
  if (wide) {
    v.all = *(const Wide*)(d + from);
    if (c) more.all = *(const Wide*)(c + from);
  }
  i64 column = bias ? from % s.columns : 0, in_matrix = from % s.matrix;
  if (bias) bias += from / s.matrix * s.stride_bias;
#pragma unroll
  for (int i = 0; i < kEach; ++i) {
    if (from + i < s.count) {
      Real value = Compute<T>::load(wide ? v.each[i] : d[from + i]);
      if (bias) value += Compute<T>::load(bias[column]);
      if (c) value += Real(s.beta) * Compute<T>::load(wide ? more.each[i] : c[from + i]);
      v.each[i] = Compute<T>::store(activate<Real>(value, Real(s.a), Real(s.b)));
      if (!wide) d[from + i] = v.each[i];
      if (++column == s.columns) column = 0;
      if (++in_matrix == s.matrix) {
        in_matrix = 0;
        if (bias) bias += s.stride_bias;
      }
    }
  }
  if (wide) *(Wide*)(d + from) = v.all;
}

struct Spread {
  i64 count;
  i64 extents[8], strides_d[8], strides_c[8];  // of y's axes; 0: broadcast
  int rank;
  float beta, a, b;
};

// y = activation(d + beta * c), where both are broadcast to y's shape. y may be d.
extern "C" __global__ void __launch_bounds__(256) finish_spread(T* y, const T* d, const T* c, Spread s) {
  begin_kernel();
  const i64 at = i64(blockIdx.x) * 256 + threadIdx.x;
  if (at >= s.count) return;
  i64 rest = at, at_d = 0, at_c = 0;
  for (int axis = s.rank - 1; axis >= 0; --axis) {
    const i64 index = rest % s.extents[axis];
    rest /= s.extents[axis];
    at_d += index * s.strides_d[axis];
    at_c += index * s.strides_c[axis];
  }
  const Real value = Compute<T>::load(d[at_d]) + Real(s.beta) * Compute<T>::load(c[at_c]);
  y[at] = Compute<T>::store(activate<Real>(value, Real(s.a), Real(s.b)));
}
