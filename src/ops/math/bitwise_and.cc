// BitwiseAnd: bitwise and with numpy broadcasting.
#include "ops/math/bitwise.h"

namespace retort::ops {
namespace {

struct BitwiseAnd : Bitwise<BitwiseAnd> {
  static constexpr BitOp bits = BitOp::bit_and;
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
