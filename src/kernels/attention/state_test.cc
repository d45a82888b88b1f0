#include "kernels/attention/state.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "base/cpu.h"

namespace retort::kernels {
namespace {

std::vector<float> waves(size_t n, float phase) {
  std::vector<float> x(n);
  for (size_t i = 0; i < n; ++i) x[i] = std::sin(phase + 1.3f * float(i));
  return x;
}

void plainly(const LinearTokens& a, std::vector<float>& state) {
  const auto at = [&](size_t i, size_t j) -> float& { return state[i * a.values + j]; };
  const auto product = [&](const float* x, size_t j) {
    float sum = 0;
    for (size_t i = 0; i < a.keys; ++i) sum += at(i, j) * x[i];
    return sum;
  };
  for (size_t t = 0; t < a.tokens; ++t) {
    for (size_t j = 0; j < a.values; ++j) {
      for (size_t i = 0; a.factors && i < a.keys; ++i) at(i, j) *= a.factors[t * a.factor_step + (a.each ? i : 0)];
      float d = a.v[t * a.v_step + j];
      if (a.corrects) d = (a.beta ? a.beta[t * a.beta_step] : 1) * (d - product(a.k + t * a.k_step, j));
      for (size_t i = 0; i < a.keys; ++i) at(i, j) += a.k[t * a.k_step + i] * d;
      for (size_t n = 0; n < a.queries; ++n)
        a.y[t * a.y_step + n * a.values + j] = a.scale * product(a.q + t * a.q_step + n * a.keys, j);
    }
  }
}

struct Rule {
  bool factors, each, corrects, beta;
};
constexpr Rule kRules[] = {{false, false, false, false}, {true, false, false, false}, {true, true, false, false},
                           {false, false, true, true},   {true, false, true, true},   {true, true, true, false}};

void expect_plain_bits(size_t keys, size_t values, size_t tokens, size_t queries, const Rule& rule) {
  // Rows are longer than needed: other heads lie beside.
  LinearTokens a{.keys = keys, .values = values, .tokens = tokens, .each = rule.each, .corrects = rule.corrects};
  a.k_step = keys + 3, a.v_step = values + 5, a.factor_step = keys + 1, a.beta_step = 2;
  a.q_step = queries * keys + 2, a.y_step = queries * values + 7, a.queries = queries, a.scale = 0.75f;
  const auto k = waves(tokens * a.k_step, 1), v = waves(tokens * a.v_step, 2), f = waves(tokens * a.factor_step, 3),
             beta = waves(tokens * a.beta_step, 4), q = waves(tokens * a.q_step, 5), state = waves(keys * values, 6);
  a.k = k.data(), a.v = v.data(), a.q = q.data();
  a.factors = rule.factors ? f.data() : nullptr, a.beta = rule.beta ? beta.data() : nullptr;
  std::vector<float> want(tokens * a.y_step, -9.0f), want_state = state;
  a.y = want.data();
  plainly(a, want_state);
  for (int level = 0; level <= int(best_isa()); ++level) {
    const ScopedIsa isa{Isa(level)};
    std::vector<float> y(tokens * a.y_step, -9.0f), s = state;
    a.y = y.data();
    run_tokens(a, s.data());
    EXPECT_EQ(y, want) << keys << " x " << values << ", level " << level;
    EXPECT_EQ(s, want_state) << keys << " x " << values << ", level " << level;
  }
}

TEST(LinearTokens, HaveTheBitsOfPlainLoops) {
  for (const Rule& rule : kRules) {
    for (const size_t values : {0, 1, 3, 4, 8, 15, 16, 17, 33, 64, 77}) {
      expect_plain_bits(5, values, 3, 1, rule);
      expect_plain_bits(8, values, 1, 3, rule);
    }
    expect_plain_bits(0, 5, 2, 1, rule);
    expect_plain_bits(4, 20, 0, 1, rule);
  }
}

}  // namespace
}  // namespace retort::kernels
