// BitwiseXor: bitwise exclusive or with numpy broadcasting.
#include "ops/math/bitwise.h"

namespace retort::ops {
namespace {

struct BitwiseXor : Bitwise<BitwiseXor> {
  static constexpr BitOp bits = BitOp::bit_xor;
  template <std::integral T>
  static T apply(T a, T b) {
    return a ^ b;
  }
};

}  // namespace

extern const OpDef op_bitwise_xor;
constinit const OpDef op_bitwise_xor = define<BitwiseXor>({
    .name = "BitwiseXor",
    .since = {18},
    .inputs = {"A: T", "B: T"},
    .outputs = {"C: T"},
    .types = kIntegers,
    .traits = kElementwise | kMayAliasInput0,
});

}  // namespace retort::ops
