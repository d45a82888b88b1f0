// Sub: c = a - b with numpy broadcasting. Integers wrap around.
#include "ops/math/binary.h"

namespace retort::ops {
namespace {

struct Sub : Binary<Sub> {
  static constexpr kernels::Binary kernel = kernels::Binary::sub;
  template <typename T>
  static T apply(T a, T b) {
    return wrap_sub(a, b);
  }
  static std::optional<Dim> symbolic(DimTable& d, Dim a, Dim b) { return d.sub(a, b); }
};

}  // namespace

extern const OpDef op_sub;
constinit const OpDef op_sub = define<Sub>({
    .name = "Sub",
    .since = {1, 6, 7, 13, 14},
    .inputs = {"A: T", "B: T"},
    .outputs = {"C: T"},
    .types = kNumeric,
    .traits = kElementwise | kMayAliasInput0,
});

}  // namespace retort::ops
