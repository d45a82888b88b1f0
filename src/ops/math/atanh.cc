// Atanh: inverse of the hyperbolic tangent.
#include <cmath>

#include "ops/math/unary.h"

namespace retort::ops {
namespace {

struct Atanh : Unary<Atanh> {
  template <std::floating_point T>
  static T apply(T x) {
    return std::atanh(x);
  }
};

}  // namespace

extern const OpDef op_atanh;
constinit const OpDef op_atanh = define<Atanh>({
    .name = "Atanh",
    .since = {9, 22},
    .inputs = {"X: T"},
    .outputs = {"Y: T"},
    .types = kFloats,
    .traits = kElementwise | kMayAliasInput0,
});

}  // namespace retort::ops
