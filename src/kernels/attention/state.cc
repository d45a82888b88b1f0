#include "kernels/attention/state.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/attention/state.cc"
#include <hwy/foreach_target.h>  // must come before highway.h
#include <hwy/highway.h>

#include "kernels/dispatch.h"

HWY_BEFORE_NAMESPACE();
namespace retort::kernels::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

// kVectors vectors of columns of the state, which no other columns need.
template <size_t kVectors, class D>
struct Columns {
  using V = hn::Vec<D>;
  const LinearTokens& a;
  size_t first;
  float* state;

  float* row(size_t i) const { return state + i * a.values + first; }
  HWY_INLINE static V load(const float* from, size_t c) { return hn::LoadU(D(), from + c * hn::Lanes(D())); }
  HWY_INLINE static void store(V x, float* to, size_t c) { hn::StoreU(x, D(), to + c * hn::Lanes(D())); }
  HWY_INLINE V factor(const float* f, size_t i) const { return hn::Set(D(), f[i * size_t(a.each)]); }

  // Adds the products of x with the state, multiplied by the factors if there are any, to the sums. The state is not
  // written: learn() multiplies it again, which takes less time than to store it twice.
  HWY_NOINLINE void read(const float* x, const float* factors, V* sums) const {
    for (size_t c = 0; c < kVectors; ++c) sums[c] = hn::Zero(D());
    for (size_t i = 0; i < a.keys; ++i) {
      float* const s = row(i);
      const V by = hn::Set(D(), x[i]);
      for (size_t c = 0; c < kVectors; ++c) {
        V now = load(s, c);
        if (factors) now = hn::Mul(now, factor(factors, i));
        sums[c] = hn::Add(sums[c], hn::Mul(now, by));
      }
    }
  }
  // The same for a state to which k ⊗ d is added; it is written.
  HWY_INLINE void learn(const float* k, const V* d, const float* factors, const float* q, V* sums) const {
    for (size_t c = 0; c < kVectors; ++c) sums[c] = hn::Zero(D());
    for (size_t i = 0; i < a.keys; ++i) {
      float* const s = row(i);
      const V key = hn::Set(D(), k[i]), by = hn::Set(D(), q[i]);
      for (size_t c = 0; c < kVectors; ++c) {
        V now = load(s, c);
        if (factors) now = hn::Mul(now, factor(factors, i));
        now = hn::Add(now, hn::Mul(key, d[c]));
        store(now, s, c);
        sums[c] = hn::Add(sums[c], hn::Mul(now, by));
      }
    }
  }
  HWY_INLINE void write(const V* sums, float* y) const {
    for (size_t c = 0; c < kVectors; ++c) store(hn::Mul(hn::Set(D(), a.scale), sums[c]), y + first, c);
  }

  void run() const {
    for (size_t t = 0; t < a.tokens; ++t) {
      const float *k = a.k + t * a.k_step, *v = a.v + t * a.v_step + first, *q = a.q + t * a.q_step;
      const float* factors = a.factors ? a.factors + t * a.factor_step : nullptr;
      float* const y = a.y + t * a.y_step;
      V d[kVectors], sums[kVectors];
      const V beta = hn::Set(D(), a.beta ? a.beta[t * a.beta_step] : 1);
      if (a.corrects) read(k, factors, d);
      for (size_t c = 0; c < kVectors; ++c) d[c] = a.corrects ? hn::Mul(beta, hn::Sub(load(v, c), d[c])) : load(v, c);
      learn(k, d, factors, q, sums);
      write(sums, y);
      for (size_t i = 1; i < a.queries; ++i) {
        read(q + i * a.keys, nullptr, sums);
        write(sums, y + i * a.values);
      }
    }
  }
};

}  // namespace

// All tokens of some columns before the next columns: their part of the state stays in a near cache. Returns the number
// of columns that fill vectors.
size_t run_linear_tokens(const LinearTokens& a, float* state) noexcept {
  using D = hn::ScalableTag<float>;
  constexpr size_t kVectors = 4;  // sums that do not wait for each other
  const size_t lanes = hn::Lanes(D());
  size_t j = 0;
  for (; j + kVectors * lanes <= a.values; j += kVectors * lanes) Columns<kVectors, D>{a, j, state}.run();
  for (; j + lanes <= a.values; j += lanes) Columns<1, D>{a, j, state}.run();
  return j;
}

}  // namespace retort::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace retort::kernels {
namespace {

// A column; element i of the state lies at state[i * a.values].
struct Column {
  const LinearTokens& a;
  float* state;

  float product(const float* x) const {
    float sum = 0;
    for (size_t i = 0; i < a.keys; ++i) sum += state[i * a.values] * x[i];
    return sum;
  }
  void run(const float* v, float* y) const {
    for (size_t t = 0; t < a.tokens; ++t, v += a.v_step, y += a.y_step) {
      const float *k = a.k + t * a.k_step, *factors = a.factors ? a.factors + t * a.factor_step : nullptr;
      for (size_t i = 0; factors && i < a.keys; ++i) state[i * a.values] *= factors[i * size_t(a.each)];
      const float d = a.corrects ? (a.beta ? a.beta[t * a.beta_step] : 1) * (*v - product(k)) : *v;
      for (size_t i = 0; i < a.keys; ++i) state[i * a.values] += k[i] * d;
      for (size_t n = 0; n < a.queries; ++n) y[n * a.values] = a.scale * product(a.q + t * a.q_step + n * a.keys);
    }
  }
};

}  // namespace

void run_tokens(const LinearTokens& tokens, float* state) noexcept {
  for (size_t j = RETORT_SELECT(run_linear_tokens)(tokens, state); j < tokens.values; ++j)
    Column{tokens, state + j}.run(tokens.v + j, tokens.y + j);
}

}  // namespace retort::kernels
#endif
