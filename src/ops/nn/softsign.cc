// Softsign: y = x / (1 + |x|).
#include "ops/nn/common/activation_op.h"

namespace retort::ops {
namespace {

struct Softsign : ActivationOp<Softsign> {
  template <typename T>
  T apply(T x) const {
    return x / (T(1) + std::abs(x));
  }
};

}  // namespace

extern const OpDef op_softsign;
constinit const OpDef op_softsign = define<Softsign>({
    .name = "Softsign",
    .since = {1, 22},
    .inputs = {"X: T"},
    .outputs = {"Y: T"},
    .types = kFloats,
    .traits = kElementwise | kMayAliasInput0,
});

}  // namespace retort::ops
