// Exp: y = e to the power of x.
#include <cmath>

#include "ops/math/unary.h"

namespace retort::ops {
namespace {

struct Exp : Unary<Exp> {
  static constexpr kernels::Unary kernel{kernels::Unary::Kind::exp};
  template <std::floating_point T>
  static T apply(T x) {
    return std::exp(x);
  }
};

}  // namespace

extern const OpDef op_exp;
constinit const OpDef op_exp = define<Exp>({
    .name = "Exp",
    .since = {1, 6, 13},
    .inputs = {"X: T"},
    .outputs = {"Y: T"},
    .types = kFloats,
    .traits = kElementwise | kMayAliasInput0,
});

}  // namespace retort::ops
