// Experimental operators of ai.onnx that opset 10 removed, or opset 9 changed, and that ONNX Runtime still runs.
#include <algorithm>

#include "base/error.h"
#include "lift/rewriter.h"

namespace retort {
namespace {

using Ints = std::vector<int64_t>;

float needed(Rewriter& r, const char* name) {
  const float* value = r.attributes().get<float>(name);
  require(value, ErrorCode::invalid_graph, "the attribute {} is missing", name);
  return *value;
}

ValueId with_number(Rewriter& r, const char* type, ValueId x, float number) {
  return r.add({.type = type, .inputs = {x, r.constant(float_scalar(r.type(0).dtype, number))}});
}

void replace_by(Rewriter& r, ValueId y) {
  r.replace_output(0, y);
  r.remove();
}

// alpha · x + beta
void affine(Rewriter& r) {
  const ValueId product = with_number(r, "Mul", r.input(0), r.attributes().get_or<float>("alpha", 1));
  replace_by(r, with_number(r, "Add", product, r.attributes().get_or<float>("beta", 0)));
}

void scale(Rewriter& r) { replace_by(r, with_number(r, "Mul", r.input(0), r.attributes().get_or<float>("scale", 1))); }

// alpha · F(beta · x)
template <const char* function>
void scaled_function(Rewriter& r) {
  const float alpha = needed(r, "alpha");
  const ValueId x = with_number(r, "Mul", r.input(0), needed(r, "beta"));
  replace_by(r, with_number(r, "Mul", r.add({.type = function, .inputs = {x}}), alpha));
}

// [N, C, H, W] · scale + bias by channel
void image_scaler(Rewriter& r) {
  const ValueType x = r.type(0);
  const auto bias = r.attributes().get_or<std::vector<float>>("bias", {});
  require(
      !bias.empty() && (!x.ranked || (x.rank() == 4 && (!is_known(x.shape[1]) || x.shape[1] == int64_t(bias.size())))),
      ErrorCode::invalid_argument, "input of shape {} and {} elements of bias, expected [N, C, H, W] and C",
      x.ranked ? r.graph().dims().text(x.shape) : "unknown", bias.size());
  ValueId product = with_number(r, "Mul", r.input(0), r.attributes().get_or<float>("scale", 1));
  if (!x.ranked || !is_known(x.shape[1])) {
    // The Split fails where C is another number, also of an image without elements, the Reshape where axes are missing.
    const Ints channels{int64_t(bias.size())};
    product = r.add({.type = "Split", .inputs = {product, r.constant(channels)}, .attributes = {{"axis", int64_t(1)}}});
    product = r.add({.type = "Reshape", .inputs = {product, r.constant(Ints{0, channels[0], 0, 0})}});
  }
  const Tensor line = Tensor::of<float>({int64_t(bias.size()), 1, 1}, bias);
  const ValueId typed = r.add({.type = "CastLike", .inputs = {r.constant(line), product}});
  replace_by(r, r.add({.type = "Add", .inputs = {product, typed}}));
}

// Axes of the mean that only a run tells: the first ones of a tensor of up to four axes, perhaps without the second.
ValueId axes_of_a_run(Rewriter& r, bool all) {
  const ValueId shape = r.add({.type = "Shape", .inputs = {r.input(0)}});
  ValueId count = r.add({.type = "Shape", .inputs = {shape}});  // the rank
  if (!all) {
    count = r.add({.type = "Min", .inputs = {count, r.constant(Ints{4})}});
    count = r.add({.type = "Gather", .inputs = {r.constant(Ints{0, 1, 1, 2, 3}), count}});
  }
  const Ints axes = all ? Ints{0, 1, 2, 3} : Ints{0, 2, 3};
  return r.add({.type = "Slice", .inputs = {r.constant(axes), r.constant(Ints{0}), count}});
}

// The form before opset 9: over the axes of images, or all of them but the channels; perhaps without the deviation. Axes
// behind the fourth are left out, as in ONNX Runtime.
void mean_variance_normalization(Rewriter& r) {
  const bool all = r.attributes().get_or<int64_t>("across_channels", 0) == 1;
  const bool by_deviation = r.attributes().get_or<int64_t>("normalize_variance", 1) == 1;
  r.erase({"across_channels", "normalize_variance"});
  Ints axes = all ? Ints{0, 1, 2, 3} : Ints{0, 2, 3};
  if (by_deviation) return r.attributes().set("axes", axes);  // those that the input does not have are without effect
  const auto two = [&](const char* type, ValueId a, ValueId b) { return r.add({.type = type, .inputs = {a, b}}); };
  if (r.type(0).ranked) std::erase_if(axes, [&](int64_t axis) { return axis >= int64_t(r.type(0).rank()); });
  const ValueId over = r.type(0).ranked ? r.constant(axes) : axes_of_a_run(r, all);
  replace_by(r, two("Sub", r.input(0), two("ReduceMean", r.input(0), over)));
}

// The end of one spatial axis of Crop; negative: counted from the back. `size` -1: the axis ends at the border.
int64_t crop_end(Rewriter& r, size_t axis, int64_t begin, int64_t border, int64_t size) {
  const ValueType x = r.type(0);
  const int64_t needs = begin + (size < 0 ? border : size);
  require(!x.ranked || !is_known(x.shape[axis]) || x.shape[axis] >= needs, ErrorCode::invalid_argument,
          "axis {} of input of shape {} is too short: border and scale need {}", axis, r.graph().dims().text(x.shape),
          needs);
  return size >= 0 ? begin + size : border > 0 ? -border : INT64_MAX;
}

// Of an input whose extents only a run tells. Pad and Reshape fail where it is too short, Slice would not.
void crop_of_unknown(Rewriter& r, const Ints& border, const Ints& scale) {
  const bool sized = !scale.empty();
  const Ints pads{0, 0, -border[1], -border[0], 0, 0, sized ? 0 : -border[3], sized ? 0 : -border[2]};
  ValueId y = r.add({.type = "Pad", .inputs = {r.input(0), r.constant(pads)}});
  if (sized) {
    y = r.add({.type = "Slice", .inputs = {y, r.constant(Ints{0, 0}), r.constant(scale), r.constant(Ints{2, 3})}});
    y = r.add({.type = "Reshape", .inputs = {y, r.constant(Ints{0, 0, scale[0], scale[1]})}});
  }
  replace_by(r, y);
}

// border: left, top, right, bottom; scale: height and width of the result
void crop(Rewriter& r) {
  const ValueType x = r.type(0);
  const auto border = r.attributes().get_or<Ints>("border", {}), scale = r.attributes().get_or<Ints>("scale", {});
  require((!x.ranked || x.rank() == 4) && border.size() == 4 && (scale.empty() || scale.size() == 2),
          ErrorCode::invalid_argument,
          "input has shape {}, border is {}, scale {}; expected [N, C, H, W], 4 numbers and 2 numbers",
          x.ranked ? r.graph().dims().text(x.shape) : "unknown", to_string(border), to_string(scale));
  for (const Ints* list : {&border, &scale}) {
    for (const int64_t v : *list)
      require(v >= 0 && v <= INT32_MAX, ErrorCode::invalid_argument, "border is {} and scale {}; {} is out of range",
              to_string(border), to_string(scale), v);
  }
  const int64_t height = scale.empty() ? -1 : scale[0], width = scale.empty() ? -1 : scale[1];
  if (!x.ranked || !is_known(x.shape[2]) || !is_known(x.shape[3])) return crop_of_unknown(r, border, scale);
  const Ints ends = {crop_end(r, 2, border[1], border[3], height), crop_end(r, 3, border[0], border[2], width)};
  replace_by(r, r.add({.type = "Slice",
                       .inputs = {r.input(0), r.constant(Ints{border[1], border[0]}), r.constant(ends),
                                  r.constant(Ints{2, 3})}}));
}

void dynamic_slice(Rewriter& r) {
  r.node().type = "Slice";
  r.node().version = 0;
}

// Copies to and from a device, in models that sessions with a device have saved.
void memcpy_node(Rewriter& r) {
  r.node().type = "Identity";
  r.node().version = 0;
}

constexpr char kScaledTanh[] = "Tanh", kScaledSoftplus[] = "Softplus";
constexpr LiftRule kExperimentalRules[] = {{"Affine", 10, affine},
                                           {"Scale", 10, scale},
                                           {"ScaledTanh", 10, scaled_function<kScaledTanh>},
                                           {"ParametricSoftplus", 10, scaled_function<kScaledSoftplus>},
                                           {"ImageScaler", 10, image_scaler},
                                           {"Crop", 10, crop},
                                           {"DynamicSlice", 10, dynamic_slice},
                                           {"MeanVarianceNormalization", 9, mean_variance_normalization},
                                           {"MemcpyFromHost", kAlways, memcpy_node},
                                           {"MemcpyToHost", kAlways, memcpy_node}};

}  // namespace

extern const LiftRules lift_experimental;
constinit const LiftRules lift_experimental{kExperimentalRules};

}  // namespace retort
