// Reductions: axes became an input in opset 18 (ReduceSum: 13). An absent or empty list still means all axes.
#include "lift/lift.h"

namespace retort {
namespace {

void apply(Graph& g, NodeId n) { attribute_to_input(g, n, "axes", 1); }
constexpr LiftRule kRules[] = {
    {"ReduceSum", 13, apply},       {"ReduceMean", 18, apply},      {"ReduceMax", 18, apply},
    {"ReduceMin", 18, apply},       {"ReduceProd", 18, apply},      {"ReduceL1", 18, apply},
    {"ReduceL2", 18, apply},        {"ReduceSumSquare", 18, apply}, {"ReduceLogSum", 18, apply},
    {"ReduceLogSumExp", 18, apply},
};

}  // namespace

extern const LiftRules lift_reduce;
constinit const LiftRules lift_reduce{kRules, std::size(kRules)};

}  // namespace retort
