// SoftmaxCrossEntropyLoss: the negative log likelihood of the logarithm of the softmax over axis 1.
#include <cmath>

#include "kernels/norm/softmax.h"
#include "ops/loss/common/class_loss.h"

namespace retort::ops {
namespace {

struct SoftmaxCrossEntropyLoss : ClassLoss {
  void infer(InferContext& c) const {
    c.set(1, c.dtype(kValues));
    ClassLoss::infer(c);
    c.set(1, c.dtype(kValues), c.shape(kValues));
  }
  Cost cost(const CostContext& c) const { return {.operations = 5 * c.count(kValues) + 2 * c.count(kClasses)}; }

  template <std::floating_point T>
  void reference(RunContext& c) const {
    const Shape& shape = c.shape(kValues);
    const auto classes = size_t(shape[1]), inner = size_t(extent_product(shape, 2, shape.rank()));
    const auto x = c.input<T>(kValues);
    const auto logs = c.output<T>(1);
    for (size_t line = 0; classes > 0 && line < x.size() / classes; ++line) {
      const size_t start = line / inner * classes * inner + line % inner;
      double top = double(x[start]), sum = 0;
      for (size_t k = 1; k < classes; ++k) top = std::max(top, double(x[start + k * inner]));
      for (size_t k = 0; k < classes; ++k) sum += std::exp(double(x[start + k * inner]) - top);
      for (size_t k = 0; k < classes; ++k)
        logs[start + k * inner] = T(double(x[start + k * inner]) - top - std::log(sum));
    }
    compute<T>(c, logs.data(), c.output<T>());
  }
  void fast(RunContext& c, std::type_identity<float>) const {
    const Shape& shape = c.shape(kValues);
    const auto logs = c.output<float>(1);
    kernels::softmax({.outer = size_t(shape[0]),
                      .extent = size_t(shape[1]),
                      .inner = size_t(extent_product(shape, 2, shape.rank())),
                      .x = c.input<float>(kValues).data(),
                      .y = logs.data(),
                      .log = true},
                     c.parallel());
    compute<float>(c, logs.data(), c.output<float>());
  }
};

}  // namespace

extern const OpDef op_softmax_cross_entropy_loss;
constinit const OpDef op_softmax_cross_entropy_loss = define<SoftmaxCrossEntropyLoss>({
    .name = "SoftmaxCrossEntropyLoss",
    .since = {12, 13},
    .inputs = {"scores: T", "labels: Tind", "weights: T?"},
    .outputs = {"output: T", "log_prob: T"},
    .types = kFloats,
});

}  // namespace retort::ops
