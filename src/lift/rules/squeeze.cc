// Squeeze, Unsqueeze: axes were an attribute before opset 13.
#include "lift/rewriter.h"

namespace retort {
namespace {

void apply(Rewriter& r) { r.attribute_to_input("axes", 1); }
constexpr LiftRule kRules[] = {{"Squeeze", 13, apply}, {"Unsqueeze", 13, apply}};

}  // namespace

extern const LiftRules lift_squeeze;
constinit const LiftRules lift_squeeze{kRules};

}  // namespace retort
