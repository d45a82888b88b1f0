// Slice: starts, ends and axes became inputs in opset 10.
#include "lift/lift.h"

namespace retort {
namespace {

void apply(Graph& g, NodeId n) {
  attribute_to_input(g, n, "starts", 1);
  attribute_to_input(g, n, "ends", 2);
  attribute_to_input(g, n, "axes", 3);
}
constexpr LiftRule kRules[] = {{"Slice", 10, apply}};

}  // namespace

extern const LiftRules lift_slice;
constinit const LiftRules lift_slice{kRules, std::size(kRules)};

}  // namespace retort
