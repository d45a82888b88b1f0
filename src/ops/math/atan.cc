// Atan: arc tangent in radians.
#include <cmath>

#include "ops/math/unary.h"

namespace retort::ops {
namespace {

struct Atan : Unary<Atan> {
  static constexpr kernels::Unary kernel{kernels::Unary::Kind::atan};
  template <std::floating_point T>
  static T apply(T x) {
    return std::atan(x);
  }
};

}  // namespace

extern const OpDef op_atan;
constinit const OpDef op_atan = define<Atan>({
    .name = "Atan",
    .since = {7, 22},
    .inputs = {"X: T"},
    .outputs = {"Y: T"},
    .types = kFloats,
    .traits = kElementwise | kMayAliasInput0,
});

}  // namespace retort::ops
