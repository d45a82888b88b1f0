// Activations that a GEMM or a convolution can apply to its result while it is in the cache.
#pragma once
#include <cstdint>

namespace retort::kernels {

/// y = f(x). `a` and `b` are the lower and upper bound of clip; `a` is the slope of leaky_relu; hard_sigmoid is
/// clamp(a·x + b, 0, 1), and hard_swish is x times that.
struct Activation {
  enum class Kind : uint8_t {
    none,
    relu,
    clip,
    leaky_relu,
    sigmoid,
    silu,
    tanh,
    gelu_erf,
    gelu_tanh,
    hard_sigmoid,
    hard_swish
  };
  Kind kind = Kind::none;
  float a = 0;
  float b = 0;
  bool operator==(const Activation&) const = default;
};

}  // namespace retort::kernels
