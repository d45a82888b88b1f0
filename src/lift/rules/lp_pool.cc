// LpPool, GlobalLpPool: p was a float in opset 1.
#include "lift/rewriter.h"

namespace retort {
namespace {

void apply_lp_pool(Rewriter& r) {
  if (const float* p = r.attributes().get<float>("p")) r.attributes().set("p", int64_t(*p));
}
constexpr LiftRule kLpPoolRules[] = {{"LpPool", 2, apply_lp_pool}, {"GlobalLpPool", 2, apply_lp_pool}};

}  // namespace

extern const LiftRules lift_lp_pool;
constinit const LiftRules lift_lp_pool{kLpPoolRules};

}  // namespace retort
