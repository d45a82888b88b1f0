// The functions f, g, h of recurrent cells, which attributes choose by name.
#pragma once
#include <array>
#include <span>
#include <string_view>

#include "kernels/elementwise/unary.h"

namespace retort::ops {

/// One function with its parameters, as ONNX defines them for RNN, GRU and LSTM.
struct CellFunction {
  enum class Kind : uint8_t {
    relu,
    tanh,
    sigmoid,
    affine,            ///< alpha·x + beta
    leaky_relu,        ///< x below zero times alpha
    thresholded_relu,  ///< x from alpha on, else 0
    scaled_tanh,       ///< alpha·tanh(beta·x)
    hard_sigmoid,      ///< clamp(alpha·x + beta, 0, 1)
    elu,               ///< alpha·(eˣ - 1) below zero
    softsign,          ///< x / (1 + |x|)
    softplus,          ///< ln(1 + eˣ)
  };
  Kind kind = Kind::tanh;
  float alpha = 0, beta = 0;

  double operator()(double x) const;
  /// x = f(x), n elements, serial; vectors for the kinds that have a kernel.
  void apply(float* x, size_t n) const noexcept;
};

/// Three for each of two directions at most.
using CellFunctions = std::array<CellFunction, 6>;
/// The functions named, upper or lower case, at most 6; alphas and betas go in turn to those that take one, which have
/// defaults where there are too few. Throws invalid_argument on an unknown name.
CellFunctions cell_functions(std::span<const std::string_view> names, std::span<const float> alphas,
                             std::span<const float> betas);

}  // namespace retort::ops
