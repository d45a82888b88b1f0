// The loss of one class per element, shared by NegativeLogLikelihoodLoss and SoftmaxCrossEntropyLoss.
#pragma once
#include "ops/op.h"

namespace retort::ops {

/// Inputs: values [N, C, D1, …], classes [N, D1, …], weights [C] (optional).
struct ClassLoss {
  std::string reduction = "mean";
  std::optional<int64_t> ignore_index;
  static constexpr std::tuple attributes{attr("ignore_index", &ClassLoss::ignore_index),
                                         attr("reduction", &ClassLoss::reduction)};
  enum Input : size_t { kValues, kClasses, kWeights };

  void check() const {
    require(reduction == "mean" || reduction == "sum" || reduction == "none", ErrorCode::invalid_argument,
            "reduction \"{}\" is not one of none, sum, mean", reduction);
  }

  void infer(InferContext& c) const {
    c.set(0, c.dtype(kValues));
    if (reduction != "none") c.set(0, c.dtype(kValues), {});
    const Shape &x = c.shape(kValues), &t = c.shape(kClasses);
    bool fits = x.rank() >= 2 && t.rank() + 1 == x.rank() && may_equal(x[0], t[0]);
    for (size_t d = 1; fits && d < t.rank(); ++d) fits = may_equal(x[d + 1], t[d]);
    require(fits, ErrorCode::invalid_argument, "classes have shape {}, which does not match values of shape {}",
            c.dims().text(t), c.dims().text(x));
    if (c.has(kWeights) && c.ranked(kWeights)) {
      require(c.rank(kWeights) == 1 && may_equal(c.shape(kWeights)[0], x[1]), ErrorCode::invalid_argument,
              "weights have shape {}, which does not match values of shape {}", c.dims().text(c.shape(kWeights)),
              c.dims().text(x));
    }
    if (reduction == "none") c.set(0, c.dtype(kValues), t);
  }
  // Negation and sum of the value that each class selects.
  Cost cost(const CostContext& c) const { return {.operations = 2 * c.count(kClasses)}; }

  /// Computes the loss from the logarithms of the probabilities, which have the layout of the values.
  template <typename T>
  void compute(const RunContext& c, const T* logs, std::span<T> y) const {
    const Shape& x = c.shape(kValues);
    const auto classes = size_t(x[1]), inner = size_t(extent_product(x, 2, x.rank()));
    const T* weights = c.optional<T>(kWeights);
    double loss = 0, total = 0;
    for (size_t i = 0; i < c.count(kClasses); ++i) {
      const int64_t k = class_at(c, i);
      if (ignore_index && k == *ignore_index) {
        if (reduction == "none") y[i] = 0;
        continue;
      }
      require(k >= 0 && size_t(k) < classes, ErrorCode::invalid_argument,
              "class {} of element {} is outside of [0, {})", k, i, classes);
      const double weight = weights ? double(weights[k]) : 1;
      const double one = -weight * double(logs[(i / inner * classes + size_t(k)) * inner + i % inner]);
      if (reduction == "none") y[i] = T(one);
      loss += one;
      total += weight;
    }
    if (reduction == "sum") y[0] = T(loss);
    if (reduction == "mean") y[0] = T(loss / total);
  }

  static int64_t class_at(const RunContext& c, size_t i) {
    return c.dtype(kClasses) == DType::i32 ? c.input<int32_t>(kClasses)[i] : c.input<int64_t>(kClasses)[i];
  }
};

}  // namespace retort::ops
