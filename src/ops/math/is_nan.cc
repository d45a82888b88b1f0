// IsNaN: whether an element is not a number.
#include "ops/math/predicate.h"

namespace retort::ops {
namespace {

struct IsNaN : Predicate<IsNaN> {
  template <typename T>
  bool test(T x) const {
    return x != x;
  }
};

}  // namespace

extern const OpDef op_is_nan;
constinit const OpDef op_is_nan = define<IsNaN>({
    .name = "IsNaN",
    .since = {9, 13, 20},
    .inputs = {"X: T"},
    .outputs = {"Y: bool"},
    .types = kFloatsAndFloat8,
    .traits = kElementwise,
});

}  // namespace retort::ops
