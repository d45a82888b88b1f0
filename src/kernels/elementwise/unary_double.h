// y[i] = f(x[i]) on doubles, for functions where a loop over C's is slower. Thread-safe, no allocation; y may be x.
#pragma once
#include <cstdint>
#include <span>

#include "base/parallel.h"

namespace retort::kernels {

enum class UnaryDouble : uint8_t {
  sqrt,
  sign,  ///< -1, 0, 1; +0 for -0; NaN for NaN
  tanh,  ///< within 4 units in the last place
};

/// x.size() == y.size().
void unary(UnaryDouble f, std::span<const double> x, std::span<double> y, const Parallel& par) noexcept;

}  // namespace retort::kernels
