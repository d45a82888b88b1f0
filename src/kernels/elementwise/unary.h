// y[i] = f(x[i]) on floats. Thread-safe, no allocation; y may be x. NaN gives NaN; accuracy as in kernels/simd_math.h.
#pragma once
#include <cstdint>
#include <span>

#include "base/parallel.h"
#include "kernels/activation.h"

namespace retort::kernels {

/// The function and its parameter `a`: for elu the scale of the negative side, for scaled_silu the factor in the
/// sigmoid.
struct Unary {
  enum class Kind : uint8_t {
    neg,
    abs,
    sqrt,
    reciprocal,
    exp,
    log,
    sin,
    cos,
    asin,  ///< NaN beyond ±1; the same for acos
    acos,
    atan,
    erf,
    floor,
    ceil,
    round,  ///< half to even
    sign,   ///< -1, 0, 1; +0 for -0
    elu,
    celu,  ///< below zero a·(e^(x/a) - 1)
    selu,  ///< b·elu
    softplus,
    mish,
    scaled_silu,  ///< x·sigmoid(a·x)
  };
  Kind kind;
  float a = 1;
  float b = 1;
};

/// x.size() == y.size().
void unary(const Unary& function, std::span<const float> x, std::span<float> y, const Parallel& par) noexcept;
void activate(const Activation& activation, std::span<const float> x, std::span<float> y, const Parallel& par) noexcept;

}  // namespace retort::kernels
