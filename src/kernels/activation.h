// Activations that a GEMM or a convolution can apply to its result before it leaves the cache.
#pragma once
#include <cstdint>

namespace retort::kernels {

/// y = f(x). `a`, `b`: clip → lower, upper bound; leaky_relu → a = slope; hard_sigmoid, hard_swish → clamp(a·x + b, 0, 1) (times x).
struct Activation {
  enum class Kind : uint8_t { none, relu, clip, leaky_relu, sigmoid, silu, tanh, gelu_erf, gelu_tanh, hard_sigmoid, hard_swish };
  Kind kind = Kind::none;
  float a = 0;
  float b = 0;
  bool operator==(const Activation&) const = default;
};

}  // namespace retort::kernels
