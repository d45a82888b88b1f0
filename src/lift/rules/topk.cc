// TopK: k became an input in opset 10; "largest" and "sorted" came in 11 with the old behaviour as default.
#include "lift/lift.h"

namespace retort {
namespace {

void apply(Graph& g, NodeId n) { attribute_to_input(g, n, "k", 1); }
constexpr LiftRule kRules[] = {{"TopK", 10, apply}};

}  // namespace

extern const LiftRules lift_topk;
constinit const LiftRules lift_topk{kRules, std::size(kRules)};

}  // namespace retort
