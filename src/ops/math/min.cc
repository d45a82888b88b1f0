// Min: the smallest of all inputs, element by element; NaN if one of them is NaN.
#include "ops/math/variadic.h"

namespace retort::ops {
namespace {

struct Min : Variadic<Min> {
  static constexpr kernels::Binary kernel = kernels::Binary::min;
  template <typename T>
  static T combine(T a, T b) {
    return a != a || a < b ? a : b;
  }
  static Dim symbolic(DimTable& d, Dim a, Dim b) { return d.min(a, b); }
};

}  // namespace

extern const OpDef op_min;
constinit const OpDef op_min = define<Min>({
    .name = "Min",
    .since = {1, 6, 8, 12, 13},
    .inputs = {"data: T..."},
    .outputs = {"min: T"},
    .types = kNumeric,
    .traits = kElementwise | kMayAliasInput0,
});

}  // namespace retort::ops
