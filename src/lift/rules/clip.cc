// Clip: bounds were attributes before opset 11.
#include <utility>

#include "lift/rewriter.h"

namespace retort {
namespace {

void apply_clip(Rewriter& r) {
  constexpr std::pair<const char*, size_t> kBounds[] = {{"min", 1}, {"max", 2}};
  for (const auto& [name, slot] : kBounds) {
    if (const float* v = r.attributes().get<float>(name))
      r.set_input(slot, r.constant(float_scalar(r.type(0).dtype, *v)));
  }
  r.erase({"min", "max", "consumed_inputs"});
}
constexpr LiftRule kClipRules[] = {{"Clip", 11, apply_clip}};

}  // namespace

extern const LiftRules lift_clip;
constinit const LiftRules lift_clip{kClipRules};

}  // namespace retort
