// Reductions: axes were an attribute before opset 13 (ReduceSum) or 18.
#include "lift/rewriter.h"

namespace retort {
namespace {

void apply_reduce(Rewriter& r) { r.attribute_to_input("axes", 1); }
constexpr LiftRule kReduceRules[] = {{"ReduceSum", 13, apply_reduce},    {"ReduceMean", 18, apply_reduce},
                                     {"ReduceMax", 18, apply_reduce},    {"ReduceMin", 18, apply_reduce},
                                     {"ReduceProd", 18, apply_reduce},   {"ReduceL1", 18, apply_reduce},
                                     {"ReduceL2", 18, apply_reduce},     {"ReduceSumSquare", 18, apply_reduce},
                                     {"ReduceLogSum", 18, apply_reduce}, {"ReduceLogSumExp", 18, apply_reduce}};

}  // namespace

extern const LiftRules lift_reduce;
constinit const LiftRules lift_reduce{kReduceRules};

}  // namespace retort
