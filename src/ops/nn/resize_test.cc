#include <gtest/gtest.h>

#include "ops/op_test.h"

namespace retort::ops {
namespace {

using Ints = std::vector<int64_t>;

Attributes how(const char* mode, const char* coordinates, Attributes more = {}) {
  more.set("mode", std::string(mode));
  more.set("coordinate_transformation_mode", std::string(coordinates));
  return more;
}
OpCase by_scale(const char* about, Attributes attributes, Tensor x, const std::vector<float>& scales, Tensor y = {}) {
  OpCase c{.about = about, .attributes = std::move(attributes)};
  c.inputs = {std::move(x), {}, f32({int64_t(scales.size())}, scales)};
  if (y) c.outputs = {std::move(y)};
  return c;
}
OpCase to_size(const char* about, Attributes attributes, Tensor x, const Ints& sizes, Tensor y = {}) {
  OpCase c{.about = about, .attributes = std::move(attributes)};
  c.inputs = {std::move(x), {}, {}, i64({int64_t(sizes.size())}, sizes)};
  if (y) c.outputs = {std::move(y)};
  return c;
}
Attributes on_axes(Attributes attributes, Ints axes) {
  attributes.set("axes", std::move(axes));
  return attributes;
}
OpCase cropped(float from, float to, std::initializer_list<float> y, float fill) {
  return {.about = "a region; positions outside are filled",
          .attributes = how("linear", "tf_crop_and_resize", {{"extrapolation_value", fill}}),
          .inputs = {f32({3}, {0, 1, 2}), f32({2}, {from, to}), {}, i64({1}, {3})},
          .outputs = {f32({3}, y)}};
}

OpCase region(const char* about, const char* mode, Tensor x, const std::vector<float>& roi, const Ints& sizes,
              Attributes more = {{"extrapolation_value", -7.0f}}) {
  OpCase c = to_size(about, how(mode, "tf_crop_and_resize", std::move(more)), std::move(x), sizes);
  c.inputs[1] = f32({int64_t(roi.size())}, roi);
  return c;
}

// Codes that use the whole range of a byte.
Tensor bytes(const Shape& shape) {
  Tensor t(DType::u8, shape);
  auto* x = static_cast<uint8_t*>(t.mutable_data());
  for (size_t i = 0; i < element_count(shape); ++i) x[i] = uint8_t(i * 151 + i / 7 * 89);
  return t;
}

const OpTest resize(
    "Resize",
    {by_scale("nearest, twice as large", how("nearest", "asymmetric", {{"nearest_mode", std::string("floor")}}),
              f32({1, 1, 2, 2}, {1, 2, 3, 4}), {1, 1, 2, 2},
              f32({1, 1, 4, 4}, {1, 1, 2, 2, 1, 1, 2, 2, 3, 3, 4, 4, 3, 3, 4, 4})),
     by_scale("integers, with rows that are copies and axes before them",
              how("nearest", "asymmetric", {{"nearest_mode", std::string("floor")}}),
              i64({2, 2, 3}, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}), {1, 1.5f, 5.0f / 3},
              i64({2, 3, 5},
                  {1, 1, 2, 2, 3, 1, 1, 2, 2, 3, 4, 4, 5, 5, 6, 7, 7, 8, 8, 9, 7, 7, 8, 8, 9, 10, 10, 11, 11, 12})),
     by_scale("a half prefers the floor", how("nearest", "asymmetric"), f32({3}, {1, 2, 3}), {2},
              f32({6}, {1, 1, 2, 2, 3, 3})),
     by_scale("a half prefers the ceiling",
              how("nearest", "asymmetric", {{"nearest_mode", std::string("round_prefer_ceil")}}), f32({3}, {1, 2, 3}),
              {2}, f32({6}, {1, 2, 2, 3, 3, 3})),
     by_scale("the middle of an odd number of pixels is exact",
              how("nearest", "half_pixel_symmetric", {{"nearest_mode", std::string("floor")}}),
              f32({5}, {1, 2, 3, 4, 5}), {0.6f}, f32({3}, {1, 3, 4})),
     by_scale("0.6 of float32 is a little more", how("nearest", "half_pixel_symmetric"),
              f32({7}, {1, 2, 3, 4, 5, 6, 7}), {0.6f}, f32({4}, {2, 3, 5, 6})),
     to_size("linear", how("linear", "half_pixel"), f32({2}, {1, 3}), {4}, f32({4}, {1, 1.5f, 2.5f, 3})),
     to_size("corners stay", how("linear", "align_corners"), f32({2}, {1, 3}), {5}, f32({5}, {1, 1.5f, 2, 2.5f, 3})),
     to_size("one pixel", how("linear", "pytorch_half_pixel"), f32({2}, {1, 3}), {1}, f32({1}, {1})),
     to_size("shrunk with antialias", how("linear", "half_pixel", {{"antialias", int64_t(1)}}),
             f32({4}, {0, 8, 16, 24}), {2}, f32({2}, {5, 19})),
     to_size("cubic", how("cubic", "half_pixel", {{"cubic_coeff_a", -0.5f}}), f32({4}, {0, 0, 16, 16}), {8},
             f32({8}, {0, -0.375f, -1.125f, 3.25f, 12.75f, 17.125f, 16.375f, 16})),
     to_size("the largest size that fits",
             how("nearest", "asymmetric", {{"keep_aspect_ratio_policy", std::string("not_larger")}}),
             f32({1, 2}, {1, 2}), {3, 4}, f32({2, 4}, {1, 1, 2, 2, 1, 1, 2, 2})),
     to_size("half an element more is one more: 3 * 7 / 6",
             how("nearest", "asymmetric", {{"keep_aspect_ratio_policy", std::string("not_smaller")}}),
             f32({3, 6}, {1, 2, 3, 4, 5, 6, 1, 2, 3, 4, 5, 6, 7, 7, 7, 7, 7, 7}), {3, 7},
             f32({4, 7}, {1, 2, 3, 4, 4, 5, 6, 1, 2, 3, 4, 4, 5, 6, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7})),
     to_size("one of several axes", on_axes(how("nearest", "asymmetric"), {-1}), f32({2, 2}, {1, 2, 3, 4}), {3},
             f32({2, 3}, {1, 2, 2, 3, 4, 4})),
     by_scale("planes, linear", how("linear", "half_pixel"), random({2, 3, 9, 11}), {1, 1, 2, 2}),
     by_scale("channels last, linear", on_axes(how("linear", "half_pixel"), {1, 2}), random({2, 9, 11, 21}), {2, 1.5f}),
     by_scale("channels last, nearest", on_axes(how("nearest", "asymmetric"), {2, 1}), random({2, 9, 11, 21}), {2, 2}),
     by_scale("channels last, cubic", on_axes(how("cubic", "align_corners"), {1, 2}), random({1, 9, 11, 5}), {0.5f, 3}),
     by_scale("without positions outside", how("cubic", "half_pixel", {{"exclude_outside", int64_t(1)}}),
              random({1, 2, 9, 11}), {1, 1, 2, 2}),
     to_size("antialiased planes", how("cubic", "half_pixel", {{"antialias", int64_t(1)}}), random({1, 2, 19, 17}),
             {1, 2, 7, 5}),
     to_size("one axis of three", on_axes(how("linear", "half_pixel_symmetric"), {1}), random({3, 7, 5}), {10}),
     to_size("axes that are not neighbours", on_axes(how("linear", "half_pixel"), {0, 2}), random({3, 7, 5}), {5, 9}),
     to_size("three axes", how("linear", "half_pixel"), random({3, 4, 5}), {5, 6, 3}),
     by_scale("planes, nearest, larger", how("nearest", "half_pixel"), random({2, 3, 9, 21}), {1, 1, 2, 2.5f}),
     by_scale("planes, nearest, smaller", how("nearest", "asymmetric"), random({2, 3, 9, 75}), {1, 1, 0.5f, 0.3f}),
     by_scale("planes, linear, wider", how("linear", "align_corners"), random({1, 2, 5, 37}), {1, 1, 0.7f, 1.7f}),
     by_scale("planes, antialiased, wide", how("linear", "half_pixel", {{"antialias", int64_t(1)}}),
              random({2, 3, 25, 91}), {1, 1, 0.4f, 0.4f}),
     by_scale("planes, cubic, wide", how("cubic", "half_pixel"), random({1, 3, 12, 50}), {1, 1, 1.5f, 2}),
     by_scale("planes, nearest, twice as large", how("nearest", "half_pixel"), random({2, 3, 5, 37}), {1, 1, 2, 2}),
     by_scale("three axes, nearest", how("nearest", "asymmetric"), random({2, 3, 4, 5}), {1, 2, 1.5f, 2}),
     by_scale("axes that are not neighbours, nearest", how("nearest", "asymmetric"), random({2, 3, 4, 5}),
              {2, 1, 3, 1}),
     by_scale("bytes, twice as large, with an axis that stays", how("nearest", "half_pixel"),
              u8({2, 1, 3}, {1, 2, 3, 4, 5, 6}), {2, 1, 2},
              u8({4, 1, 6}, {1, 1, 2, 2, 3, 3, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6, 4, 4, 5, 5, 6, 6})),
     by_scale("bytes, channels last", how("nearest", "half_pixel"), u8({1, 2, 3}, {1, 2, 3, 4, 5, 6}), {2, 2, 1},
              u8({2, 4, 3}, {1, 2, 3, 1, 2, 3, 4, 5, 6, 4, 5, 6, 1, 2, 3, 1, 2, 3, 4, 5, 6, 4, 5, 6})),
     by_scale("bytes, no axis changes", how("nearest", "half_pixel"), u8({3}, {1, 2, 3}), {1}, u8({3}, {1, 2, 3})),
     by_scale("bytes, planes, linear", how("linear", "half_pixel"), bytes({2, 3, 9, 11}), {1, 1, 2, 4}),
     by_scale("bytes, more rows than are floats at a time", how("linear", "half_pixel"), bytes({2, 90, 150}),
              {1, 2, 2}),
     by_scale("bytes, smaller", how("linear", "half_pixel"), bytes({1, 150, 90, 3}), {1, 0.25f, 0.5f, 1}),
     by_scale("bytes, channels", how("linear", "half_pixel"), bytes({2, 90, 75, 3}), {1, 4, 2, 1}),
     by_scale("bytes, cubic", how("cubic", "half_pixel"), bytes({3, 40, 37}), {1, 2, 2}),
     by_scale("bytes, one axis", how("linear", "half_pixel"), bytes({5, 19}), {1, 2}),
     by_scale("lines", how("linear", "pytorch_half_pixel"), random({2, 5, 41}), {1, 1, 3}),
     to_size("no axis changes", how("linear", "half_pixel"), random({3, 5}), {3, 5}),
     by_scale("no axis changes, by scales", how("cubic", "align_corners"), random({2, 3, 5, 7}), {1, 1, 1, 1}),
     by_scale("the same size, but not the same scale", how("linear", "asymmetric"), random({2, 7}), {1, 1.1f}),
     by_scale("no axis changes, doubles", how("linear", "half_pixel"), f64({3}, {1, 2, 4}), {1}, f64({3}, {1, 2, 4})),
     to_size("to an empty output", how("linear", "half_pixel"), f32({2}, {1, 3}), {0}, f32({0}, {}))},
    {.tolerance = 4});

const OpTest regions(
    "Resize",
    {cropped(0.5f, 1.5f, {1, 2, -7}, -7), cropped(-1e20f, 1e20f, {-7, 0, -7}, -7), cropped(-0.5f, 0.5f, {-7, 0, 1}, -7),
     cropped(1, 0, {2, 1, 0}, -7),
     region("a region of planes", "linear", random({2, 3, 9, 21}), {0, 0, 0.1f, 0.2f, 1, 1, 0.7f, 0.9f}, {2, 3, 7, 19}),
     region("a region of planes of the same size", "cubic", random({1, 3, 9, 11}), {0, 0, 0.1f, 0, 1, 1, 0.7f, 1},
            {1, 3, 9, 11}),
     region("a region partly outside, backwards", "linear", random({2, 2, 9, 37}),
            {0, 0, 1.2f, -0.3f, 1, 1, 0.4f, 1.1f}, {2, 2, 11, 35}),
     region("a region outside", "nearest", random({2, 2, 5, 7}), {0, 0, 1.1f, 0, 1, 1, 1.4f, 1}, {2, 2, 3, 4}),
     region("a region of lines, nearest", "nearest", random({2, 5, 41}), {0, 0, -0.5f, 1, 1, 0.75f}, {2, 5, 33}),
     region("a region of pixels", "linear", random({2, 9, 11, 5}), {0, -0.1f, 0.2f, 0, 1, 0.9f, 1.3f, 1}, {2, 6, 8, 5}),
     region("a region of one pixel", "linear", random({2, 2, 9, 11}), {0, 0, 0.1f, 0.3f, 1, 1, 0.8f, 0.4f},
            {2, 2, 1, 1}),
     region("positions outside on all sides", "linear", random({3, 6, 8}), {0, -0.2f, -0.3f, 1, 1.3f, 1.2f},
            {3, 9, 11}),
     region("pixels outside on all sides, backwards", "nearest", random({2, 6, 8, 3}),
            {0, 1.3f, 1.2f, 0, 1, -0.2f, -0.3f, 1}, {2, 9, 11, 3}),
     region("columns outside, all rows inside", "cubic", random({2, 6, 8}), {0, 0.2f, 1.1f, 1, 0.8f, 2}, {2, 5, 4}),
     region("a region on three axes", "linear", random({4, 9, 11}), {0.1f, 0, 0.2f, 0.9f, 0.9f, 1.3f}, {3, 6, 8}),
     region("a region of bytes", "linear", bytes({2, 9, 11}), {0, 0.1f, 0.2f, 1, 0.9f, 1.3f}, {2, 6, 8},
            {{"extrapolation_value", 7.0f}})},
    {.tolerance = 4});

template <typename T>
std::vector<T> resized(Attributes attributes, std::vector<T> x, int64_t size) {
  const int64_t n = int64_t(x.size());
  const auto y = OpRun("", "Resize", std::move(attributes), {Tensor::of({n}, x), {}, {}, i64({1}, {size})}, 1).run();
  const T* first = y[0].template data<T>();
  return std::vector<T>(first, first + size);
}

TEST(Resize, BytesAreTruncatedOrRoundedAndStayInRange) {
  using Bytes = std::vector<uint8_t>;
  using Signed = std::vector<int8_t>;
  const Attributes linear = how("linear", "half_pixel"), cubic = how("cubic", "half_pixel");
  const Attributes antialiased = how("linear", "half_pixel", {{"antialias", int64_t(1)}});
  EXPECT_EQ(resized(linear, Bytes{1, 4}, 4), (Bytes{1, 1, 3, 4}));
  EXPECT_EQ(resized(linear, Signed{-1, -4}, 4), (Signed{-1, -1, -3, -4}));
  EXPECT_EQ(resized(linear, Bytes(7, 201), 9), Bytes(9, 201));
  EXPECT_EQ(resized(antialiased, Bytes{0, 8, 17, 24}, 2), (Bytes{5, 19}));
  EXPECT_EQ(resized(antialiased, Bytes{0, 8, 20, 24}, 2), (Bytes{6, 21}));
  EXPECT_EQ(resized(cubic, Signed{127, 127, -128, -128}, 8), (Signed{127, 127, 127, 69, -70, -128, -128, -128}));
}

TEST(Resize, ExtentsThatNoNumberIsAreErrors) {
  const Attributes not_larger = how("nearest", "asymmetric", {{"keep_aspect_ratio_policy", std::string("not_larger")}});
  const auto fails = [&](const Shape& x, const Ints& sizes) {
    EXPECT_THROW(OpRun("", "Resize", not_larger, {random(x), {}, {}, i64({2}, sizes)}, 1).run(), Error);
  };
  fails({1, 2}, {int64_t(1) << 62, int64_t(1) << 62});
  fails({0, 0}, {3, 3});
  fails({1, 2}, {-3, 4});
}

}  // namespace
}  // namespace retort::ops
