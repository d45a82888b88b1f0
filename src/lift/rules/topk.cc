// TopK: k was an attribute before opset 10.
#include "lift/rewriter.h"

namespace retort {
namespace {

void apply_topk(Rewriter& r) { r.attribute_to_input("k", 1); }
constexpr LiftRule kTopkRules[] = {{"TopK", 10, apply_topk}};

}  // namespace

extern const LiftRules lift_topk;
constinit const LiftRules lift_topk{kTopkRules};

}  // namespace retort
