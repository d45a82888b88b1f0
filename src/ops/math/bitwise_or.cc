// BitwiseOr: bitwise or with numpy broadcasting.
#include "ops/math/bitwise.h"

namespace retort::ops {
namespace {

struct BitwiseOr : Bitwise<BitwiseOr> {
  static constexpr BitOp bits = BitOp::bit_or;
  template <std::integral T>
  static T apply(T a, T b) {
    return a | b;
  }
};

}  // namespace

extern const OpDef op_bitwise_or;
constinit const OpDef op_bitwise_or = define<BitwiseOr>({
    .name = "BitwiseOr",
    .since = {18},
    .inputs = {"A: T", "B: T"},
    .outputs = {"C: T"},
    .types = kIntegers,
    .traits = kElementwise | kMayAliasInput0,
});

}  // namespace retort::ops
