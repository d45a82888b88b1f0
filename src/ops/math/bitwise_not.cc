// BitwiseNot: every bit inverted.
#include "ops/math/unary.h"

namespace retort::ops {
namespace {

struct BitwiseNot : Unary<BitwiseNot> {
  template <std::integral T>
  static T apply(T x) {
    return ~x;
  }
};

}  // namespace

extern const OpDef op_bitwise_not;
constinit const OpDef op_bitwise_not = define<BitwiseNot>({
    .name = "BitwiseNot",
    .since = {18},
    .inputs = {"X: T"},
    .outputs = {"Y: T"},
    .types = kIntegers,
    .traits = kElementwise | kMayAliasInput0,
});

}  // namespace retort::ops
