// RoiAlign: coordinates were not shifted by half a pixel before opset 16.
#include "lift/rewriter.h"

namespace retort {
namespace {

void apply(Rewriter& r) { r.attributes().set("coordinate_transformation_mode", std::string("output_half_pixel")); }
constexpr LiftRule kRules[] = {{"RoiAlign", 16, apply}};

}  // namespace

extern const LiftRules lift_roi_align;
constinit const LiftRules lift_roi_align{kRules};

}  // namespace retort
