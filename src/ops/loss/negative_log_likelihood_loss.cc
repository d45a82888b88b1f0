// NegativeLogLikelihoodLoss: -weight · input at the class of each element, or their weighted mean or sum.
#include "ops/loss/common/class_loss.h"

namespace retort::ops {
namespace {

struct NegativeLogLikelihoodLoss : ClassLoss {
  template <std::floating_point T>
  void reference(RunContext& c) const {
    compute(c, c.input<T>(kValues).data(), c.output<T>());
  }
};

}  // namespace

extern const OpDef op_negative_log_likelihood_loss;
constinit const OpDef op_negative_log_likelihood_loss = define<NegativeLogLikelihoodLoss>({
    .name = "NegativeLogLikelihoodLoss",
    .since = {12, 13, 22},
    .inputs = {"input: T", "target: Tind", "weight: T?"},
    .outputs = {"loss: T"},
    .types = kFloats,
});

}  // namespace retort::ops
