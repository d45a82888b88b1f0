// TopK: k was an attribute before opset 10.
#include "lift/rewriter.h"

namespace retort {
namespace {

void apply(Rewriter& r) { r.attribute_to_input("k", 1); }
constexpr LiftRule kRules[] = {{"TopK", 10, apply}};

}  // namespace

extern const LiftRules lift_topk;
constinit const LiftRules lift_topk{kRules};

}  // namespace retort
