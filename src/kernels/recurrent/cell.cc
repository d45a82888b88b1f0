// All functions of a cell in one pass. For the few dozen elements of small models, a pass for each function takes longer
// than the matrix product of a step.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/recurrent/cell.cc"
#include "kernels/recurrent/cell.h"

#include <hwy/foreach_target.h>  // must come before highway.h
#include <hwy/highway.h>

#include <cmath>

#include "kernels/dispatch.h"
#include "kernels/simd_math.h"

HWY_BEFORE_NAMESPACE();
namespace retort::kernels::HWY_NAMESPACE {
namespace {

using D = hn::ScalableTag<float>;
using V = hn::Vec<D>;

/// Calls step(load, store, i) for vectors that cover [0, n).
template <class Step>
HWY_INLINE void for_vectors(size_t n, const Step& step) {
  const D d;
  const size_t lanes = hn::Lanes(d);
  size_t i = 0;
  for (; i + lanes <= n; i += lanes) {
    step([](const float* p) HWY_ATTR { return hn::LoadU(D(), p); },
         [](V v, float* p) HWY_ATTR { hn::StoreU(v, D(), p); }, i);
  }
  if (i == n) return;
  const size_t left = n - i;
  step([left](const float* p) HWY_ATTR { return LoadFirst(D(), p, left); },
       [left](V v, float* p) HWY_ATTR { StoreFirst(D(), v, p, left); }, i);
}

}  // namespace

void lstm_step(const LstmCell& cell) noexcept {
  const float* const gates = cell.gates;
  float *const c = cell.c, *const h = cell.h;
  const size_t n = cell.stride();
  for_vectors(cell.hidden, [=](auto load, auto store, size_t i) HWY_ATTR {
    const D d;
    const V in = Sigmoid(d, load(gates + i)), forget = Sigmoid(d, load(gates + 2 * n + i));
    const V state = hn::MulAdd(forget, load(c + i), hn::Mul(in, Tanh(d, load(gates + 3 * n + i))));
    store(state, c + i);
    store(hn::Mul(Sigmoid(d, load(gates + n + i)), Tanh(d, state)), h + i);
  });
}

void gru_step(const GruCell& cell) noexcept {
  const float *const x = cell.x, *const gates = cell.gates;
  float* const h = cell.h;
  const size_t n = cell.stride();
  for_vectors(cell.hidden, [=](auto load, auto store, size_t i) HWY_ATTR {
    const D d;
    const V z = Sigmoid(d, hn::Add(load(x + i), load(gates + i)));
    const V r = Sigmoid(d, hn::Add(load(x + n + i), load(gates + n + i)));
    const V candidate = Tanh(d, hn::MulAdd(r, load(gates + 2 * n + i), load(x + 2 * n + i)));
    store(hn::MulAdd(z, hn::Sub(load(h + i), candidate), candidate), h + i);
  });
}

}  // namespace retort::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace retort::kernels {
namespace {

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

}  // namespace

void lstm_cell(const LstmCell& cell) noexcept { RETORT_SELECT(lstm_step)(cell); }
void gru_cell(const GruCell& cell) noexcept { RETORT_SELECT(gru_step)(cell); }

void lstm_cell_reference(const LstmCell& cell) noexcept {
  const size_t n = cell.stride();
  for (size_t i = 0; i < cell.hidden; ++i) {
    const double in = sigmoid(cell.gates[i]), out = sigmoid(cell.gates[n + i]), forget = sigmoid(cell.gates[2 * n + i]);
    const double state = forget * cell.c[i] + in * std::tanh(double(cell.gates[3 * n + i]));
    cell.c[i] = float(state);
    cell.h[i] = float(out * std::tanh(state));
  }
}

void gru_cell_reference(const GruCell& cell) noexcept {
  const size_t n = cell.stride();
  for (size_t i = 0; i < cell.hidden; ++i) {
    const double z = sigmoid(double(cell.x[i]) + cell.gates[i]), r = sigmoid(double(cell.x[n + i]) + cell.gates[n + i]);
    const double candidate = std::tanh(cell.x[2 * n + i] + r * cell.gates[2 * n + i]);
    cell.h[i] = float((1 - z) * candidate + z * cell.h[i]);
  }
}

}  // namespace retort::kernels
#endif
