// Ceil: the smallest whole number that is not below x.
#include <cmath>

#include "ops/math/unary.h"

namespace retort::ops {
namespace {

struct Ceil : Unary<Ceil> {
  static constexpr kernels::Unary kernel{kernels::Unary::Kind::ceil};
  template <std::floating_point T>
  static T apply(T x) {
    return std::ceil(x);
  }
};

}  // namespace

extern const OpDef op_ceil;
constinit const OpDef op_ceil = define<Ceil>({
    .name = "Ceil",
    .since = {1, 6, 13},
    .inputs = {"X: T"},
    .outputs = {"Y: T"},
    .types = kFloats,
    .traits = kElementwise | kMayAliasInput0,
});

}  // namespace retort::ops
