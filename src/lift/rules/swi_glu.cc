// SwiGLU: Swish(a) · b.
#include "base/error.h"
#include "lift/rewriter.h"

namespace retort {
namespace {

void apply_swi_glu(Rewriter& r) {
  const ValueType &a = r.type(0), &b = r.type(1);
  require(!a.is_static() || !b.is_static() || a.shape == b.shape, ErrorCode::invalid_argument,
          "A has shape {}, B {}; the shapes must be equal", to_string(a.shape), to_string(b.shape));
  const ValueId gate = r.add({.type = "Swish", .inputs = {r.input(0)}, .attributes = r.attributes()});
  r.replace_output(0, r.add({.type = "Mul", .inputs = {gate, r.input(1)}}));
  r.remove();
}
constexpr LiftRule kSwiGluRules[] = {{"SwiGLU", kAlways, apply_swi_glu}};

}  // namespace

extern const LiftRules lift_swi_glu;
constinit const LiftRules lift_swi_glu{kSwiGluRules};

}  // namespace retort
