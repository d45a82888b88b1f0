// And: conjunction of booleans, with numpy broadcasting.
#include "ops/logic/logical.h"

namespace retort::ops {
namespace {

struct And : Logical<And> {
  static constexpr kernels::Logic kernel = kernels::Logic::logic_and;
  static bool apply(bool a, bool b) { return a && b; }
};

}  // namespace

extern const OpDef op_and;
constinit const OpDef op_and = define<And>({
    .name = "And",
    .since = {1, 7},
    .inputs = {"A: T", "B: T"},
    .outputs = {"C: T"},
    .types = kBool,
    .traits = kElementwise | kMayAliasInput0,
});

}  // namespace retort::ops
