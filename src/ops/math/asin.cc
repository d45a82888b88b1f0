// Asin: arc sine in radians.
#include <cmath>

#include "ops/math/unary.h"

namespace retort::ops {
namespace {

struct Asin : Unary<Asin> {
  static constexpr kernels::Unary kernel{kernels::Unary::Kind::asin};
  template <std::floating_point T>
  static T apply(T x) {
    return std::asin(x);
  }
};

}  // namespace

extern const OpDef op_asin;
constinit const OpDef op_asin = define<Asin>({
    .name = "Asin",
    .since = {7, 22},
    .inputs = {"X: T"},
    .outputs = {"Y: T"},
    .types = kFloats,
    .traits = kElementwise | kMayAliasInput0,
});

}  // namespace retort::ops
