// Acosh: inverse of the hyperbolic cosine; NaN below 1.
#include <cmath>

#include "ops/math/unary.h"

namespace retort::ops {
namespace {

struct Acosh : Unary<Acosh> {
  template <std::floating_point T>
  static T apply(T x) {
    return std::acosh(x);
  }
};

}  // namespace

extern const OpDef op_acosh;
constinit const OpDef op_acosh = define<Acosh>({
    .name = "Acosh",
    .since = {9, 22},
    .inputs = {"X: T"},
    .outputs = {"Y: T"},
    .types = kFloats,
    .traits = kElementwise | kMayAliasInput0,
});

}  // namespace retort::ops
