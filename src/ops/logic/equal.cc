// Equal: c = a == b as bool, with numpy broadcasting; false if either is NaN.
#include "ops/logic/compare.h"

namespace retort::ops {
namespace {

struct Equal : Compare<Equal> {
  static constexpr kernels::Compare kernel = kernels::Compare::equal;
  template <typename T>
  static bool apply(const T& a, const T& b) {
    return a == b;
  }
  static std::optional<Dim> symbolic(DimTable& d, Dim a, Dim b) { return always_equal(d, a, b); }
};

}  // namespace

extern const OpDef op_equal;
constinit const OpDef op_equal = define<Equal>({
    .name = "Equal",
    .since = {1, 7, 11, 13, 19},
    .inputs = {"A: T", "B: T"},
    .outputs = {"C: bool"},
    .types = kNumeric | kBool | kString,
    .traits = kElementwise,
});

}  // namespace retort::ops
