// Div: c = a / b with numpy broadcasting. Integers are rounded towards zero; x / 0 is an error.
#include "ops/math/binary.h"

namespace retort::ops {
namespace {

struct Div : Binary<Div> {
  static constexpr kernels::Binary kernel = kernels::Binary::div;
  static constexpr bool divides = true;
  template <typename T>
  static T apply(T a, T b) {
    return safe_div(a, b);
  }
  static std::optional<Dim> symbolic(DimTable& d, Dim a, Dim b) {
    // DimTable rounds down, which is the same for operands that are not negative.
    const bool same = d.nonnegative(a) && d.nonnegative(b) && b != 0;
    return same ? std::optional(d.div(a, b)) : std::nullopt;
  }
};

}  // namespace

extern const OpDef op_div;
constinit const OpDef op_div = define<Div>({
    .name = "Div",
    .since = {1, 6, 7, 13, 14},
    .inputs = {"A: T", "B: T"},
    .outputs = {"C: T"},
    .types = kNumeric,
    .traits = kElementwise | kMayAliasInput0 | kDividesIntegers,
});

}  // namespace retort::ops
