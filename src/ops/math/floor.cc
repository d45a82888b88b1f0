// Floor: the largest whole number that is not above x.
#include <cmath>

#include "ops/math/unary.h"

namespace retort::ops {
namespace {

struct Floor : Unary<Floor> {
  static constexpr kernels::Unary kernel{kernels::Unary::Kind::floor};
  template <std::floating_point T>
  static T apply(T x) {
    return std::floor(x);
  }
};

}  // namespace

extern const OpDef op_floor;
constinit const OpDef op_floor = define<Floor>({
    .name = "Floor",
    .since = {1, 6, 13},
    .inputs = {"X: T"},
    .outputs = {"Y: T"},
    .types = kFloats,
    .traits = kElementwise | kMayAliasInput0,
});

}  // namespace retort::ops
