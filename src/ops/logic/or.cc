// Or: disjunction of booleans, with numpy broadcasting.
#include "ops/logic/logical.h"

namespace retort::ops {
namespace {

struct Or : Logical<Or> {
  static constexpr kernels::Logic kernel = kernels::Logic::logic_or;
  static bool apply(bool a, bool b) { return a || b; }
};

}  // namespace

extern const OpDef op_or;
constinit const OpDef op_or = define<Or>({
    .name = "Or",
    .since = {1, 7},
    .inputs = {"A: T", "B: T"},
    .outputs = {"C: T"},
    .types = kBool,
    .traits = kElementwise | kMayAliasInput0,
});

}  // namespace retort::ops
