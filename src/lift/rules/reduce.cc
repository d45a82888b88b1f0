// Reductions: axes were an attribute before opset 13 (ReduceSum) or 18.
#include "lift/rewriter.h"

namespace retort {
namespace {

void apply(Rewriter& r) { r.attribute_to_input("axes", 1); }
constexpr LiftRule kRules[] = {{"ReduceSum", 13, apply},    {"ReduceMean", 18, apply},
                               {"ReduceMax", 18, apply},    {"ReduceMin", 18, apply},
                               {"ReduceProd", 18, apply},   {"ReduceL1", 18, apply},
                               {"ReduceL2", 18, apply},     {"ReduceSumSquare", 18, apply},
                               {"ReduceLogSum", 18, apply}, {"ReduceLogSumExp", 18, apply}};

}  // namespace

extern const LiftRules lift_reduce;
constinit const LiftRules lift_reduce{kRules};

}  // namespace retort
