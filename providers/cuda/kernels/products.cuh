// What products share: 16 bytes of elements as floats, and what is done with the sums. ACTIVATION is a number of `Act` in ops/products.h.
#pragma once

#ifndef ACTIVATION
#define ACTIVATION 0
#endif

__device__ inline float exp_of(float v) { return expf(v); }
__device__ inline double exp_of(double v) { return exp(v); }
__device__ inline float tanh_of(float v) { return tanhf(v); }
__device__ inline double tanh_of(double v) { return tanh(v); }
__device__ inline float erf_of(float v) { return erff(v); }
__device__ inline double erf_of(double v) { return erf(v); }
__device__ inline float log1p_of(float v) { return log1pf(v); }
__device__ inline double log1p_of(double v) { return log1p(v); }
__device__ inline float expm1_of(float v) { return expm1f(v); }
__device__ inline double expm1_of(double v) { return expm1(v); }

/// F is float or double; a and b are the parameters of the activation.
template <typename F>
__device__ inline F activate(F x, F a, F b) {
#if ACTIVATION == 1  // Relu; NaN stays
  return x < F(0) ? F(0) : x;
#elif ACTIVATION == 2  // Gelu by tanh
  return F(0.5) * x * (F(1) + tanh_of(F(0.7978845608028654) * (x + F(0.044715) * x * x * x)));
#elif ACTIVATION == 3  // Gelu by erf
  return F(0.5) * x * (F(1) + erf_of(x * F(0.7071067811865476)));
#elif ACTIVATION == 4
  return tanh_of(x);
#elif ACTIVATION == 5   // Sigmoid
  return F(1) / (F(1) + exp_of(-x));
#elif ACTIVATION == 6   // LeakyRelu
  return x < F(0) ? a * x : x;
#elif ACTIVATION == 7   // Elu
  return x < F(0) ? a * expm1_of(x) : x;
#elif ACTIVATION == 8   // HardSigmoid
  const F y = a * x + b;
  return y < F(0) ? F(0) : y > F(1) ? F(1) : y;
#elif ACTIVATION == 9   // Selu
  return b * (x > F(0) ? x : a * expm1_of(x));
#elif ACTIVATION == 10  // Softplus
  return (x > F(0) ? x : F(0)) + log1p_of(exp_of(x > F(0) ? -x : x));
#elif ACTIVATION == 11  // Softsign
  return x / (F(1) + (x < F(0) ? -x : x));
#elif ACTIVATION == 12  // ThresholdedRelu
  return x > a ? x : x != x ? x : F(0);
#elif ACTIVATION == 13  // Celu
  return x > F(0) ? x : a * expm1_of(x / a);
#elif ACTIVATION == 14  // x * Sigmoid(a * x)
  return x / (F(1) + exp_of(-a * x));
#elif ACTIVATION == 15  // a * Tanh(b * x)
  return a * tanh_of(b * x);
#else
  return x;
#endif
}

template <typename T>
struct Packed {  // elements in 16 bytes
  static const int count = 16 / sizeof(T);
};
__device__ inline void unpack(const Wide& w, float (&v)[4], float) {
#pragma unroll
  for (int i = 0; i < 4; ++i) v[i] = bits_to_float(w.word[i]);
}
__device__ inline void unpack(const Wide& w, float (&v)[8], f16) {
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    f16 low, high;
    low.bits = u16(w.word[i]);
    high.bits = u16(w.word[i] >> 16);
    v[2 * i] = to_float(low);
    v[2 * i + 1] = to_float(high);
  }
}
__device__ inline void unpack(const Wide& w, float (&v)[8], bf16) {
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    v[2 * i] = bits_to_float(w.word[i] << 16);
    v[2 * i + 1] = bits_to_float(w.word[i] & 0xffff0000u);
  }
}
template <typename P>
__device__ inline bool aligned16(const P* p) {
  return (u64(p) & 15) == 0;
}

/// A product of few rows: y [m, n] = activation(alpha * x [m, k] * w + bias [n] + beta * c [m, n]). `lead`: elements from
/// a stored row to the next, `stride`: from a matrix to the next.
struct Few {
  i64 m, n, k;
  i64 lead_x, lead_w, lead_c, lead_y;
  i64 stride_x, stride_w, stride_c, stride_y, stride_bias;
  float alpha, beta, a, b;
};
template <typename T>
__device__ inline void finish_few(const Few& s, i64 row, i64 column, float sum, const T* bias, const T* c, T* y) {
  typedef Compute<T> E;
  float v = s.alpha * sum;
  if (bias) v += E::load(bias[column]);
  if (c) v += s.beta * E::load(c[row * s.lead_c + column]);
  y[row * s.lead_y + column] = E::store(activate<float>(v, s.a, s.b));
}
