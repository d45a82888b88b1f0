// Acos: arc cosine in radians.
#include <cmath>

#include "ops/math/unary.h"

namespace retort::ops {
namespace {

struct Acos : Unary<Acos> {
  static constexpr kernels::Unary kernel{kernels::Unary::Kind::acos};
  template <std::floating_point T>
  static T apply(T x) {
    return std::acos(x);
  }
};

}  // namespace

extern const OpDef op_acos;
constinit const OpDef op_acos = define<Acos>({
    .name = "Acos",
    .since = {7, 22},
    .inputs = {"X: T"},
    .outputs = {"Y: T"},
    .types = kFloats,
    .traits = kElementwise | kMayAliasInput0,
});

}  // namespace retort::ops
