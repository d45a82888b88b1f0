// Concat: the axis was 1 by default before opset 4.
#include "lift/rewriter.h"

namespace retort {
namespace {

void apply_concat(Rewriter& r) {
  if (!r.attributes().has("axis")) r.attributes().set("axis", int64_t(1));
}
constexpr LiftRule kConcatRules[] = {{"Concat", 4, apply_concat}};

}  // namespace

extern const LiftRules lift_concat;
constinit const LiftRules lift_concat{kConcatRules};

}  // namespace retort
