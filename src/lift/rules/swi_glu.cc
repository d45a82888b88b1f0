// SwiGLU: Swish(a) · b.
#include "lift/expect.h"

namespace retort {
namespace {

void apply_swi_glu(Rewriter& r) {
  const ValueId gate = r.add({.type = "Swish", .inputs = {r.input(0)}, .attributes = r.attributes()});
  r.replace_output(0, r.add({.type = "Mul", .inputs = {gate, expect(r, r.input(1), "B", gate)}}));
  r.remove();
}
constexpr LiftRule kSwiGluRules[] = {{"SwiGLU", kAlways, apply_swi_glu}};

}  // namespace

extern const LiftRules lift_swi_glu;
constinit const LiftRules lift_swi_glu{kSwiGluRules};

}  // namespace retort
