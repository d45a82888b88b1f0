// Products of 8-bit codes: operands become signed codes with a length that cuBLASLt multiplies, and sums become
// results. A uint8 code is stored as code - 128, and so is its zero point.
#ifdef PACK
// Element (matrix, row, k) of x is at matrix * matrix_step + row * row_step + k * column_step.
struct Lines {
  i64 rows, k, padded, row_step, column_step, matrix_rows, matrix_step;
  int flip;
};

// A warp makes a row of `padded` codes, which end with zeros, and its sum. padded: a multiple of 4.
extern "C" __global__ void __launch_bounds__(256) codes_pack(const u8* x, u8* y, int* sums, Lines s) {
  begin_kernel();
  const i64 row = i64(blockIdx.x) * 8 + threadIdx.x / 32;
  const int lane = threadIdx.x % 32;
  if (row >= s.rows) return;
  const u8* from = x + row / s.matrix_rows * s.matrix_step + row % s.matrix_rows * s.row_step;
  u32* to = (u32*)(y + row * s.padded);
  const bool wide = s.column_step == 1 && (u64(from) & 3) == 0;
  int sum = 0;
  for (i64 k = lane * 4; k < s.padded; k += 128) {
    u32 word = 0;
    if (wide && k + 4 <= s.k) {
      word = *(const u32*)(from + k) ^ u32(s.flip) * 0x01010101u;
    } else {
      for (int i = 0; i < 4 && k + i < s.k; ++i) word |= u32(from[(k + i) * s.column_step] ^ u32(s.flip)) << 8 * i;
    }
    for (int i = 0; i < 4; ++i) sum += i8(word >> 8 * i);
    to[k / 4] = word;
  }
  sum = reduce_warp<Sum>(sum);
  if (lane == 0) sums[row] = sum;
}
#endif

#ifdef FINISH
// A_CODE and B_CODE are the types of the codes of both operands.
typedef A_CODE A;
typedef B_CODE B;
constexpr int kFlipA = A(-1) > A(0) ? 128 : 0, kFlipB = B(-1) > B(0) ? 128 : 0;

// MODE 0: y is the sum (int), 1: scaled (OUT), 2: quantised again (OUT). SCALE is the type of scales and bias.
struct Results {
  i64 rows, columns, padded, k;                           // of all matrices; padded: from a row of sums to the next
  i64 matrix_rows;                                        // rows of a matrix
  i64 a_zeros, b_zeros, a_scales, b_scales, column_sums;  // how many there are; 0: none
  i64 c_row, c_column;                                    // steps of the integers that are added to sums
  float alpha;
};
struct Inputs {
  const int *row_sums, *column_sums, *c;
  const A* a_zero;
  const B* b_zero;
  const SCALE *a_scale, *b_scale, *bias, *y_scale;
  const OUT* y_zero;
};

// An index into `count` values that repeat. Divisions of 64 bits cost more than the rest and are made only if needed.
__device__ inline i64 repeated(i64 index, i64 count) { return index < count ? index : count == 1 ? 0 : index % count; }

__device__ inline OUT result_of(const Inputs& in, const Results& s, i64 row, i64 column, int sum) {
  const i64 across =
      (row < s.matrix_rows ? 0 : row / s.matrix_rows * s.columns) + column;  // among the columns of all matrices
  const int za = (s.a_zeros ? int(in.a_zero[repeated(row, s.a_zeros)]) : 0) - kFlipA;
  const int zb = (s.b_zeros ? int(in.b_zero[repeated(across, s.b_zeros)]) : 0) - kFlipB;
  sum -= za * in.column_sums[repeated(across, s.column_sums)] + zb * in.row_sums[row] - int(s.k) * za * zb;
  if (in.c) sum += in.c[row * s.c_row + column * s.c_column];
#if MODE == 0
  return sum;
#else
  const float scale = Compute<SCALE>::load(in.a_scale[repeated(row, s.a_scales)]) *
                      Compute<SCALE>::load(in.b_scale[repeated(across, s.b_scales)]) * s.alpha;
#if MODE == 1
  const float v = float(sum) * scale + (in.bias ? Compute<SCALE>::load(in.bias[column]) : 0.0f);
  return Compute<OUT>::store(v);
#else
  constexpr float kLeast = OUT(-1) > OUT(0) ? 0.0f : -128.0f, kMost = OUT(-1) > OUT(0) ? 255.0f : 127.0f;
  const float v =
      rintf(float(sum) * (scale / Compute<SCALE>::load(in.y_scale[0]))) + (in.y_zero ? float(in.y_zero[0]) : 0.0f);
  return OUT(int(v < kLeast ? kLeast : v > kMost ? kMost : v));
#endif
#endif
}

extern "C" __global__ void __launch_bounds__(256)
    codes_finish(const int* sums, OUT* y, const int* row_sums, const int* column_sums, const int* c, const A* a_zero,
                 const B* b_zero, const SCALE* a_scale, const SCALE* b_scale, const SCALE* bias, const SCALE* y_scale,
                 const OUT* y_zero, Results s) {
  begin_kernel();
  const Inputs in{row_sums, column_sums, c, a_zero, b_zero, a_scale, b_scale, bias, y_scale, y_zero};
  const i64 column = i64(blockIdx.x) * 256 + threadIdx.x;
  if (column >= s.columns) return;
  for (i64 row = blockIdx.y; row < s.rows; row += gridDim.y)
    y[row * s.columns + column] = result_of(in, s, row, column, sums[row * s.padded + column]);
}

#ifdef ROWS
// Products of up to ROWS rows with one matrix: a warp for each column. x [rows, length] and w [columns, length] are
// packed, and length is a multiple of 16.
extern "C" __global__ void __launch_bounds__(256)
    codes_few(const Wide* __restrict__ x, const Wide* __restrict__ w, i64 length, OUT* y, const int* row_sums,
              const int* column_sums, const int* c, const A* a_zero, const B* b_zero, const SCALE* a_scale,
              const SCALE* b_scale, const SCALE* bias, const SCALE* y_scale, const OUT* y_zero, Results s) {
  begin_kernel();
  const Inputs in{row_sums, column_sums, c, a_zero, b_zero, a_scale, b_scale, bias, y_scale, y_zero};
  const i64 column = i64(blockIdx.x) * 8 + threadIdx.x / 32, steps = length / 16;
  const int lane = threadIdx.x % 32;
  if (column >= s.columns) return;
  int sum[ROWS] = {};
#pragma unroll 4
  for (i64 k = lane; k < steps; k += 32) {
    const Wide codes = w[column * steps + k];
#pragma unroll
    for (int r = 0; r < ROWS; ++r) {
      const Wide row = x[(r < s.rows ? r : 0) * steps + k];
#pragma unroll
      for (int i = 0; i < 4; ++i) sum[r] = __dp4a(int(row.word[i]), int(codes.word[i]), sum[r]);
    }
  }
  int mine = 0;
#pragma unroll
  for (int r = 0; r < ROWS; ++r) {
    const int total = reduce_warp<Sum>(sum[r]);
    if (lane == r) mine = total;
  }
  if (lane < ROWS && lane < s.rows) y[lane * s.columns + column] = result_of(in, s, lane, column, mine);
}
#endif
#endif

#ifdef DYNAMIC
// The least and greatest of numbers and 0; NaN is ignored.
struct Range {
  float least, most;
};
__device__ inline void widen(Range& r, float v) {
  r.least = v < r.least ? v : r.least;
  r.most = v > r.most ? v : r.most;
}
__device__ inline Range join_block(Range r) {
  __shared__ float room[32];
  r.most = reduce_block<Most>(r.most, 0.0f, room);
  r.least = -reduce_block<Most>(-r.least, 0.0f, room);
  return r;
}
struct __align__(16) Four {
  float at[4];
};
// That of a thread's share of x; `threads` go over all of it.
__device__ inline Range range_of(const float* __restrict__ x, i64 count, i64 thread, i64 threads) {
  Range r = {0.0f, 0.0f};
  i64 done = 0;
  if ((u64(x) & 15) == 0) {
    const i64 fours = count / 4;
#pragma unroll 4
    for (i64 i = thread; i < fours; i += threads) {
      const Four v = ((const Four*)x)[i];
#pragma unroll
      for (int k = 0; k < 4; ++k) widen(r, v.at[k]);
    }
    done = fours * 4;
  }
  for (i64 i = done + thread; i < count; i += threads) widen(r, x[i]);
  return r;
}

struct Rule {
  float scale, zero;
};
// That of DynamicQuantizeLinear.
__device__ inline Rule rule_of(Range r) {
  Rule rule;
  rule.scale = r.most == r.least ? 1.0f : (r.most - r.least) / 255.0f;
  const float zero = rintf(-r.least / rule.scale);
  rule.zero = zero < 0 ? 0.0f : zero > 255 ? 255.0f : zero;
  return rule;
}
__device__ inline u32 code_of(float v, Rule rule) {
  v = rintf(v / rule.scale) + rule.zero;
  return u32(v > 255 ? 255.0f : v > 0 ? v : 0.0f);
}
__device__ inline void quantize(const float* __restrict__ x, Rule rule, u8* y, i64 count, i64 thread, i64 threads) {
  i64 done = 0;
  if (((u64(x) & 15) | (u64(y) & 3)) == 0) {
    const i64 fours = count / 4;
#pragma unroll 4
    for (i64 i = thread; i < fours; i += threads) {
      const Four v = ((const Four*)x)[i];
      u32 word = 0;
#pragma unroll
      for (int k = 0; k < 4; ++k) word |= code_of(v.at[k], rule) << 8 * k;
      ((u32*)y)[i] = word;
    }
    done = fours * 4;
  }
  for (i64 i = done + thread; i < count; i += threads) y[i] = u8(code_of(x[i], rule));
}
__device__ inline void store_rule(Rule rule, float* scale, u8* zero) {
  if (blockIdx.x || threadIdx.x) return;
  if (scale) scale[0] = rule.scale;
  if (zero) zero[0] = u8(int(rule.zero));
}

// Blocks find the least and greatest of their share of x.
extern "C" __global__ void __launch_bounds__(256) codes_range(const float* x, float* parts, i64 count) {
  begin_kernel();
  const Range r = join_block(range_of(x, count, i64(blockIdx.x) * 256 + threadIdx.x, i64(gridDim.x) * 256));
  if (threadIdx.x) return;
  parts[2 * blockIdx.x] = r.least;
  parts[2 * blockIdx.x + 1] = r.most;
}

// x in codes of 8 bits by the rule of DynamicQuantizeLinear, its scale and zero point; each may be null.
extern "C" __global__ void __launch_bounds__(256)
    codes_quantize(const float* x, const float* parts, int part_count, u8* y, float* scale, u8* zero, i64 count) {
  begin_kernel();
  Range r = {0.0f, 0.0f};
  for (int i = threadIdx.x; i < part_count; i += 256) {
    widen(r, parts[2 * i]);
    widen(r, parts[2 * i + 1]);
  }
  const Rule rule = rule_of(join_block(r));
  store_rule(rule, scale, zero);
  if (y) quantize(x, rule, y, count, i64(blockIdx.x) * 256 + threadIdx.x, i64(gridDim.x) * 256);
}

// The same for few numbers, by one block.
extern "C" __global__ void __launch_bounds__(1024)
    codes_quantize_few(const float* x, u8* y, float* scale, u8* zero, i64 count) {
  begin_kernel();
  const Rule rule = rule_of(join_block(range_of(x, count, threadIdx.x, blockDim.x)));
  store_rule(rule, scale, zero);
  if (y) quantize(x, rule, y, count, threadIdx.x, blockDim.x);
}

#ifdef ROUNDED
// Block d rounds the numbers of part d, `count` each, to the codes that they would have, for kernels that multiply
// numbers.
extern "C" __global__ void __launch_bounds__(1024) codes_round(const float* x, float* y, i64 count) {
  begin_kernel();
  x += blockIdx.x * count;
  y += blockIdx.x * count;
  const Rule rule = rule_of(join_block(range_of(x, count, threadIdx.x, blockDim.x)));
  for (i64 i = threadIdx.x; i < count; i += blockDim.x)
    y[i] = (float(int(code_of(x[i], rule))) - rule.zero) * rule.scale;
}
// Codes as numbers.
extern "C" __global__ void __launch_bounds__(256)
    codes_numbers(const u8* x, const float* scale, const u8* zero, float* y, i64 count) {
  begin_kernel();
  const i64 i = i64(blockIdx.x) * 256 + threadIdx.x;
  if (i < count) y[i] = float(int(x[i]) - int(zero[0])) * scale[0];
}
#endif
#endif
