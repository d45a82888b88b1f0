// The recurrence of linear attention for one head, whose state is a matrix [keys, values].
#pragma once
#include <cstddef>

namespace retort::kernels {

/// Tokens of one head. Row t of k begins at k + t · k_step, and so on; a null pointer stands for numbers of one.
struct LinearTokens {
  size_t keys = 0, values = 0, tokens = 0;
  const float *k = nullptr, *v = nullptr, *factors = nullptr, *beta = nullptr;
  size_t k_step = 0, v_step = 0, factor_step = 0, beta_step = 0;
  bool each = false;      ///< a factor for each key, otherwise one for all
  bool corrects = false;  ///< the delta rule
  const float* q = nullptr;
  float* y = nullptr;
  size_t q_step = 0, y_step = 0, queries = 1;  ///< queries that read the state after each token lie side by side
  float scale = 1;
};
/// For each token: S := factor · S; d := v or, with the delta rule, beta · (v - Sᵀ · k); S := S + k ⊗ d; y := scale · Sᵀ ·
/// q for each query. Serial; no allocation. The result has the bits of plain loops at every instruction level.
void run_tokens(const LinearTokens& tokens, float* state) noexcept;

}  // namespace retort::kernels
