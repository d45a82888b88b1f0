// Sinh: hyperbolic sine.
#include <cmath>

#include "ops/math/unary.h"

namespace retort::ops {
namespace {

struct Sinh : Unary<Sinh> {
  template <std::floating_point T>
  static T apply(T x) {
    return std::sinh(x);
  }
};

}  // namespace

extern const OpDef op_sinh;
constinit const OpDef op_sinh = define<Sinh>({
    .name = "Sinh",
    .since = {9, 22},
    .inputs = {"X: T"},
    .outputs = {"Y: T"},
    .types = kFloats,
    .traits = kElementwise | kMayAliasInput0,
});

}  // namespace retort::ops
