// GridSample: the modes of interpolation had names of two dimensions before opset 20.
#include "lift/rewriter.h"

namespace retort {
namespace {

void apply(Rewriter& r) {
  const std::string mode = r.attributes().get_or<std::string>("mode", "bilinear");
  r.attributes().set("mode", mode == "bilinear"  ? std::string("linear")
                             : mode == "bicubic" ? std::string("cubic")
                                                 : mode);
}
constexpr LiftRule kRules[] = {{"GridSample", 20, apply}};

}  // namespace

extern const LiftRules lift_grid_sample;
constinit const LiftRules lift_grid_sample{kRules};

}  // namespace retort
