// Slice: bounds and axes were attributes before opset 10.
#include "lift/rewriter.h"

namespace retort {
namespace {

void apply_slice(Rewriter& r) {
  r.attribute_to_input("starts", 1);
  r.attribute_to_input("ends", 2);
  r.attribute_to_input("axes", 3);
}
constexpr LiftRule kSliceRules[] = {{"Slice", 10, apply_slice}};

}  // namespace

extern const LiftRules lift_slice;
constinit const LiftRules lift_slice{kSliceRules};

}  // namespace retort
