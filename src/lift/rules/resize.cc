// Resize: opset 10 had only scales and no choice of coordinates; in later forms empty tensors stand for omitted inputs.
// Strings are moved as a Gather.
#include <algorithm>

#include "lift/rewriter.h"

namespace retort {
namespace {

using Scales = std::vector<float>;

// The scales, if they are constant.
Scales scales_of(const Tensor* t) {
  return t && t->dtype() == DType::f32 ? Scales(t->data<float>(), t->data<float>() + t->count()) : Scales();
}
bool shrinks(float scale) { return scale < 1; }
bool enlarges(float scale) { return scale > 1; }

ValueId constant(Rewriter& r, const Scales& scales) {
  return r.constant(Tensor::of<float>({int64_t(scales.size())}, scales));
}

// The input after only those axes that shrink were resized; `scales` keeps the others.
ValueId shrunk(Rewriter& r, Scales& scales) {
  Scales shrinking = scales;
  for (size_t i = 0; i < scales.size(); ++i) (shrinks(scales[i]) ? scales : shrinking)[i] = 1;
  return r.add({.type = "Resize",
                .inputs = {r.input(0), ValueId::none, constant(r, shrinking)},
                .attributes = {{"coordinate_transformation_mode", std::string("asymmetric")},
                               {"nearest_mode", std::string("ceil")}}});
}

// Opset 10 did not specify the nearest neighbour; implementations take the lower one along axes that they enlarge and
// the upper one along those that they shrink.
void only_scales(Rewriter& r) {
  ValueId to = r.input(1);
  Scales scales = scales_of(r.constant_input(1));
  bool up = std::ranges::any_of(scales, shrinks);
  if (up && std::ranges::any_of(scales, enlarges) &&
      r.attributes().get_or<std::string>("mode", "nearest") == "nearest") {
    r.set_input(0, shrunk(r, scales));
    to = constant(r, scales);
    up = false;
  }
  r.set_input(1, ValueId::none);
  r.set_input(2, to);
  r.attributes().set("coordinate_transformation_mode", std::string("asymmetric"));
  r.attributes().set("nearest_mode", up ? std::string("ceil") : std::string("floor"));
}

void omit_empty(Rewriter& r) {
  for (size_t i : {1, 2, 3}) {
    if (r.has(i) && r.type(i).ranked && r.type(i).rank() == 1 && r.type(i).shape[0] == 0) r.set_input(i, ValueId::none);
  }
}

// The nearest neighbour only moves elements: for strings, it resizes their places, and a Gather takes the elements.
void gather_strings(Rewriter& r) {
  const bool nearest = r.attributes().get_or<std::string>("mode", "nearest") == "nearest";
  const bool fills =
      r.attributes().get_or<std::string>("coordinate_transformation_mode", "half_pixel") == "tf_crop_and_resize";
  if (r.type(0).dtype != DType::string || !nearest || fills) return;
  const auto number = [&](int64_t v) { return r.constant(Tensor::of<int64_t>({}, {v})); };
  const ValueId x = r.input(0), count = r.add({.type = "Size", .inputs = {x}});
  const ValueId places = r.add({.type = "Range", .inputs = {number(0), count, number(1)}});
  const ValueId shape = r.add({.type = "Shape", .inputs = {x}});
  std::vector<ValueId> inputs = r.node().inputs;
  inputs[0] = r.add({.type = "Reshape", .inputs = {places, shape}, .attributes = {{"allowzero", int64_t(1)}}});
  const ValueId from = r.add({.type = "Resize", .inputs = inputs, .attributes = r.attributes()});
  const ValueId all = r.add({.type = "Reshape", .inputs = {x, r.constant(std::vector<int64_t>{-1})}});
  r.replace_output(0, r.add({.type = "Gather", .inputs = {all, from}}));
  r.remove();
}

constexpr LiftRule kResizeRules[] = {
    {"Resize", 11, only_scales}, {"Resize", 13, omit_empty}, {"Resize", kAlways, gather_strings}};

}  // namespace

extern const LiftRules lift_resize;
constinit const LiftRules lift_resize{kResizeRules};

}  // namespace retort
