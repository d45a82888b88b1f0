// Cos: cosine of x in radians.
#include <cmath>

#include "ops/math/unary.h"

namespace retort::ops {
namespace {

struct Cos : Unary<Cos> {
  static constexpr kernels::Unary kernel{kernels::Unary::Kind::cos};
  template <std::floating_point T>
  static T apply(T x) {
    return std::cos(x);
  }
};

}  // namespace

extern const OpDef op_cos;
constinit const OpDef op_cos = define<Cos>({
    .name = "Cos",
    .since = {7, 22},
    .inputs = {"X: T"},
    .outputs = {"Y: T"},
    .types = kFloats,
    .traits = kElementwise | kMayAliasInput0,
});

}  // namespace retort::ops
