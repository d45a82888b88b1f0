// Scatter became ScatterElements.
#include "lift/rewriter.h"

namespace retort {
namespace {

void apply_scatter(Rewriter& r) { r.node().type = "ScatterElements"; }
constexpr LiftRule kScatterRules[] = {{"Scatter", kAlways, apply_scatter}};

}  // namespace

extern const LiftRules lift_scatter;
constinit const LiftRules lift_scatter{kScatterRules};

}  // namespace retort
