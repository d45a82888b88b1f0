// The recurrence of linear attention. The state S is a matrix [keys, values]. Each token sets S := exp(decay) · S + k ⊗
// d, where d is its value v or, with the delta rule, beta · (v - Sᵀ · k); its result is scale · Sᵀ · q.
#pragma once
#include <cmath>
#include <cstddef>
#include <string_view>

#include "base/error.h"

namespace retort::ops {

struct LinearRule {
  bool decays = false, corrects = false;

  static LinearRule of(std::string_view name) {
    require(name == "linear" || name == "gated" || name == "delta" || name == "gated_delta",
            ErrorCode::invalid_argument, "update_rule \"{}\" is not one of linear, gated, delta, gated_delta", name);
    return {name == "gated" || name == "gated_delta", name == "delta" || name == "gated_delta"};
  }
};

/// S of one head: element (i, j) lies at i * key_step + j * value_step.
struct LinearState {
  float* data = nullptr;
  size_t keys = 0, values = 0, key_step = 0, value_step = 0;

  float& at(size_t i, size_t j) const { return data[i * key_step + j * value_step]; }
  /// Multiplies by exp(decay): one number, or one for each key.
  void decay(const float* by, bool each) const {
    for (size_t i = 0; i < keys; ++i) {
      const float factor = std::exp(by[each ? i : 0]);
      for (size_t j = 0; j < values; ++j) at(i, j) *= factor;
    }
  }
  /// y = scale · Sᵀ · x.
  void read(const float* x, float scale, float* y) const {
    for (size_t j = 0; j < values; ++j) {
      float sum = 0;
      for (size_t i = 0; i < keys; ++i) sum += at(i, j) * x[i];
      y[j] = scale * sum;
    }
  }
  void add(const float* k, const float* d) const {
    for (size_t i = 0; i < keys; ++i) {
      for (size_t j = 0; j < values; ++j) at(i, j) += k[i] * d[j];
    }
  }
  /// Adds a token to the state, and stores its d.
  void learn(LinearRule rule, const float* k, const float* v, float beta, float* d) const {
    if (rule.corrects) read(k, 1, d);
    for (size_t j = 0; j < values; ++j) d[j] = rule.corrects ? beta * (v[j] - d[j]) : v[j];
    add(k, d);
  }
};

}  // namespace retort::ops
