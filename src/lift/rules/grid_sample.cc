// GridSample: the modes of interpolation had names of two dimensions before opset 20.
#include "lift/rewriter.h"

namespace retort {
namespace {

void apply_grid_sample(Rewriter& r) {
  const std::string mode = r.attributes().get_or<std::string>("mode", "bilinear");
  r.attributes().set("mode", mode == "bilinear"  ? std::string("linear")
                             : mode == "bicubic" ? std::string("cubic")
                                                 : mode);
}
constexpr LiftRule kGridSampleRules[] = {{"GridSample", 20, apply_grid_sample}};

}  // namespace

extern const LiftRules lift_grid_sample;
constinit const LiftRules lift_grid_sample{kGridSampleRules};

}  // namespace retort
