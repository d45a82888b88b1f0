// The layers of experts: y = W x + bias, where the rows of W are elements or codes, (code - zero) * scale. Defines:
// ELEMENT: type of x of the first layer, of biases and of weights that are no codes; ROWS_OF: type of x; BITS: of a
// code, 0: elements; SCALE: type of scales; ZEROS: whether there are zero points; GATE: what rows v of a layer are: 0:
// rows of W; in pairs of a gate and a linear operand: 1: rows 2i and 2i + 1, 2: rows i and half + i, 3: row i of two
// matrices; FIRST: the layer is the first, whose results are activated by ACTIVATION.
#pragma once

typedef ELEMENT T;
typedef SCALE S;
typedef ROWS_OF X;
constexpr int kUnit = 16;                        // elements that are decoded together
constexpr int kUnitWords = BITS ? BITS / 2 : 1;  // words of 32 bits
constexpr float kFactor = BITS ? float(1 << BITS) : 1.0f;

struct Matrix {
  const u8* codes;
  const S* scales;
  const u8* zeros;
  const T* bias;
};
struct Layer {
  i64 rows, k, half;                  // of W of one expert; elements of a row; rows of a gate
  i64 results;                        // of all of a layer's matrices, gates included
  i64 row_bytes, blocks, zero_bytes;  // zero_bytes: of a row, or, with `by_rows`, of an expert
  int shift;                          // a block has 2^shift elements
  int by_rows;                        // a scale for each row, whose zero points lie side by side
  int aligned;                        // units are aligned to their words
  int per_token;                      // slots of a token, which share a row of x; 0: slots in order
};
struct Activation {
  float alpha, beta, most;
  int limit_after;
};

__device__ inline int matrix_of(i64 v) { return GATE == 3 ? int(v & 1) : 0; }
__device__ inline i64 row_of(const Layer& s, i64 v) {
  return GATE == 2 ? (v & 1) * s.half + v / 2 : GATE == 3 ? v / 2 : v;
}

#if BITS
struct __align__(kUnitWords * 4) Unit {
  u32 word[kUnitWords];
};
__device__ inline Unit load_unit(const Matrix& m, const Layer& s, i64 expert, i64 row, i64 k) {
  const u8* from = m.codes + (expert * s.rows + row) * s.row_bytes + k * BITS / 8;
  Unit unit;
  if (s.aligned) {
    unit = *(const Unit*)from;
  } else {
    const i64 left = s.row_bytes - k * BITS / 8;
#pragma unroll
    for (int w = 0; w < kUnitWords; ++w) {
      unit.word[w] = 0;
#pragma unroll
      for (int b = 0; b < 4; ++b)
        if (w * 4 + b < left) unit.word[w] |= u32(from[w * 4 + b]) << 8 * b;
    }
  }
  return unit;
}
// 1 + code / 2^BITS: the code becomes the highest bits of a mantissa.
__device__ inline void decode(const Unit& unit, float (&v)[kUnit]) {
  constexpr int kPerWord = 32 / BITS;
#pragma unroll
  for (int i = 0; i < kUnit; ++i) {
    const int left = 23 - BITS - i % kPerWord * BITS;
    const u32 word = unit.word[i / kPerWord];
    const u32 placed = left >= 0 ? word << (left & 31) : word >> (-left & 31);
    v[i] = bits_to_float((placed & ((1u << 23) - (1u << (23 - BITS)))) | 0x3f800000u);
  }
}
__device__ inline float scale_of(const Matrix& m, const Layer& s, i64 expert, i64 row, i64 k) {
  return Compute<S>::load(m.scales[(expert * s.rows + row) * s.blocks + (s.by_rows ? 0 : k >> s.shift)]);
}
// Of decoded values, the 1 included.
__device__ inline float zero_of(const Matrix& m, const Layer& s, i64 expert, i64 row, i64 k) {
#if ZEROS
  const u8* from = m.zeros + (s.by_rows ? expert : expert * s.rows + row) * s.zero_bytes;
  const i64 at = (s.by_rows ? row : k >> s.shift) * BITS;
  return kFactor + float(from[at / 8] >> (at & 7) & ((1 << BITS) - 1));
#else
  return kFactor + float(1 << (BITS - 1));
#endif
}
// Elements k to k + 15 of a row of W; those after the end are 0.
__device__ inline void load_weights(const Matrix& m, const Layer& s, i64 expert, i64 row, i64 k, float (&v)[kUnit]) {
  decode(load_unit(m, s, expert, row, k), v);
  const float scale = scale_of(m, s, expert, row, k), zero = zero_of(m, s, expert, row, k);
#pragma unroll
  for (int i = 0; i < kUnit; ++i) v[i] = k + i < s.k ? scale * (kFactor * v[i] - zero) : 0.0f;
}
#endif

// Elements k to k + 15 of a row; those after the end are 0. `wide`: units are aligned to 16 bytes.
template <typename E>
__device__ inline void load_elements(const E* row, i64 k, i64 end, bool wide, float (&v)[kUnit]) {
  constexpr int kEach = 16 / int(sizeof(E));
  if (wide && k + kUnit <= end) {
#pragma unroll
    for (int i = 0; i < kUnit / kEach; ++i) {
      union {
        Wide all;
        E each[kEach];
      } u;
      u.all = ((const Wide*)(row + k))[i];
#pragma unroll
      for (int j = 0; j < kEach; ++j) v[i * kEach + j] = Compute<E>::load(u.each[j]);
    }
  } else {
#pragma unroll
    for (int i = 0; i < kUnit; ++i) v[i] = k + i < end ? Compute<E>::load(row[k + i]) : 0.0f;
  }
}
#if BITS == 0
__device__ inline void load_weights(const Matrix& m, const Layer& s, i64 expert, i64 row, i64 k, float (&v)[kUnit]) {
  load_elements((const T*)m.codes + (expert * s.rows + row) * s.k, k, s.k, s.aligned, v);
}
#endif

__device__ inline float sigmoid(float v) { return 1.0f / (1.0f + expf(-v)); }
__device__ inline float gelu(float v) { return 0.5f * v * (1.0f + tanhf(0.7978845608f * (v + 0.044715f * v * v * v))); }
enum ActivationKind { kRelu, kGelu, kSilu, kRelu2, kGeglu, kSwiglu, kIdentity };
__device__ inline float activated(float v) {
  switch (ACTIVATION) {
    case kRelu:
      return v < 0 ? 0.0f : v;
    case kGelu:
      return gelu(v);
    case kSilu:
      return v * sigmoid(v);
    case kRelu2:
      return v > 0 ? v * v : 0.0f;
    default:
      return v;
  }
}
__device__ inline float gated(const Activation& f, float gate, float linear) {
  if (ACTIVATION == kGeglu) return gelu(gate) * linear;
  linear = (linear > f.most ? f.most : linear < -f.most ? -f.most : linear) + f.beta;
  if (f.limit_after) {
    const float v = gate * sigmoid(f.alpha * gate);
    return (v > f.most ? f.most : v) * linear;
  }
  gate = gate > f.most ? f.most : gate;
  return gate * sigmoid(f.alpha * gate) * linear;
}
__device__ inline float bias_of(const Matrix& m, const Layer& s, i64 expert, i64 row) {
  return m.bias ? float(Compute<T>::load(m.bias[expert * s.rows + row])) : 0.0f;
}
