#include "ops/recurrent/common/cell_function.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "base/error.h"

namespace retort::ops {
namespace {

struct Named {
  std::string_view name;  // in lower case
  CellFunction::Kind kind;
  std::optional<float> alpha, beta;  // defaults of the parameters that it has
};

using enum CellFunction::Kind;
// If ONNX gives no default, ONNX Runtime's is used: 0.
constexpr Named kFunctions[] = {
    {"relu", relu, {}, {}},
    {"tanh", tanh, {}, {}},
    {"sigmoid", sigmoid, {}, {}},
    {"affine", affine, 0.0f, 0.0f},
    {"leakyrelu", leaky_relu, 0.01f, {}},
    {"thresholdedrelu", thresholded_relu, 0.0f, {}},
    {"scaledtanh", scaled_tanh, 0.0f, 0.0f},
    {"hardsigmoid", hard_sigmoid, 0.2f, 0.5f},
    {"elu", elu, 1.0f, {}},
    {"softsign", softsign, {}, {}},
    {"softplus", softplus, {}, {}},
};

const Named& find(std::string_view name) {
  const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? char(c - 'A' + 'a') : c; };
  const auto* found =
      std::ranges::find_if(kFunctions, [&](const Named& f) { return std::ranges::equal(f.name, name, {}, {}, lower); });
  require(found != std::end(kFunctions), ErrorCode::invalid_argument,
          "activation \"{}\" is not one of Relu, Tanh, Sigmoid, Affine, LeakyRelu, ThresholdedRelu, ScaledTanh, "
          "HardSigmoid, Elu, Softsign, Softplus",
          name);
  return *found;
}

// The kernel that computes the same function, if there is one.
std::optional<kernels::Activation> kernel(const CellFunction& f) {
  using Kind = kernels::Activation::Kind;
  switch (f.kind) {
    case relu:
      return kernels::Activation{Kind::relu};
    case tanh:
      return kernels::Activation{Kind::tanh};
    case sigmoid:
      return kernels::Activation{Kind::sigmoid};
    case leaky_relu:
      return kernels::Activation{Kind::leaky_relu, f.alpha};
    case hard_sigmoid:
      return kernels::Activation{Kind::hard_sigmoid, f.alpha, f.beta};
    default:
      return std::nullopt;
  }
}

}  // namespace

double CellFunction::operator()(double x) const {
  switch (kind) {
    case relu:
      return x < 0 ? 0 : x;
    case tanh:
      return std::tanh(x);
    case sigmoid:
      return 1 / (1 + std::exp(-x));
    case affine:
      return alpha * x + beta;
    case leaky_relu:
      return x < 0 ? alpha * x : x;
    case thresholded_relu:
      return x < alpha ? 0 : x;
    case scaled_tanh:
      return alpha * std::tanh(beta * x);
    case hard_sigmoid:
      return std::clamp(alpha * x + beta, 0.0, 1.0);
    case elu:
      return x < 0 ? alpha * std::expm1(x) : x;
    case softsign:
      return x / (1 + std::abs(x));
    case softplus:
      return x > 0 ? x + std::log1p(std::exp(-x)) : std::log1p(std::exp(x));
  }
  return x;
}

void CellFunction::apply(float* x, size_t n) const noexcept {
  if (const auto activation = kernel(*this)) {
    kernels::activate(*activation, {x, n}, {x, n}, {});
  } else {
    for (size_t i = 0; i < n; ++i) x[i] = float((*this)(x[i]));
  }
}

CellFunctions cell_functions(std::span<const std::string_view> names, std::span<const float> alphas,
                             std::span<const float> betas) {
  const auto next = [](std::span<const float>& given, std::optional<float> fallback) {
    if (!fallback || given.empty()) return fallback.value_or(0.0f);
    const float value = given.front();
    given = given.subspan(1);
    return value;
  };
  CellFunctions functions;
  for (size_t i = 0; i < names.size(); ++i) {
    const Named& f = find(names[i]);
    functions.at(i) = {f.kind, next(alphas, f.alpha), next(betas, f.beta)};
  }
  return functions;
}

}  // namespace retort::ops
