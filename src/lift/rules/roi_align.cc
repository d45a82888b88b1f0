// RoiAlign: coordinates were not shifted by half a pixel before opset 16.
#include "lift/rewriter.h"

namespace retort {
namespace {

void apply_roi_align(Rewriter& r) {
  r.attributes().set("coordinate_transformation_mode", std::string("output_half_pixel"));
}
constexpr LiftRule kRoiAlignRules[] = {{"RoiAlign", 16, apply_roi_align}};

}  // namespace

extern const LiftRules lift_roi_align;
constinit const LiftRules lift_roi_align{kRoiAlignRules};

}  // namespace retort
