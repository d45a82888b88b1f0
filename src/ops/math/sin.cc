// Sin: sine of x in radians.
#include <cmath>

#include "ops/math/unary.h"

namespace retort::ops {
namespace {

struct Sin : Unary<Sin> {
  static constexpr kernels::Unary kernel{kernels::Unary::Kind::sin};
  template <std::floating_point T>
  static T apply(T x) {
    return std::sin(x);
  }
};

}  // namespace

extern const OpDef op_sin;
constinit const OpDef op_sin = define<Sin>({
    .name = "Sin",
    .since = {7, 22},
    .inputs = {"X: T"},
    .outputs = {"Y: T"},
    .types = kFloats,
    .traits = kElementwise | kMayAliasInput0,
});

}  // namespace retort::ops
