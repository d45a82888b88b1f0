// Reshape: the shape was an attribute before opset 5.
#include "lift/rewriter.h"

namespace retort {
namespace {

void apply_reshape(Rewriter& r) {
  r.erase({"consumed_inputs"});
  r.attribute_to_input("shape", 1);
}
constexpr LiftRule kReshapeRules[] = {{"Reshape", 5, apply_reshape}};

}  // namespace

extern const LiftRules lift_reshape;
constinit const LiftRules lift_reshape{kReshapeRules};

}  // namespace retort
