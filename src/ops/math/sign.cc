// Sign: 1 above zero, -1 below, 0 at zero; NaN stays NaN.
#include "ops/math/unary.h"

namespace retort::ops {
namespace {

struct Sign : Unary<Sign> {
  static constexpr kernels::Unary kernel{kernels::Unary::Kind::sign};
  static constexpr auto kernel_of_double = kernels::UnaryDouble::sign;
  template <typename T>
  static T apply(T x) {
    if (x != x) return x;
    return T(int(x > T(0)) - int(x < T(0)));
  }
};

}  // namespace

extern const OpDef op_sign;
constinit const OpDef op_sign = define<Sign>({
    .name = "Sign",
    .since = {9, 13},
    .inputs = {"X: T"},
    .outputs = {"Y: T"},
    .types = kNumeric,
    .traits = kElementwise | kMayAliasInput0,
});

}  // namespace retort::ops
