// Xor: exclusive disjunction of booleans, with numpy broadcasting.
#include "ops/logic/logical.h"

namespace retort::ops {
namespace {

struct Xor : Logical<Xor> {
  static constexpr kernels::Logic kernel = kernels::Logic::logic_xor;
  static bool apply(bool a, bool b) { return a != b; }
};

}  // namespace

extern const OpDef op_xor;
constinit const OpDef op_xor = define<Xor>({
    .name = "Xor",
    .since = {1, 7},
    .inputs = {"A: T", "B: T"},
    .outputs = {"C: T"},
    .types = kBool,
    .traits = kElementwise | kMayAliasInput0,
});

}  // namespace retort::ops
