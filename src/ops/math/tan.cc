// Tan: tangent of x in radians.
#include <cmath>

#include "ops/math/unary.h"

namespace retort::ops {
namespace {

struct Tan : Unary<Tan> {
  template <std::floating_point T>
  static T apply(T x) {
    return std::tan(x);
  }
};

}  // namespace

extern const OpDef op_tan;
constinit const OpDef op_tan = define<Tan>({
    .name = "Tan",
    .since = {7, 22},
    .inputs = {"X: T"},
    .outputs = {"Y: T"},
    .types = kFloats,
    .traits = kElementwise | kMayAliasInput0,
});

}  // namespace retort::ops
