// Squeeze and Unsqueeze: axes became an input in opset 13.
#include "lift/lift.h"

namespace retort {
namespace {

void apply(Graph& g, NodeId n) { attribute_to_input(g, n, "axes", 1); }
constexpr LiftRule kRules[] = {{"Squeeze", 13, apply}, {"Unsqueeze", 13, apply}};

}  // namespace

extern const LiftRules lift_squeeze;
constinit const LiftRules lift_squeeze{kRules, std::size(kRules)};

}  // namespace retort
