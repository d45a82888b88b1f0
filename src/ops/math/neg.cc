// Neg: y = -x. The smallest integer is unchanged.
#include "ops/math/unary.h"

namespace retort::ops {
namespace {

struct Neg : Unary<Neg> {
  static constexpr kernels::Unary kernel{kernels::Unary::Kind::neg};
  template <typename T>
  static T apply(T x) {
    if constexpr (std::integral<T>)
      return wrap_sub(T(0), x);
    else
      return -x;
  }
  static Dim symbolic(DimTable& d, Dim x) { return d.mul(x, -1); }
};

}  // namespace

extern const OpDef op_neg;
constinit const OpDef op_neg = define<Neg>({
    .name = "Neg",
    .since = {1, 6, 13},
    .inputs = {"X: T"},
    .outputs = {"Y: T"},
    .types = kFloats | kSigned,
    .traits = kElementwise | kMayAliasInput0,
});

}  // namespace retort::ops
