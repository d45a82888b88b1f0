// Add: c = a + b with numpy broadcasting. Integers wrap around.
#include "ops/math/binary.h"

namespace retort::ops {
namespace {

struct Add : Binary<Add> {
  static constexpr kernels::Binary kernel = kernels::Binary::add;
  template <typename T>
  static T apply(T a, T b) {
    return wrap_add(a, b);
  }
  static std::optional<Dim> symbolic(DimTable& d, Dim a, Dim b) { return d.add(a, b); }
};

}  // namespace

extern const OpDef op_add;
constinit const OpDef op_add = define<Add>({
    .name = "Add",
    .since = {1, 6, 7, 13, 14},
    .inputs = {"A: T", "B: T"},
    .outputs = {"C: T"},
    .types = kNumeric,
    .traits = kElementwise | kMayAliasInput0,
});

}  // namespace retort::ops
