// One step of LSTM, GRU and RNN, for all directions and sequences: a warp for each hidden unit and a few sequences.
// The products of the inputs with W are there already.
// Defines: STORED: type of the tensors; CELL: 0 LSTM, 1 GRU, 2 RNN; PHASE: of a GRU that resets before its product: 1
// computes the gates, 2 the state; 0 for all else; ROUNDS: whether products are those of `reset`, a rounded state.
typedef STORED T;
typedef Compute<T>::type A;
constexpr int kTogether = 8;  // sequences of a warp
constexpr int kThreads = 128;
constexpr int kGates = CELL == 0 ? 4 : CELL == 1 ? 3 : 1;  // rows of W and R for each unit
constexpr int kFirst = PHASE == 2 ? 2 : 0, kLast = PHASE == 1 ? 2 : kGates;

struct Activation {
  int kind;
  float alpha, beta;
};
struct Cell {
  Activation activations[2][3];  // by direction
  int first_reversed;            // the first direction goes backwards; a second one always does
  int directions;
  i64 units, batch, length;
  i64 x_time, x_batch;               // rows of the products
  i64 y_time, y_direction, y_batch;  // elements of Y
  i64 h_direction, h_batch;          // elements of the states that are inputs and outputs
  float clip;                        // 0: none
  int unused;
};

__device__ inline float power(float v) { return expf(v); }
__device__ inline double power(double v) { return exp(v); }
__device__ inline float hyperbolic(float v) { return tanhf(v); }
__device__ inline double hyperbolic(double v) { return tanh(v); }
__device__ inline float log_one(float v) { return log1pf(v); }
__device__ inline double log_one(double v) { return log1p(v); }
__device__ inline A at_least(A v, A least) { return v < least ? least : v; }

__device__ inline A activated(const Cell& cell, const Activation& f, A v) {
  const A a = A(f.alpha), b = A(f.beta);
  if (cell.clip > 0) v = v > A(cell.clip) ? A(cell.clip) : at_least(v, -A(cell.clip));
  switch (f.kind) {
    case 0:
      return A(1) / (A(1) + power(-v));
    case 1:
      return hyperbolic(v);
    case 2:
      return at_least(v, A(0));
    case 3:
      return a * v + b;
    case 4:
      return v < A(0) ? a * v : v;
    case 5:
      return v > a ? v : A(0);
    case 6:
      return a * hyperbolic(b * v);
    case 7:
      v = at_least(a * v + b, A(0));
      return v > A(1) ? A(1) : v;
    case 8:
      return v < A(0) ? a * (power(v) - A(1)) : v;
    case 9:
      return v / (A(1) + (v < A(0) ? -v : v));
    default:
      return at_least(v, A(0)) + log_one(power(v < A(0) ? v : -v));
  }
}
__device__ inline A element(const T* p, i64 i) { return p ? A(Compute<T>::load(p[i])) : A(0); }

/// What the finish of a unit reads and writes. States have the shape [direction, sequence, unit].
struct Place {
  int direction;
  i64 unit, sequence, state;
};
struct Buffers {
  const T *products, *bias, *peepholes;
  const A* h;
  A *next, *c, *z, *reset;
};

__device__ inline A lstm(const Cell& cell, const Buffers& m, const Place& at, const A* in) {
  const Activation* f = cell.activations[at.direction];
  const T* const p = m.peepholes ? m.peepholes + at.direction * 3 * cell.units + at.unit : nullptr;
  const A before = m.c[at.state];
  const A i = activated(cell, f[0], in[0] + element(p, 0) * before);
  const A forget = activated(cell, f[0], in[2] + element(p, 2 * cell.units) * before);
  const A c = forget * before + i * activated(cell, f[1], in[3]);
  const A o = activated(cell, f[0], in[1] + element(p, cell.units) * c);
  m.c[at.state] = c;
  return o * activated(cell, f[2], c);
}

/// The place in time of step `step`, or -1 if the sequence has ended.
__device__ inline i64 time_of(const Cell& cell, int direction, i64 step, i64 length) {
  if (step >= length) return -1;
  return direction || cell.first_reversed ? length - 1 - step : step;
}

/// The products of the state with the rows of R, in all lanes: in[gate][sequence].
__device__ inline void multiply(const Cell& cell, const T* r, const A* h, i64 first, int count, A (*in)[kTogether]) {
  const int lane = threadIdx.x % 32;
#pragma unroll
  for (int g = kFirst; g < kLast; ++g)
#pragma unroll
    for (int b = 0; b < kTogether; ++b) in[g][b] = A(0);
#pragma unroll 2
  for (i64 k = lane; k < cell.units; k += 32) {
    A weight[kGates];
#pragma unroll
    for (int g = kFirst; g < kLast; ++g) weight[g] = Compute<T>::load(r[g * cell.units * cell.units + k]);
#pragma unroll
    for (int b = 0; b < kTogether; ++b) {
      if (b >= count) continue;
      const A state = h[(first + b) * cell.units + k];
#pragma unroll
      for (int g = kFirst; g < kLast; ++g) in[g][b] += weight[g] * state;
    }
  }
#pragma unroll
  for (int g = kFirst; g < kLast; ++g)
#pragma unroll
    for (int b = 0; b < kTogether; ++b)
      if (b < count) in[g][b] = reduce_warp<Sum>(in[g][b]);
}

/// The new state of a unit; `in`: products with R, `x`: products with W, both with their biases.
__device__ inline A state_of(const Cell& cell, const Buffers& m, const Place& at, const A* in, const A* x, A r_bias) {
  const Activation* f = cell.activations[at.direction];
  if (CELL == 0) {
    const A sums[4] = {in[0] + x[0], in[1 % kGates] + x[1 % kGates], in[2 % kGates] + x[2 % kGates],
                       in[3 % kGates] + x[3 % kGates]};
    return lstm(cell, m, at, sums);
  }
  if (CELL == 2) return activated(cell, f[0], in[0] + x[0]);
  const A before = m.h[at.state];
  A z = A(0), fresh = A(0);
  if (PHASE == 2) {
    z = m.z[at.state];
    fresh = activated(cell, f[1], in[2 % kGates] + x[2 % kGates]);
  } else {
    z = activated(cell, f[0], in[0] + x[0]);
    const A reset = activated(cell, f[0], in[1 % kGates] + x[1 % kGates]);
    if (PHASE == 1) {
      m.z[at.state] = z;
      m.reset[at.state] = reset * before;
      return before;
    }
    // x has both biases; that of R is reset as well
    fresh = activated(cell, f[1], x[2 % kGates] - r_bias + reset * (in[2 % kGates] + r_bias));
  }
  return (A(1) - z) * fresh + z * before;
}

/// grid: units / 4, sequences / kTogether, directions. `lengths` may be null. PHASE 2 and ROUNDS multiply `reset`.
extern "C" __global__ void __launch_bounds__(kThreads)
    recurrent_step(const T* products, const T* r, const T* bias, const T* peepholes, const int* lengths, const A* h,
                   A* next, A* c, A* z, A* reset, T* y, i64 step, Cell cell) {
  begin_kernel();
  const i64 unit = i64(blockIdx.x) * (kThreads / 32) + threadIdx.x / 32, first = i64(blockIdx.y) * kTogether;
  if (unit >= cell.units) return;
  const int direction = blockIdx.z, lane = threadIdx.x % 32;
  const i64 left = cell.batch - first, rows = kGates * cell.units;
  const int count = left < kTogether ? int(left) : kTogether;
  const i64 states = direction * cell.batch * cell.units;
  A in[kGates][kTogether];
  multiply(cell, r + (direction * rows + unit) * cell.units, (PHASE == 2 || ROUNDS ? reset : h) + states, first, count,
           in);
  // Lane b finishes sequence b. Constant indices keep the array in registers.
  A mine[kGates] = {}, x[kGates] = {};
#pragma unroll
  for (int b = 0; b < kTogether; ++b)
#pragma unroll
    for (int g = kFirst; g < kLast; ++g)
      if (b == lane) mine[g] = in[g][b];
  if (lane >= count) return;
  const i64 sequence = first + lane;
  const Place at = {direction, unit, sequence, states + sequence * cell.units + unit};
  const i64 time = time_of(cell, direction, step, lengths ? i64(lengths[sequence]) : cell.length);
  T* const out = y ? y + direction * cell.y_direction + sequence * cell.y_batch + unit : nullptr;
  if (time < 0) {
    if (PHASE == 1) return;
    next[at.state] = h[at.state];
    if (out) out[step * cell.y_time] = Compute<T>::store(A(0));
    return;
  }
  const T* const row = products + (time * cell.x_time + sequence * cell.x_batch) * cell.directions * rows;
  const T* const both = bias ? bias + direction * 2 * rows + unit : nullptr;
#pragma unroll
  for (int g = kFirst; g < kLast; ++g)
    x[g] = element(row, direction * rows + g * cell.units + unit) + element(both, g * cell.units) +
           element(both, rows + g * cell.units);
  const Buffers m = {products, bias, peepholes, h, next, c, z, reset};
  const A state = state_of(cell, m, at, mine, x, element(both, rows + (kGates - 1) * cell.units));
  if (PHASE == 1) return;
  next[at.state] = state;
  if (out) out[time * cell.y_time] = Compute<T>::store(state);
}

/// The states before the first step: those given, or 0. `from` and `to` may be null.
extern "C" __global__ void recurrent_begin(const T* from, A* to, i64 count, Cell cell) {
  begin_kernel();
  const i64 i = i64(blockIdx.x) * blockDim.x + threadIdx.x, row = i / cell.units;
  if (i >= count) return;
  to[i] = element(from, row / cell.batch * cell.h_direction + row % cell.batch * cell.h_batch + i % cell.units);
}
/// The states after the last step.
extern "C" __global__ void recurrent_end(const A* from, T* to, i64 count, Cell cell) {
  begin_kernel();
  const i64 i = i64(blockIdx.x) * blockDim.x + threadIdx.x, row = i / cell.units;
  if (i >= count) return;
  to[row / cell.batch * cell.h_direction + row % cell.batch * cell.h_batch + i % cell.units] =
      Compute<T>::store(from[i]);
}
