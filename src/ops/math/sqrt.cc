// Sqrt: y = square root of x; NaN below zero.
#include <cmath>

#include "ops/math/unary.h"

namespace retort::ops {
namespace {

struct Sqrt : Unary<Sqrt> {
  static constexpr kernels::Unary kernel{kernels::Unary::Kind::sqrt};
  static constexpr auto kernel_of_double = kernels::UnaryDouble::sqrt;
  template <std::floating_point T>
  static T apply(T x) {
    return std::sqrt(x);
  }
};

}  // namespace

extern const OpDef op_sqrt;
constinit const OpDef op_sqrt = define<Sqrt>({
    .name = "Sqrt",
    .since = {1, 6, 13},
    .inputs = {"X: T"},
    .outputs = {"Y: T"},
    .types = kFloats,
    .traits = kElementwise | kMayAliasInput0,
});

}  // namespace retort::ops
