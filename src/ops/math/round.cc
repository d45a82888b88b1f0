// Round: the nearest whole number, ties to even.
#include <cmath>

#include "ops/math/unary.h"

namespace retort::ops {
namespace {

struct Round : Unary<Round> {
  static constexpr kernels::Unary kernel{kernels::Unary::Kind::round};
  template <std::floating_point T>
  static T apply(T x) {
    return std::nearbyint(x);
  }
};

}  // namespace

extern const OpDef op_round;
constinit const OpDef op_round = define<Round>({
    .name = "Round",
    .since = {11, 22},
    .inputs = {"X: T"},
    .outputs = {"Y: T"},
    .types = kFloats,
    .traits = kElementwise | kMayAliasInput0,
});

}  // namespace retort::ops
