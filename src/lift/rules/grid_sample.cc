// GridSample: the modes of interpolation had names of two dimensions before opset 20, as in com.microsoft.GridSample. An
// image of integers or booleans is interpolated in float64, and the fraction dropped; where nothing is interpolated,
// elements of any type are gathered.
#include <limits>

#include "lift/rewriter.h"

namespace retort {
namespace {

void apply_grid_sample(Rewriter& r) {
  const std::string mode = r.attributes().get_or<std::string>("mode", "bilinear");
  r.attributes().set("mode", mode == "bilinear"  ? std::string("linear")
                             : mode == "bicubic" ? std::string("cubic")
                                                 : mode);
}

using Ints = std::vector<int64_t>;

// Samples a map of the numbers 1, 2, … of the pixels, where 0 lies outside, and gathers the elements with these numbers.
ValueId gathered(Rewriter& r) {
  const auto make = [&](const char* type, std::vector<ValueId> inputs, Attributes attributes = {}) {
    return r.add({.type = type, .inputs = std::move(inputs), .attributes = std::move(attributes)});
  };
  const auto part = [&](ValueId shape, int64_t begin, int64_t end) {
    return make("Slice", {shape, r.constant(Ints{begin}), r.constant(Ints{end})});
  };
  const auto joined = [&](std::vector<ValueId> parts) {
    return make("Concat", std::move(parts), {{"axis", int64_t(0)}});
  };
  const auto scalar = [&](int64_t value) { return r.constant(Tensor::of<int64_t>({}, {value})); };
  const Attributes exact{{"allowzero", int64_t(1)}};
  const ValueId x = make("Shape", {r.input(0)}), planes = part(x, 0, 2), image = part(x, 2, INT64_MAX);
  const ValueId count = make("ReduceProd", {image}, {{"keepdims", int64_t(0)}});
  const ValueId numbers = make("Range", {scalar(1), make("Add", {count, scalar(1)}), scalar(1)});
  const ValueId one = make("Reshape", {numbers, joined({r.constant(Ints{1, 1}), image})}, exact);
  const ValueId each = make("Expand", {cast(r, one, DType::f64), joined({part(x, 0, 1), r.constant(Ints{1}), image})});
  const ValueId sampled = make("GridSample", {each, r.input(1)}, r.attributes());
  const ValueId lines = make("Reshape", {cast(r, sampled, DType::i64), r.constant(Ints{0, 1, -1})});
  const ValueId places = make("Expand", {lines, joined({planes, r.constant(Ints{1})})});
  const ValueId pixels = make("Reshape", {r.input(0), joined({planes, r.constant(Ints{-1})})});
  const ValueId padded = make("Pad", {pixels, r.constant(Ints{0, 0, 1, 0, 0, 0})});
  const ValueId y = make("GatherElements", {padded, places}, {{"axis", int64_t(2)}});
  return make("Reshape", {y, joined({planes, part(make("Shape", {r.input(1)}), 1, -1)})}, exact);
}

void sample_other_types(Rewriter& r) {
  const DType type = r.type(0).dtype;
  if (type == DType::undefined || is_float(type) || type == DType::complex64 || type == DType::complex128) return;
  if (r.attributes().get_or<std::string>("mode", "linear") == "nearest") {
    r.replace_output(0, gathered(r));
    return r.remove();
  }
  if (type == DType::string) return;  // the operator refuses it
  const ValueId wide = cast(r, r.input(0), DType::f64);
  const ValueId y = r.add({.type = "GridSample", .inputs = {wide, r.input(1)}, .attributes = r.attributes()});
  r.replace_output(0, cast(r, y, type));
  r.remove();
}

void move_grid_sample(Rewriter& r) {
  apply_grid_sample(r);
  r.node().domain.clear();
  r.node().version = 0;
  sample_other_types(r);
}

constexpr LiftRule kGridSampleRules[] = {{"GridSample", 20, apply_grid_sample},
                                         {"GridSample", kAlways, sample_other_types},
                                         {"GridSample", kAlways, move_grid_sample, "com.microsoft"}};

}  // namespace

extern const LiftRules lift_grid_sample;
constinit const LiftRules lift_grid_sample{kGridSampleRules};

}  // namespace retort
