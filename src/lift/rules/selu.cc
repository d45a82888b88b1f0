// Selu: opset 1 had other defaults.
#include "lift/rewriter.h"

namespace retort {
namespace {

void apply_selu(Rewriter& r) {
  if (!r.attributes().has("alpha")) r.attributes().set("alpha", 1.6732f);
  if (!r.attributes().has("gamma")) r.attributes().set("gamma", 1.0507f);
}
constexpr LiftRule kSeluRules[] = {{"Selu", 6, apply_selu}};

}  // namespace

extern const LiftRules lift_selu;
constinit const LiftRules lift_selu{kSeluRules};

}  // namespace retort
