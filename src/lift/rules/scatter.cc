// Scatter became ScatterElements.
#include "lift/rewriter.h"

namespace retort {
namespace {

void apply(Rewriter& r) { r.node().type = "ScatterElements"; }
constexpr LiftRule kRules[] = {{"Scatter", kAlways, apply}};

}  // namespace

extern const LiftRules lift_scatter;
constinit const LiftRules lift_scatter{kRules};

}  // namespace retort
