// Cosh: hyperbolic cosine.
#include <cmath>

#include "ops/math/unary.h"

namespace retort::ops {
namespace {

struct Cosh : Unary<Cosh> {
  template <std::floating_point T>
  static T apply(T x) {
    return std::cosh(x);
  }
};

}  // namespace

extern const OpDef op_cosh;
constinit const OpDef op_cosh = define<Cosh>({
    .name = "Cosh",
    .since = {9, 22},
    .inputs = {"X: T"},
    .outputs = {"Y: T"},
    .types = kFloats,
    .traits = kElementwise | kMayAliasInput0,
});

}  // namespace retort::ops
