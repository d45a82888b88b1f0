// Abs: y = |x|. The smallest integer is unchanged.
#include <cmath>

#include "ops/math/unary.h"

namespace retort::ops {
namespace {

struct Abs : Unary<Abs> {
  static constexpr kernels::Unary kernel{kernels::Unary::Kind::abs};
  template <typename T>
  static T apply(T x) {
    if constexpr (std::floating_point<T>)
      return std::abs(x);
    else if constexpr (std::unsigned_integral<T>)
      return x;
    else
      return x < 0 ? wrap_sub(T(0), x) : x;
  }
};

}  // namespace

extern const OpDef op_abs;
constinit const OpDef op_abs = define<Abs>({
    .name = "Abs",
    .since = {1, 6, 13},
    .inputs = {"X: T"},
    .outputs = {"Y: T"},
    .types = kNumeric,
    .traits = kElementwise | kMayAliasInput0,
});

}  // namespace retort::ops
