// GreaterOrEqual: c = a >= b as bool, with numpy broadcasting; false if either is NaN.
#include "ops/logic/compare.h"

namespace retort::ops {
namespace {

struct GreaterOrEqual : Compare<GreaterOrEqual> {
  static constexpr kernels::Compare kernel = kernels::Compare::greater_equal;
  template <typename T>
  static bool apply(const T& a, const T& b) {
    return a >= b;
  }
  static std::optional<Dim> symbolic(DimTable& d, Dim a, Dim b) { return negated(always_less(d, a, b)); }
};

}  // namespace

extern const OpDef op_greater_or_equal;
constinit const OpDef op_greater_or_equal = define<GreaterOrEqual>({
    .name = "GreaterOrEqual",
    .since = {12, 16},
    .inputs = {"A: T", "B: T"},
    .outputs = {"C: bool"},
    .types = kNumeric,
    .traits = kElementwise,
});

}  // namespace retort::ops
