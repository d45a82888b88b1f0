#include "ops/ml/common/svm.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "kernels/elementwise/unary.h"

namespace retort::ops {
namespace {

constexpr float kMostFactors = 16;  // up to this degree powers are products; above it std::pow is used

void raise(std::span<float> values, float degree) {
  if (degree == 2) {
    for (float& v : values) v *= v;
  } else if (degree == 3) {
    for (float& v : values) v *= v * v;
  } else if (degree >= 0 && degree <= kMostFactors && degree == std::floor(degree)) {
    for (float& v : values) {
      float power = 1;
      for (int i = 0; i < int(degree); ++i) power *= v;
      v = power;
    }
  } else {
    for (float& v : values) v = std::pow(v, degree);
  }
}

}  // namespace

void SvmKernel::apply(std::span<float> values) const noexcept {
  switch (kind) {
    case Kind::linear:
      return;
    case Kind::rbf:
      for (float& v : values) v *= -gamma;
      return kernels::unary({.kind = kernels::Unary::Kind::exp}, values, values, Parallel());
    case Kind::poly:
      for (float& v : values) v = gamma * v + coef0;
      return raise(values, degree);
    case Kind::sigmoid:
      for (float& v : values) v = gamma * v + coef0;
      return kernels::activate({.kind = kernels::Activation::Kind::tanh}, values, values, Parallel());
  }
}

double SvmKernel::finish(double sum) const {
  switch (kind) {
    case Kind::rbf:
      return std::exp(-double(gamma) * sum);
    case Kind::poly:
      return std::pow(double(gamma) * sum + double(coef0), double(degree));
    case Kind::sigmoid:
      return std::tanh(double(gamma) * sum + double(coef0));
    default:
      return sum;
  }
}

SvmKernel SvmAttributes::kernel() const {
  constexpr std::string_view kNames[] = {"LINEAR", "POLY", "RBF", "SIGMOID"};
  const auto* found = std::ranges::find(kNames, kernel_type);
  require(found != std::end(kNames), ErrorCode::invalid_argument,
          "kernel_type \"{}\" is not one of LINEAR, POLY, RBF, SIGMOID", kernel_type);
  SvmKernel k{.kind = SvmKernel::Kind(found - std::begin(kNames))};
  if (!kernel_params.empty()) k.gamma = kernel_params[0], k.coef0 = kernel_params[1], k.degree = kernel_params[2];
  return k;
}

void SvmAttributes::check_svm(size_t supports) const {
  require(kernel_params.empty() || kernel_params.size() == 3, ErrorCode::invalid_argument,
          "kernel_params has {} numbers, expected gamma, coef0 and degree", kernel_params.size());
  kernel();
  post_transform(transform);
  require(!coefficients.empty() && !rho.empty(), ErrorCode::invalid_argument,
          "coefficients has {} numbers and rho {}: both are needed", coefficients.size(), rho.size());
  require(supports == 0 || (!support_vectors.empty() && support_vectors.size() % supports == 0),
          ErrorCode::invalid_argument, "support_vectors has {} numbers for {} vectors", support_vectors.size(),
          supports);
}

void SupportVectors::kernels(const float* x, size_t rows, float* values) const noexcept {
  if (kernel_.kind == SvmKernel::Kind::rbf) {
    vectors_.squared_distances(x, rows, values);
  } else {
    vectors_.multiply(x, rows, nullptr, values, vectors_.count());
  }
  kernel_.apply({values, rows * vectors_.count()});
}

void couple_probabilities(const float* r, std::span<float> p, float* space) noexcept {
  constexpr int kRounds = 100;
  const size_t n = p.size();
  float *const q = space, *const qp = space + n * n;
  for (size_t i = 0; i < n; ++i) {
    float& diagonal = q[i * n + i] = 0;
    for (size_t j = 0; j < n; ++j) {
      if (j == i) continue;
      diagonal += r[j * n + i] * r[j * n + i];
      q[i * n + j] = -r[j * n + i] * r[i * n + j];
    }
  }
  std::ranges::fill(p, 1 / float(n));
  for (int round = 0; round < kRounds; ++round) {
    for (size_t i = 0; i < n; ++i) qp[i] = std::inner_product(p.begin(), p.end(), q + i * n, 0.0f);
    float pqp = std::inner_product(p.begin(), p.end(), qp, 0.0f), error = 0;
    for (size_t i = 0; i < n; ++i) error = std::max(error, std::abs(qp[i] - pqp));
    if (error < 0.005f / float(n)) return;
    for (size_t i = 0; i < n; ++i) {
      const float step = (pqp - qp[i]) / q[i * n + i], sum = 1 + step;
      p[i] += step;
      pqp = (pqp + step * (step * q[i * n + i] + 2 * qp[i])) / sum / sum;
      for (size_t j = 0; j < n; ++j) {
        qp[j] = (qp[j] + step * q[i * n + j]) / sum;
        p[j] /= sum;
      }
    }
  }
}

}  // namespace retort::ops
