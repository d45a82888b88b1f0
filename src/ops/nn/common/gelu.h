// The two forms of GELU (Hendrycks and Gimpel, arXiv 1606.08415).
#pragma once
#include <cmath>
#include <numbers>

namespace retort::ops {

template <typename T>
T gelu_erf(T x) {
  return T(0.5) * x * (T(1) + std::erf(x / std::numbers::sqrt2_v<T>));
}
/// x/2 · (1 + tanh(√(2/π) · (x + 0.044715 · x³)))
template <typename T>
T gelu_tanh(T x) {
  const T inner = std::sqrt(T(2) / std::numbers::pi_v<T>) * (x + T(0.044715) * x * x * x);
  return T(0.5) * x * (T(1) + std::tanh(inner));
}

}  // namespace retort::ops
