// Log: natural logarithm; NaN below zero.
#include <cmath>

#include "ops/math/unary.h"

namespace retort::ops {
namespace {

struct Log : Unary<Log> {
  static constexpr kernels::Unary kernel{kernels::Unary::Kind::log};
  template <std::floating_point T>
  static T apply(T x) {
    return std::log(x);
  }
};

}  // namespace

extern const OpDef op_log;
constinit const OpDef op_log = define<Log>({
    .name = "Log",
    .since = {1, 6, 13},
    .inputs = {"X: T"},
    .outputs = {"Y: T"},
    .types = kFloats,
    .traits = kElementwise | kMayAliasInput0,
});

}  // namespace retort::ops
