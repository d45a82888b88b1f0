// Less: c = a < b as bool, with numpy broadcasting; false if either is NaN.
#include "ops/logic/compare.h"

namespace retort::ops {
namespace {

struct Less : Compare<Less> {
  static constexpr kernels::Compare kernel = kernels::Compare::less;
  template <typename T>
  static bool apply(const T& a, const T& b) {
    return a < b;
  }
  static std::optional<Dim> symbolic(DimTable& d, Dim a, Dim b) { return always_less(d, a, b); }
};

}  // namespace

extern const OpDef op_less;
constinit const OpDef op_less = define<Less>({
    .name = "Less",
    .since = {1, 7, 9, 13},
    .inputs = {"A: T", "B: T"},
    .outputs = {"C: bool"},
    .types = kNumeric,
    .traits = kElementwise,
});

}  // namespace retort::ops
