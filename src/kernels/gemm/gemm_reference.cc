#include <cmath>

#include "kernels/gemm/gemm.h"

namespace retort::kernels {
namespace {

double apply(const Activation& act, double x) {
  const double a = act.a, b = act.b;
  const auto keep_nan_clamp = [](double v, double low, double high) { return v < low ? low : v > high ? high : v; };
  switch (act.kind) {
    case Activation::Kind::none:
      return x;
    case Activation::Kind::relu:
      return x < 0 ? 0 : x;
    case Activation::Kind::clip:
      return keep_nan_clamp(x, a, b);
    case Activation::Kind::leaky_relu:
      return x < 0 ? a * x : x;
    case Activation::Kind::sigmoid:
      return 1 / (1 + std::exp(-x));
    case Activation::Kind::silu:
      return x / (1 + std::exp(-x));
    case Activation::Kind::tanh:
      return std::tanh(x);
    case Activation::Kind::gelu_erf:
      return 0.5 * x * (1 + std::erf(x * 0.70710678118654752440));
    case Activation::Kind::gelu_tanh:
      return 0.5 * x * (1 + std::tanh(0.79788456080286535588 * (x + 0.044715 * x * x * x)));
    case Activation::Kind::hard_sigmoid:
      return keep_nan_clamp(a * x + b, 0, 1);
    case Activation::Kind::hard_swish:
      return x * keep_nan_clamp(a * x + b, 0, 1);
  }
  return x;
}

}  // namespace

void gemm_reference(size_t m, size_t n, size_t k, const float* a, size_t a_stride, const float* b, size_t b_row_stride,
                    size_t b_column_stride, float* c, size_t c_stride, const Epilogue& epilogue) noexcept {
  for (size_t i = 0; i < m; ++i) {
    for (size_t j = 0; j < n; ++j) {
      double sum = epilogue.bias ? epilogue.bias[j] : 0;
      if (epilogue.residual) sum += epilogue.residual[i * epilogue.residual_stride + j];
      for (size_t p = 0; p < k; ++p) {
        sum += double(a[i * a_stride + p]) * double(b[p * b_row_stride + j * b_column_stride]);
      }
      c[i * c_stride + j] = float(apply(epilogue.activation, sum));
    }
  }
}

}  // namespace retort::kernels
