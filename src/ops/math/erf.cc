// Erf: the error function.
#include <cmath>

#include "ops/math/unary.h"

namespace retort::ops {
namespace {

struct Erf : Unary<Erf> {
  static constexpr kernels::Unary kernel{kernels::Unary::Kind::erf};
  template <std::floating_point T>
  static T apply(T x) {
    return std::erf(x);
  }
};

}  // namespace

extern const OpDef op_erf;
constinit const OpDef op_erf = define<Erf>({
    .name = "Erf",
    .since = {9, 13},
    .inputs = {"X: T"},
    .outputs = {"Y: T"},
    .types = kFloats,
    .traits = kElementwise | kMayAliasInput0,
});

}  // namespace retort::ops
