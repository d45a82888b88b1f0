// Squeeze, Unsqueeze: axes were an attribute before opset 13.
#include "lift/rewriter.h"

namespace retort {
namespace {

void apply_squeeze(Rewriter& r) { r.attribute_to_input("axes", 1); }
constexpr LiftRule kSqueezeRules[] = {{"Squeeze", 13, apply_squeeze}, {"Unsqueeze", 13, apply_squeeze}};

}  // namespace

extern const LiftRules lift_squeeze;
constinit const LiftRules lift_squeeze{kSqueezeRules};

}  // namespace retort
