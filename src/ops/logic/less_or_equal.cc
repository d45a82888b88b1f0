// LessOrEqual: c = a <= b as bool, with numpy broadcasting; false if either is NaN.
#include "ops/logic/compare.h"

namespace retort::ops {
namespace {

struct LessOrEqual : Compare<LessOrEqual> {
  static constexpr kernels::Compare kernel = kernels::Compare::less_equal;
  template <typename T>
  static bool apply(const T& a, const T& b) {
    return a <= b;
  }
  static std::optional<Dim> symbolic(DimTable& d, Dim a, Dim b) { return negated(always_less(d, b, a)); }
};

}  // namespace

extern const OpDef op_less_or_equal;
constinit const OpDef op_less_or_equal = define<LessOrEqual>({
    .name = "LessOrEqual",
    .since = {12, 16},
    .inputs = {"A: T", "B: T"},
    .outputs = {"C: bool"},
    .types = kNumeric,
    .traits = kElementwise,
});

}  // namespace retort::ops
