// Asinh: inverse of the hyperbolic sine.
#include <cmath>

#include "ops/math/unary.h"

namespace retort::ops {
namespace {

struct Asinh : Unary<Asinh> {
  template <std::floating_point T>
  static T apply(T x) {
    return std::asinh(x);
  }
};

}  // namespace

extern const OpDef op_asinh;
constinit const OpDef op_asinh = define<Asinh>({
    .name = "Asinh",
    .since = {9, 22},
    .inputs = {"X: T"},
    .outputs = {"Y: T"},
    .types = kFloats,
    .traits = kElementwise | kMayAliasInput0,
});

}  // namespace retort::ops
