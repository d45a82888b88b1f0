// The functions f, g, h of recurrent cells, chosen by attributes.
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
    leaky_relu,        ///< alpha·x below zero, x otherwise
    thresholded_relu,  ///< x from alpha on, 0 otherwise
    scaled_tanh,       ///< alpha·tanh(beta·x)
    hard_sigmoid,      ///< clamp(alpha·x + beta, 0, 1)
    elu,               ///< alpha·(eˣ - 1) below zero
    softsign,          ///< x / (1 + |x|)
    softplus,          ///< ln(1 + eˣ)
  };
  Kind kind = Kind::tanh;
  float alpha = 0, beta = 0;

  double operator()(double x) const;
  /// x = f(x) for n elements; serial. Uses vectors for kinds that have a kernel.
  void apply(float* x, size_t n) const noexcept;
};

/// At most three for each of two directions.
using CellFunctions = std::array<CellFunction, 6>;
/// The functions with these names, in upper or lower case, at most 6. The functions that have parameters take alphas
/// and betas in turn, and use defaults if there are too few. Throws invalid_argument on an unknown name.
CellFunctions cell_functions(std::span<const std::string_view> names, std::span<const float> alphas,
                             std::span<const float> betas);

}  // namespace retort::ops
