#include "ops/ml/common/post_transform.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "base/error.h"
#include "kernels/elementwise/unary.h"
#include "kernels/norm/softmax.h"

namespace retort::ops {
namespace {

template <typename T>
void softmax(std::span<T> scores, bool keep_zeros) {
  if (scores.empty()) return;
  const T max = *std::max_element(scores.begin(), scores.end());
  T sum = 0;
  for (T& s : scores) {
    if (keep_zeros && std::abs(s) <= T(1e-7)) {
      s *= std::exp(-max);
    } else {
      s = std::exp(s - max);
      sum += s;
    }
  }
  for (T& s : scores) s /= sum;
}

template <typename T>
T probit(T p) {
  constexpr T a = T(0.147);
  const T x = 2 * p - 1, log = std::log((1 - x) * (1 + x));
  const T half = 2 / (std::numbers::pi_v<T> * a) + log / 2;
  const T root = std::sqrt(std::sqrt(half * half - log / a) - half);
  return std::numbers::sqrt2_v<T> * (x < 0 ? -root : root);
}

}  // namespace

PostTransform post_transform(std::string_view name) {
  constexpr std::string_view kNames[] = {"NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO", "PROBIT"};
  const auto* found = std::ranges::find(kNames, name);
  require(found != std::end(kNames), ErrorCode::invalid_argument,
          "post_transform \"{}\" is not one of NONE, SOFTMAX, LOGISTIC, SOFTMAX_ZERO, PROBIT", name);
  return PostTransform(found - std::begin(kNames));
}

template <typename T>
T logistic(T x) noexcept {
  const T e = std::exp(-std::abs(x)), y = 1 / (1 + e);
  return x < 0 ? 1 - y : y;
}

template <typename T>
void apply(PostTransform transform, std::span<T> scores) noexcept {
  if (scores.size() == 1 && transform != PostTransform::probit) return;
  switch (transform) {
    case PostTransform::none:
      return;
    case PostTransform::softmax:
      return softmax(scores, false);
    case PostTransform::softmax_zero:
      return softmax(scores, true);
    case PostTransform::logistic:
      for (T& s : scores) s = logistic(s);
      return;
    case PostTransform::probit:
      for (T& s : scores) s = probit(s);
      return;
  }
}

void apply_rows(PostTransform transform, float* scores, size_t rows, size_t count) noexcept {
  using enum PostTransform;
  if (transform == none || rows == 0) return;
  if (count > 1 && transform == softmax)
    return kernels::softmax({.outer = rows, .extent = count, .x = scores, .y = scores}, Parallel());
  const std::span all(scores, rows * count);
  if (count > 1 && transform == logistic)
    return kernels::activate({.kind = kernels::Activation::Kind::sigmoid}, all, all, Parallel());
  for (size_t r = 0; r < rows; ++r) apply(transform, all.subspan(r * count, count));
}

void add_second_scores(PostTransform transform, SecondScore kind, float* scores, size_t rows) noexcept {
  for (float* pair = scores; pair < scores + rows * 2; pair += 2) {
    const float s = pair[1];
    if (transform == PostTransform::logistic) {
      pair[0] = logistic(-s);
      pair[1] = logistic(s);
    } else {
      pair[0] = kind == SecondScore::negative ? -s : 1 - s;
      if (transform == PostTransform::probit) apply(transform, std::span(pair, 2));
    }
  }
}

template void apply(PostTransform, std::span<float>) noexcept;
template void apply(PostTransform, std::span<double>) noexcept;
template float logistic(float) noexcept;
template double logistic(double) noexcept;

}  // namespace retort::ops
