// BitwiseAnd: bitwise and with numpy broadcasting.
#include "ops/math/binary.h"

namespace retort::ops {
namespace {

struct BitwiseAnd : Binary<BitwiseAnd> {
  template <std::integral T>
  static T apply(T a, T b) {
    return a & b;
  }
};

}  // namespace

extern const OpDef op_bitwise_and;
constinit const OpDef op_bitwise_and = define<BitwiseAnd>({
    .name = "BitwiseAnd",
    .since = {18},
    .inputs = {"A: T", "B: T"},
    .outputs = {"C: T"},
    .types = kIntegers,
    .traits = kElementwise | kMayAliasInput0,
});

}  // namespace retort::ops
