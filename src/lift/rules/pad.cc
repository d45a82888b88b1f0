// Pad: pads and value were attributes before opset 11; pads were called paddings in opset 1.
#include "lift/rewriter.h"

namespace retort {
namespace {

void rename(Rewriter& r) {
  if (const Attribute* old = r.attributes().find("paddings")) {
    const Attribute pads = *old;
    r.attributes().set("pads", pads);
    r.erase({"paddings"});
  }
}

void inputs(Rewriter& r) {
  const float value = r.attributes().get_or<float>("value", 0.0f);
  r.attribute_to_input("pads", 1);
  r.erase({"value"});
  if (value != 0.0f) r.set_input(2, r.constant(float_scalar(r.type(0).dtype, value)));  // zero is the default
}

constexpr LiftRule kPadRules[] = {{"Pad", 2, rename}, {"Pad", 11, inputs}};

}  // namespace

extern const LiftRules lift_pad;
constinit const LiftRules lift_pad{kPadRules};

}  // namespace retort
