// DFT: the axis was an attribute, 1 by default, before opset 20.
#include "lift/rewriter.h"

namespace retort {
namespace {

void apply_dft(Rewriter& r) {
  const int64_t axis = r.attributes().get_or<int64_t>("axis", 1);
  r.erase({"axis"});
  r.set_input(2, r.constant(Tensor::of<int64_t>({}, {axis})));
}
constexpr LiftRule kDftRules[] = {{"DFT", 20, apply_dft}};

}  // namespace

extern const LiftRules lift_dft;
constinit const LiftRules lift_dft{kDftRules};

}  // namespace retort
