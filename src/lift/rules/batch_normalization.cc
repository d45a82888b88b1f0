// BatchNormalization: attributes of training fell away with opset 7, 9 and 14; inference reads one output.
#include "lift/lift.h"

namespace retort {
namespace {

void apply(Graph& g, NodeId n) {
  for (const char* name : {"is_test", "spatial", "consumed_inputs"}) g.node(n).attributes.erase(name);
}
constexpr LiftRule kRules[] = {{"BatchNormalization", 14, apply}};

}  // namespace

extern const LiftRules lift_batch_normalization;
constinit const LiftRules lift_batch_normalization{kRules, std::size(kRules)};

}  // namespace retort
