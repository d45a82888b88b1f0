// Sum: the sum of all inputs, element by element.
#include "ops/math/variadic.h"

namespace retort::ops {
namespace {

struct Sum : Variadic<Sum> {
  static constexpr kernels::Binary kernel = kernels::Binary::add;
  template <std::floating_point T>
  static T combine(T a, T b) {
    return a + b;
  }
};

}  // namespace

extern const OpDef op_sum;
constinit const OpDef op_sum = define<Sum>({
    .name = "Sum",
    .since = {1, 6, 8, 13},
    .inputs = {"data: T..."},
    .outputs = {"sum: T"},
    .types = kFloats,
    .traits = kElementwise | kMayAliasInput0,
});

}  // namespace retort::ops
