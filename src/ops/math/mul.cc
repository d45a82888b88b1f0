// Mul: c = a * b with numpy broadcasting. Integers wrap around.
#include "ops/math/binary.h"

namespace retort::ops {
namespace {

struct Mul : Binary<Mul> {
  static constexpr kernels::Binary kernel = kernels::Binary::mul;
  template <typename T>
  static T apply(T a, T b) {
    return wrap_mul(a, b);
  }
  static std::optional<Dim> symbolic(DimTable& d, Dim a, Dim b) { return d.mul(a, b); }
};

}  // namespace

extern const OpDef op_mul;
constinit const OpDef op_mul = define<Mul>({
    .name = "Mul",
    .since = {1, 6, 7, 13, 14},
    .inputs = {"A: T", "B: T"},
    .outputs = {"C: T"},
    .types = kNumeric,
    .traits = kElementwise | kMayAliasInput0,
});

}  // namespace retort::ops
