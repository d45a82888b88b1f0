// Selu: other defaults in opset 1.
#include "lift/rewriter.h"

namespace retort {
namespace {

void apply(Rewriter& r) {
  if (!r.attributes().has("alpha")) r.attributes().set("alpha", 1.6732f);
  if (!r.attributes().has("gamma")) r.attributes().set("gamma", 1.0507f);
}
constexpr LiftRule kRules[] = {{"Selu", 6, apply}};

}  // namespace

extern const LiftRules lift_selu;
constinit const LiftRules lift_selu{kRules};

}  // namespace retort
