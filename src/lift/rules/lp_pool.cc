// LpPool, GlobalLpPool: p was a float in opset 1.
#include "lift/rewriter.h"

namespace retort {
namespace {

void apply(Rewriter& r) {
  if (const float* p = r.attributes().get<float>("p")) r.attributes().set("p", int64_t(*p));
}
constexpr LiftRule kRules[] = {{"LpPool", 2, apply}, {"GlobalLpPool", 2, apply}};

}  // namespace

extern const LiftRules lift_lp_pool;
constinit const LiftRules lift_lp_pool{kRules};

}  // namespace retort
