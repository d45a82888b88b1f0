// Erf: the error function. Of integers, the fraction is dropped: it is -1, 0 or 1.
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
  template <std::integral T>
  static T apply(T x) {
    return T(std::erf(double(x)));
  }
};

}  // namespace

extern const OpDef op_erf;
constinit const OpDef op_erf = define<Erf>({
    .name = "Erf",
    .since = {9, 13},
    .inputs = {"X: T"},
    .outputs = {"Y: T"},
    .types = kFloats | kSigned | kUnsigned,
    .traits = kElementwise | kMayAliasInput0,
});

}  // namespace retort::ops
