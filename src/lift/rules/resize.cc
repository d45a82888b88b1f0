// Resize: opset 10 had only scales and no choice of coordinates; in later forms empty tensors stand for omitted inputs.
#include <algorithm>

#include "lift/rewriter.h"

namespace retort {
namespace {

bool shrinks(const Tensor* scales) {
  if (!scales || scales->dtype() != DType::f32) return false;
  return std::any_of(scales->data<float>(), scales->data<float>() + scales->count(), [](float s) { return s < 1; });
}

// Opset 10 did not specify the nearest neighbour; implementations take the lower one when enlarging and the upper one
// when shrinking.
void only_scales(Rewriter& r) {
  const ValueId scales = r.input(1);
  const bool up = shrinks(r.constant_input(1));
  r.set_input(1, ValueId::none);
  r.set_input(2, scales);
  r.attributes().set("coordinate_transformation_mode", std::string("asymmetric"));
  r.attributes().set("nearest_mode", up ? std::string("ceil") : std::string("floor"));
}

void omit_empty(Rewriter& r) {
  for (size_t i : {1, 2, 3}) {
    if (r.has(i) && r.type(i).ranked && r.type(i).rank() == 1 && r.type(i).shape[0] == 0) r.set_input(i, ValueId::none);
  }
}

constexpr LiftRule kResizeRules[] = {{"Resize", 11, only_scales}, {"Resize", 13, omit_empty}};

}  // namespace

extern const LiftRules lift_resize;
constinit const LiftRules lift_resize{kResizeRules};

}  // namespace retort
