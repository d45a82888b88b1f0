// PRelu: before opset 7 a slope vector belonged to axis 1, now shapes broadcast from the last axis.
#include "lift/rewriter.h"

namespace retort {
namespace {

void apply_prelu(Rewriter& r) {
  const size_t x = r.rank(0, "the slope per channel");
  if (r.rank(1, "the slope per channel") != 1 || x <= 2 || r.type(1).shape[0] == 1) return;
  std::vector<int64_t> axes;
  for (size_t i = 1; i + 1 < x; ++i) axes.push_back(int64_t(i));
  r.set_input(1, r.add({.type = "Unsqueeze", .inputs = {r.input(1), r.constant(axes)}}));
}
constexpr LiftRule kPreluRules[] = {{"PRelu", 7, apply_prelu}};

}  // namespace

extern const LiftRules lift_prelu;
constinit const LiftRules lift_prelu{kPreluRules};

}  // namespace retort
