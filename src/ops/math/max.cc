// Max: the largest of all inputs, element by element; NaN if one of them is NaN.
#include "ops/math/variadic.h"

namespace retort::ops {
namespace {

struct Max : Variadic<Max> {
  static constexpr kernels::Binary kernel = kernels::Binary::max;
  template <typename T>
  static T combine(T a, T b) {
    return a != a || a > b ? a : b;
  }
  static Dim symbolic(DimTable& d, Dim a, Dim b) { return d.max(a, b); }
};

}  // namespace

extern const OpDef op_max;
constinit const OpDef op_max = define<Max>({
    .name = "Max",
    .since = {1, 6, 8, 12, 13},
    .inputs = {"data: T..."},
    .outputs = {"max: T"},
    .types = kNumeric,
    .traits = kElementwise | kMayAliasInput0,
});

}  // namespace retort::ops
