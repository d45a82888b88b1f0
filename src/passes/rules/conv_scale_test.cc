#include "passes/passes_testing.h"

namespace retort {
namespace {

/// A 1x1 convolution to 2 channels of an image, whose channels are multiplied by `factors`.
ValueId scaled_conv(TestGraph& t, Shape image, ValueId factors, Attributes attributes = {},
                    Shape filters = {2, 3, 1, 1}) {
  const ValueId x = t.input("x", std::move(image));
  return t.add("Conv", {t.add("Mul", {factors, x}), t.weight("w", std::move(filters)), t.weight("b", {2})},
               std::move(attributes), "retort");
}

TEST(ConvScale, FactorsOfEachImage) {
  TestGraph t;
  t.output(scaled_conv(t, {2, 5, 4, 3}, t.input("s", {2, 1, 1, 3})), "y");
  expect_rewrite(t, {"conv_scale"}, R"(graph(s: float32[2,1,1,3], x: float32[2,5,4,3]) {
  y: float32[2,5,4,2] = retort.Conv(x, w, b, _, s)
  return y
}
)");
}

TEST(ConvScale, FactorsBeforeAResidual) {
  TestGraph t;
  const ValueId y = scaled_conv(t, {2, 5, 4, 3}, t.input("s", {2, 1, 1, 3}));
  t.output(t.add("Add", {t.input("r", {2, 5, 4, 2}), y}), "y");
  expect_rewrite(t, {"conv_scale", "epilogue_residual"},
                 R"(graph(s: float32[2,1,1,3], x: float32[2,5,4,3], r: float32[2,5,4,2]) {
  y: float32[2,5,4,2] = retort.Conv(x, w, b, r, s)
  return y
}
)");
}

void expect_factors_stay(Shape image, Shape factors, Attributes attributes = {}, Shape filters = {2, 3, 1, 1}) {
  TestGraph t;
  const ValueId s = t.input("s", std::move(factors));
  t.output(scaled_conv(t, std::move(image), s, std::move(attributes), std::move(filters)), "y");
  expect_no_rewrite(t, {"conv_scale"});
}

TEST(ConvScale, OtherFactorsAndConvolutionsStay) {
  using Ints = std::vector<int64_t>;
  expect_factors_stay({2, 5, 4, 3}, {1, 1, 1, 3});                                // the same for all images
  expect_factors_stay({2, 5, 4, 3}, {2, 1, 4, 3});                                // not the same for all pixels
  expect_factors_stay({2, 5, 4, 3}, {2, 1, 1, 1});                                // the same for all channels
  expect_factors_stay({2, 3, 1, 3}, {2, 1, 1, 3});                                // too few pixels
  expect_factors_stay({2, 5, 4, 3}, {2, 1, 1, 3}, {{"strides", Ints{2, 1}}});     // pixels between those read
  expect_factors_stay({2, 5, 4, 3}, {2, 1, 1, 3}, {{"pads", Ints{0, 1, 0, 1}}});  // pixels around the image
  expect_factors_stay({2, 5, 4, 3}, {2, 1, 1, 3}, {}, {2, 3, 1, 3});              // a larger kernel
  expect_factors_stay({2, 5, 4, 4}, {2, 1, 1, 4}, {{"group", int64_t(2)}}, {2, 2, 1, 1});
}

TEST(ConvScale, AnImageThatIsUsedElsewhereStays) {
  TestGraph t;
  const ValueId product = t.add("Mul", {t.input("x", {2, 5, 4, 3}), t.input("s", {2, 1, 1, 3})});
  t.output(t.add("Conv", {product, t.weight("w", {2, 3, 1, 1})}, {}, "retort"), "y");
  t.output(t.add("Relu", {product}), "z");
  expect_no_rewrite(t, {"conv_scale"});
}

TEST(ConvScale, ConstantFactorsStay) {
  TestGraph t;
  t.output(scaled_conv(t, {1, 5, 4, 3}, t.floats({1, 1, 1, 3}, {1, 2, 3})), "y");
  expect_no_rewrite(t, {"conv_scale"});
}

}  // namespace
}  // namespace retort
