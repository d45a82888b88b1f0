// Mean: the mean of all inputs, element by element.
#include "ops/math/variadic.h"

namespace retort::ops {
namespace {

struct Mean : Variadic<Mean> {
  static constexpr kernels::Binary kernel = kernels::Binary::add;
  template <std::floating_point T>
  static T combine(T a, T b) {
    return a + b;
  }
  template <std::floating_point T>
  static T finish(T sum, size_t count) {
    return sum / T(count);
  }
};

}  // namespace

extern const OpDef op_mean;
constinit const OpDef op_mean = define<Mean>({
    .name = "Mean",
    .since = {1, 6, 8, 13},
    .inputs = {"data: T..."},
    .outputs = {"mean: T"},
    .types = kFloats,
    .traits = kElementwise | kMayAliasInput0,
});

}  // namespace retort::ops
