#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "ops/op_test.h"

namespace retort::ops {
namespace {

using Ints = std::vector<int64_t>;
// 0 1 2 / 3 4 5 / 6 7 8
const Tensor kDeformed = f32({1, 1, 3, 3}, {0, 1, 2, 3, 4, 5, 6, 7, 8});

OpCase compared(const char* about, Attributes attributes, Shape x, Shape w, Shape offset, int64_t bias = 0,
                Shape mask = {}) {
  OpCase c{.about = about,
           .attributes = std::move(attributes),
           .inputs = {random(std::move(x)), random(std::move(w), 2), random(std::move(offset), 3, -2.5, 2.5)}};
  c.inputs.push_back(bias ? random({bias}, 4) : Tensor());
  c.inputs.push_back(mask.rank() ? random(std::move(mask), 5, -1, 1) : Tensor());
  return c;
}

const OpTest deform_conv(
    "DeformConv",
    {{.about = "taps at pixels, between them, half and wholly outside",
      .inputs = {kDeformed, f32({1, 1, 1, 1}, {2}),
                 f32({1, 2, 3, 3}, {0, 0, 0, 0.5f, 0.5f, -1, -1, 1, 0.5f, 0, 0.5f, 1, 0, 0.25f, 0, 0, 0, 0})},
      .outputs = {f32({1, 1, 3, 3}, {0, 3, 0, 9, 11.5f, 4, 6, 0, 8})}},
     {.about = "a mask and a bias, one row of two taps",
      .inputs = {kDeformed, f32({1, 1, 1, 2}, {1, 10}), f32({1, 4, 3, 2}, std::vector<float>(24, 0.0f)),
                 f32({1}, {100}), f32({1, 2, 3, 2}, {1, 1, 1, 1, 1, 0, 0, 1, 1, 1, 1, 0.5f})},
      .outputs = {f32({1, 1, 3, 2}, {100, 121, 143, 154, 176, 140})}},
     {.about = "groups of channels share offsets",
      .attributes = {{"group", int64_t(2)}, {"offset_group", int64_t(2)}},
      .inputs = {f32({1, 2, 1, 2}, {1, 2, 3, 4}), f32({2, 1, 1, 1}, {1, 10}),
                 f32({1, 4, 1, 2}, {0, 0, 1, -1, 0, 0, 0.5f, 0})},
      .outputs = {f32({1, 2, 1, 2}, {2, 1, 35, 40})}},
     {.about = "one axis",
      .attributes = {{"pads", Ints{1, 0}}, {"strides", Ints{2}}},
      .inputs = {f32({1, 1, 4}, {1, 2, 3, 4}), f32({1, 1, 2}, {1, 10}), f32({1, 2, 2}, {0, 0, 0, -0.5f})},
      .outputs = {f32({1, 1, 2}, {10, 27})}},
     {.about = "NaN positions, and far away",
      .inputs = {f32({1, 1, 1, 5}, {1, 1, 1, 1, 1}), f32({1, 1, 1, 1}, {1}),
                 f32({1, 2, 1, 5}, {kNaN, kInf, -kInf, 1e30f, 0, 0, 0, 0, 0, 3e9f})},
      .outputs = {f32({1, 1, 1, 5}, {0, 0, 0, 0, 0})},
      .fixed_types = true},
     {.about = "NaN affects only results that depend on it",
      .inputs = {f32({1, 1, 1, 4}, {kNaN, 1, 2, 3}), f32({1, 1, 1, 1}, {1}),
                 f32({1, 2, 1, 4}, {0, 0, 0, 0, 0, -0.5f, 0, 0.5f})},
      .outputs = {f32({1, 1, 1, 4}, {kNaN, kNaN, 2, 1.5f})},
      .fixed_types = true},
     {.about = "no images",
      .inputs = {f32({0, 1, 3, 4}, {}), f32({1, 1, 1, 1}, {1}), f32({0, 2, 3, 4}, {})},
      .outputs = {f32({0, 1, 3, 4}, {})}},
     {.about = "no channels: only the bias",
      .inputs = {f32({1, 0, 1, 2}, {}), f32({2, 0, 1, 1}, {}), f32({1, 2, 1, 2}, {0, 0, 0, 0}), f32({2}, {1, 2})},
      .outputs = {f32({1, 2, 1, 2}, {1, 1, 2, 2})}},
     compared("3x3, masked", {{"pads", Ints{1, 1, 1, 1}}}, {2, 5, 9, 11}, {7, 5, 3, 3}, {2, 18, 9, 11}, 7,
              {2, 9, 9, 11}),
     compared("uneven everything", {{"pads", Ints{0, 2, 3, 1}}, {"strides", Ints{2, 3}}, {"dilations", Ints{3, 2}}},
              {1, 3, 17, 19}, {5, 3, 2, 3}, {1, 12, 9, 6}, 5),
     compared("two groups, three offset groups",
              {{"group", int64_t(2)}, {"offset_group", int64_t(3)}, {"pads", Ints{1, 1, 1, 1}}}, {2, 6, 7, 9},
              {4, 3, 3, 3}, {2, 54, 7, 9}, 4, {2, 27, 7, 9}),
     compared("depthwise", {{"group", int64_t(6)}}, {1, 6, 9, 11}, {6, 1, 3, 3}, {1, 18, 7, 9}),
     compared("three axes", {{"pads", Ints{1, 0, 1, 0, 1, 1}}, {"strides", Ints{1, 2, 1}}}, {1, 2, 5, 6, 7},
              {3, 2, 2, 3, 2}, {1, 36, 5, 3, 8}, 3, {1, 12, 5, 3, 8}),
     compared("more pixels than a block", {{"pads", Ints{1, 1, 1, 1}}}, {1, 40, 23, 29}, {3, 40, 3, 3}, {1, 18, 23, 29},
              3)},
    {.tolerance = 8});

std::string refusal(const Attributes& attributes, std::vector<Tensor> inputs) {
  try {
    OpRun("", "DeformConv", attributes, std::move(inputs), 1).run();
  } catch (const Error& e) {
    return e.message();
  }
  return "none";
}

TEST(DeformConv, ShapesThatDoNotFitAreNamed) {
  const Tensor w = f32({1, 1, 1, 1}, {1}), offset = f32({1, 2, 3, 3}, std::vector<float>(18, 0.0f));
  EXPECT_EQ(refusal({}, {kDeformed, w, offset}), "none");
  EXPECT_EQ(refusal({}, {kDeformed, w, f32({1, 1, 3, 3}, std::vector<float>(9, 0.0f))}),
            "offset of shape [1,1,3,3], expected [1,2,3,3]");
  EXPECT_EQ(refusal({}, {kDeformed, w, offset, kNone, f32({1, 1, 3, 2}, std::vector<float>(6, 0.0f))}),
            "mask of shape [1,1,3,2], expected [1,1,3,3]");
  EXPECT_EQ(refusal({}, {kDeformed, w, offset, f32({2}, {1, 2})}), "a bias of shape [2] for 1 outputs");
  EXPECT_EQ(refusal({{"offset_group", int64_t(2)}}, {kDeformed, w, offset}),
            "1 channels cannot be divided into 2 offset groups");
  EXPECT_EQ(refusal({{"kernel_shape", Ints{2, 1}}}, {kDeformed, w, offset}),
            "kernel_shape is [2,1], but the weights have shape [1,1,1,1]");
  EXPECT_EQ(refusal({{"strides", Ints{1}}}, {kDeformed, w, offset}), "attribute 'strides' has 1 entries, not 2");
  EXPECT_NE(refusal({{"group", int64_t(1) << 62}}, {kDeformed, w, offset}), "none");
}

// Without elements, extents may have any size.
TEST(DeformConv, NoWeightsOfAHugeKernel) {
  const Attributes pads{{"pads", Ints{1000, 0, 1 << 30, 1 << 26}}};
  const Tensor x = f32({1, 1, 1, 1}, {1}), w = f32({0, 1, 1 << 30, 1 << 26}, {});
  EXPECT_NE(refusal(pads, {x, w, f32({1, 1, 1, 1}, {0})}), "none");
}

}  // namespace
}  // namespace retort::ops
