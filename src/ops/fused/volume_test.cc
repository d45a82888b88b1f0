// Tests the channels-last operators on volumes, beside the channels-first ones.
#include <gtest/gtest.h>

#include "base/cpu.h"
#include "ops/op_test.h"

namespace retort::ops {
namespace {

using Ints = std::vector<int64_t>;

Tensor volume_to_last(const Tensor& t) {
  return OpRun("", "Transpose", {{"perm", Ints{0, 2, 3, 4, 1}}}, {t}, 1).run()[0];
}

struct VolumeConv {
  const char* about;
  Attributes attributes;
  Shape x, w;
};
const std::vector<VolumeConv>& volume_convs() {
  static const std::vector<VolumeConv> cases{
      {"one tap", {}, {2, 17, 3, 5, 7}, {35, 17, 1, 1, 1}},
      {"one tap, strides", {{"strides", Ints{2, 3, 2}}}, {2, 5, 5, 7, 6}, {9, 5, 1, 1, 1}},
      {"along the depth", {{"pads", Ints{1, 0, 0, 1, 0, 0}}}, {2, 32, 9, 5, 7}, {40, 32, 3, 1, 1}},
      {"along the depth, one pixel", {{"pads", Ints{2, 0, 0, 1, 0, 0}}}, {1, 5, 9, 1, 1}, {9, 5, 4, 1, 1}},
      {"along the depth, uneven",
       {{"pads", Ints{0, 0, 0, 3, 0, 0}}, {"strides", Ints{2, 1, 1}}, {"dilations", Ints{2, 1, 1}}},
       {2, 6, 11, 5, 3},
       {19, 6, 3, 1, 1}},
      {"along the depth, dilated",
       {{"pads", Ints{3, 0, 0, 3, 0, 0}}, {"dilations", Ints{3, 1, 1}}},
       {1, 18, 10, 3, 5},
       {17, 18, 3, 1, 1}},
      {"along the depth, by channel",
       {{"group", int64_t(21)}, {"pads", Ints{1, 0, 0, 1, 0, 0}}},
       {2, 21, 6, 3, 5},
       {21, 1, 3, 1, 1}},
      {"in planes", {{"pads", Ints{0, 1, 1, 0, 1, 1}}}, {2, 32, 3, 13, 15}, {40, 32, 1, 3, 3}},
      {"in planes, uneven",
       {{"pads", Ints{0, 2, 1, 0, 0, 3}}, {"strides", Ints{1, 2, 3}}, {"dilations", Ints{1, 2, 1}}},
       {2, 3, 4, 13, 11},
       {9, 3, 1, 3, 2}},
      {"in planes, groups",
       {{"group", int64_t(3)}, {"pads", Ints{0, 1, 1, 0, 1, 1}}},
       {1, 18, 2, 7, 6},
       {21, 6, 1, 3, 3}},
      {"whole", {{"pads", Ints(6, 1)}}, {2, 17, 5, 13, 14}, {35, 17, 3, 3, 3}},
      {"whole, large planes", {{"pads", Ints(6, 1)}}, {1, 33, 3, 75, 71}, {16, 33, 3, 3, 3}},
      {"whole, uneven",
       {{"pads", Ints{2, 0, 1, 1, 3, 0}}, {"strides", Ints{2, 1, 3}}, {"dilations", Ints{2, 1, 2}}},
       {2, 5, 9, 8, 11},
       {9, 5, 3, 2, 2}},
      {"whole, SAME_LOWER",
       {{"auto_pad", std::string("SAME_LOWER")}, {"strides", Ints{2, 2, 1}}},
       {1, 1, 7, 9, 8},
       {8, 1, 3, 4, 3}},
      {"by channel", {{"group", int64_t(21)}, {"pads", Ints(6, 1)}}, {2, 21, 5, 9, 11}, {21, 1, 3, 3, 3}},
      {"by channel, uneven",
       {{"group", int64_t(37)},
        {"pads", Ints{2, 0, 1, 1, 3, 0}},
        {"strides", Ints{2, 1, 2}},
        {"dilations", Ints{2, 1, 1}}},
       {1, 37, 7, 8, 11},
       {37, 1, 2, 3, 2}},
      {"by channel, planes that are padding",
       {{"group", int64_t(5)}, {"pads", Ints{4, 1, 0, 4, 0, 1}}},
       {2, 5, 1, 4, 5},
       {5, 1, 2, 3, 2}},
      {"groups of few channels", {{"group", int64_t(3)}, {"pads", Ints(6, 1)}}, {2, 6, 4, 7, 6}, {9, 2, 3, 3, 3}},
      {"groups", {{"group", int64_t(2)}, {"pads", Ints{1, 0, 2, 2, 1, 0}}}, {1, 36, 4, 7, 6}, {38, 18, 2, 3, 3}},
      {"groups, planes that are padding",
       {{"group", int64_t(2)}, {"pads", Ints{3, 0, 0, 3, 0, 0}}},
       {1, 34, 1, 4, 5},
       {36, 17, 2, 2, 2}},
      {"planes that are padding", {{"pads", Ints{4, 0, 0, 4, 0, 0}}}, {1, 3, 1, 4, 5}, {8, 3, 2, 2, 2}},
      {"no planes", {}, {2, 3, 0, 4, 5}, {8, 3, 1, 2, 2}},
      {"no volumes", {{"pads", Ints(6, 1)}}, {0, 3, 4, 4, 5}, {8, 3, 3, 3, 3}},
  };
  return cases;
}

std::vector<OpCase> volume_conv_cases() {
  std::vector<OpCase> cases;
  for (const VolumeConv& v : volume_convs()) {
    if (v.x[2] == 0) continue;
    OpCase c{.about = v.about, .attributes = v.attributes};
    c.inputs = {volume_to_last(random(v.x, 1, -1, 1)), random(v.w, 2, -1, 1), random({v.w[0]}, 3)};
    cases.push_back(std::move(c));
  }
  return cases;
}

TEST(Volumes, ConvolutionsEqualTheChannelsFirstForm) {
  for (int level = 0; level <= int(best_isa()); ++level) {
    const ScopedIsa isa{Isa(level)};
    for (const VolumeConv& v : volume_convs()) {
      std::vector<Tensor> inputs = {random(v.x, 1, -1, 1), random(v.w, 2, -1, 1), random({v.w[0]}, 3)};
      const Tensor wanted = volume_to_last(OpRun("", "Conv", v.attributes, inputs, 1).run()[0]);
      inputs[0] = volume_to_last(inputs[0]);
      OpRun plain("retort", "Conv", v.attributes, inputs, 1);
      EXPECT_EQ(difference(plain.run()[0], wanted, 16 * allowed_difference(DType::f32)), "") << v.about;
      // A residual of half the result, then the activation.
      const Tensor half = OpRun("", "Mul", {}, {wanted, f32({}, {-0.5f})}, 1).run()[0];
      inputs.push_back(half);
      Attributes activated = v.attributes;
      activated.set("activation", std::string("relu"));
      const Tensor sum = OpRun("", "Add", {}, {wanted, half}, 1).run()[0];
      OpRun full("retort", "Conv", activated, inputs, 1);
      EXPECT_EQ(
          difference(full.run()[0], OpRun("", "Relu", {}, {sum}, 1).run()[0], 16 * allowed_difference(DType::f32)), "")
          << v.about;
      EXPECT_EQ(difference(full.run({.in_place = 3})[0], OpRun("", "Relu", {}, {sum}, 1).run()[0],
                           16 * allowed_difference(DType::f32)),
                "")
          << v.about;
    }
  }
}

TEST(Volumes, PlanesHaveNoFactors) {
  std::vector<Tensor> inputs = {random({1, 4, 4, 4, 8}), random({8, 8, 3, 3, 3}), {}, {}, random({1, 1, 1, 1, 8})};
  EXPECT_THROW(OpRun("retort", "Conv", {}, inputs, 1).run(), std::exception);
}

void expect_equal_pools(const char* type, Shape x, Attributes attributes) {
  Tensor image = random(std::move(x), 7, -1, 1);
  if (image.count() > 20) image.mutable_data<float>()[20] = std::numeric_limits<float>::quiet_NaN();
  const Tensor wanted = volume_to_last(OpRun("", type, attributes, {image}, 1).run()[0]);
  OpRun last("retort", type, attributes, {volume_to_last(image)}, 1);
  EXPECT_EQ(difference(last.run()[0], wanted, 8 * allowed_difference(DType::f32)), "")
      << type << to_string(image.shape());
  EXPECT_EQ(difference(last.run({.reference = true})[0], wanted, 8 * allowed_difference(DType::f32)), "")
      << type << to_string(image.shape());
}

TEST(Volumes, PoolsEqualTheChannelsFirstForm) {
  for (const char* type : {"MaxPool", "AveragePool"}) {
    for (const int64_t channels : {1, 5, 16, 37}) {
      const Shape x{2, channels, 7, 9, 6};
      expect_equal_pools(type, x, {{"kernel_shape", Ints{3, 3, 3}}, {"pads", Ints(6, 1)}});
      expect_equal_pools(type, x, {{"kernel_shape", Ints{1, 3, 3}}, {"strides", Ints{1, 2, 2}}});
      expect_equal_pools(type, x, {{"kernel_shape", Ints{2, 1, 1}}, {"strides", Ints{2, 1, 1}}});
      expect_equal_pools(type, x, {{"kernel_shape", Ints{1, 1, 1}}});
      expect_equal_pools(type, x, {{"kernel_shape", Ints{1, 1, 1}}, {"strides", Ints{2, 2, 2}}});
      expect_equal_pools(type, x,
                         {{"kernel_shape", Ints{2, 3, 2}},
                          {"strides", Ints{2, 2, 3}},
                          {"pads", Ints{1, 0, 1, 0, 1, 1}},
                          {"ceil_mode", int64_t(1)}});
    }
  }
  const Attributes counted = {{"kernel_shape", Ints{2, 3, 2}},
                              {"pads", Ints{1, 0, 1, 1, 1, 0}},
                              {"strides", Ints{1, 2, 1}},
                              {"count_include_pad", int64_t(1)}};
  expect_equal_pools("AveragePool", {2, 5, 4, 6, 5}, counted);
  expect_equal_pools("MaxPool", {0, 5, 4, 6, 5}, {{"kernel_shape", Ints{2, 2, 2}}});
  expect_equal_pools("MaxPool", {1, 4, 5, 6, 7}, {{"kernel_shape", Ints{2, 2, 2}}, {"dilations", Ints{2, 1, 3}}});
}

const OpTest volume_conv("Conv", volume_conv_cases(), {.domain = "retort", .tolerance = 16, .weights = {1}});

}  // namespace
}  // namespace retort::ops
