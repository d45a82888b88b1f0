// Upsample became Resize: with scales and asymmetric coordinates; nearest means the lower neighbour.
#include "lift/rewriter.h"

namespace retort {
namespace {

// Opset 1 scaled the last two axes of four.
void scale_names(Rewriter& r) {
  const float h = r.attributes().get_or<float>("height_scale", 1), w = r.attributes().get_or<float>("width_scale", 1);
  r.erase({"height_scale", "width_scale"});
  r.attributes().set("scales", std::vector<float>{1, 1, h, w});
}

void scales_input(Rewriter& r) {
  const auto scales = r.attributes().get_or<std::vector<float>>("scales", {});
  r.erase({"scales"});
  r.set_input(1, r.constant(Tensor::of<float>({int64_t(scales.size())}, scales)));
}

void resize(Rewriter& r) {
  const ValueId scales = r.input(1);
  r.node().type = "Resize";
  r.node().version = 0;  // the newest form
  r.set_input(1, ValueId::none);
  r.set_input(2, scales);
  const std::string mode = r.attributes().get_or<std::string>("mode", "nearest");
  r.attributes().set("mode", mode == "bilinear" ? std::string("linear") : mode);
  r.attributes().set("coordinate_transformation_mode", std::string("asymmetric"));
  r.attributes().set("nearest_mode", std::string("floor"));
}

constexpr LiftRule kUpsampleRules[] = {
    {"Upsample", 7, scale_names}, {"Upsample", 9, scales_input}, {"Upsample", kAlways, resize}};

}  // namespace

extern const LiftRules lift_upsample;
constinit const LiftRules lift_upsample{kUpsampleRules};

}  // namespace retort
