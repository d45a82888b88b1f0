// Reciprocal: y = 1 / x.

#include "ops/math/unary.h"

namespace retort::ops {
namespace {

struct Reciprocal : Unary<Reciprocal> {
  static constexpr kernels::Unary kernel{kernels::Unary::Kind::reciprocal};
  template <std::floating_point T>
  static T apply(T x) {
    return T(1) / x;
  }
};

}  // namespace

extern const OpDef op_reciprocal;
constinit const OpDef op_reciprocal = define<Reciprocal>({
    .name = "Reciprocal",
    .since = {1, 6, 13},
    .inputs = {"X: T"},
    .outputs = {"Y: T"},
    .types = kFloats,
    .traits = kElementwise | kMayAliasInput0,
});

}  // namespace retort::ops
