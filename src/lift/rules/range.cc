// Range takes scalars. Exporters also write vectors of one element, which engines notice only if they are constant.
#include "lift/rewriter.h"

namespace retort {
namespace {

void apply_range(Rewriter& r) {
  for (size_t i = 0; i < 3; ++i) {
    if (!r.has(i) || !(r.type(i).ranked && r.type(i).shape == Shape{1})) continue;
    r.set_input(i, r.add({.type = "Reshape", .inputs = {r.input(i), r.constant(std::vector<int64_t>{})}}));
  }
}
constexpr LiftRule kRangeRules[] = {{"Range", kAlways, apply_range}};

}  // namespace

extern const LiftRules lift_range;
constinit const LiftRules lift_range{kRangeRules};

}  // namespace retort
