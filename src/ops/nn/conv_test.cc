#include <gtest/gtest.h>

#include <cmath>

#include "ops/op_test.h"

namespace retort::ops {
namespace {

using Ints = std::vector<int64_t>;

OpCase compared(const char* about, Attributes attributes, Shape x, Shape w, int64_t bias = 0) {
  OpCase c{
      .about = about, .attributes = std::move(attributes), .inputs = {random(std::move(x)), random(std::move(w), 2)}};
  if (bias) c.inputs.push_back(random({bias}, 3));
  return c;
}

const OpTest conv_examples(
    "Conv",
    {{.about = "one tap after the other",
      .inputs = {f32({1, 1, 4}, {1, 2, 3, 4}), f32({1, 1, 2}, {1, -2}), f32({1}, {10})},
      .outputs = {f32({1, 1, 3}, {7, 6, 5})}},
     {.about = "padded, with stride and dilation",
      .attributes = {{"pads", Ints{2, 1}}, {"strides", Ints{2}}, {"dilations", Ints{2}}},
      .inputs = {f32({1, 1, 4}, {1, 2, 3, 4}), f32({1, 1, 2}, {1, 10})},
      .outputs = {f32({1, 1, 3}, {10, 31, 3})}},
     {.about = "groups",
      .attributes = {{"group", int64_t(2)}},
      .inputs = {f32({1, 2, 2}, {1, 2, 3, 4}), f32({4, 1, 1}, {1, 2, 3, 4})},
      .outputs = {f32({1, 4, 2}, {1, 2, 2, 4, 9, 12, 12, 16})}},
     {.about = "NaN affects only results that depend on it",
      .inputs = {f32({1, 1, 4}, {kNaN, 1, 1, 1}), f32({1, 1, 2}, {0, 1})},
      .outputs = {f32({1, 1, 3}, {kNaN, 1, 1})}},
     {.about = "no images",
      .inputs = {f32({0, 1, 4}, {}), f32({2, 1, 2}, {1, 2, 3, 4})},
      .outputs = {f32({0, 2, 3}, {})}},
     {.about = "no channels: only the bias",
      .inputs = {f32({1, 0, 2}, {}), f32({2, 0, 1}, {}), f32({2}, {1, 2})},
      .outputs = {f32({1, 2, 2}, {1, 1, 2, 2})}},
     compared("3x3", {{"pads", Ints{1, 1, 1, 1}}}, {2, 5, 9, 11}, {7, 5, 3, 3}, 7),
     compared("1x1", {}, {2, 17, 9, 11}, {35, 17, 1, 1}),
     compared("uneven everything", {{"pads", Ints{0, 2, 3, 1}}, {"strides", Ints{2, 3}}, {"dilations", Ints{3, 2}}},
              {1, 3, 17, 19}, {5, 3, 2, 3}, 5),
     compared("depthwise", {{"pads", Ints{2, 2, 2, 2}}, {"group", int64_t(6)}}, {2, 6, 9, 11}, {6, 1, 5, 5}, 6),
     compared("a filter for each of many channels",
              {{"pads", Ints{2, 1, 0, 3}}, {"strides", Ints{2, 1}}, {"dilations", Ints{1, 2}}, {"group", int64_t(21)}},
              {3, 21, 9, 11}, {21, 1, 4, 3}, 21),
     compared("a filter for each of many channels of lines", {{"pads", Ints{2, 2}}, {"group", int64_t(8)}}, {2, 8, 19},
              {8, 1, 5}),
     compared("a filter for each channel of volumes", {{"group", int64_t(9)}}, {1, 9, 4, 5, 6}, {9, 1, 2, 3, 2}),
     compared("grouped", {{"group", int64_t(3)}, {"strides", Ints{2, 2}}}, {2, 6, 9, 11}, {9, 2, 3, 3}),
     compared("SAME_UPPER", {{"auto_pad", std::string("SAME_UPPER")}, {"strides", Ints{2, 2}}}, {1, 3, 8, 9},
              {4, 3, 3, 2}),
     compared("SAME_LOWER", {{"auto_pad", std::string("SAME_LOWER")}}, {1, 3, 8, 9}, {4, 3, 2, 4}),
     compared("VALID", {{"auto_pad", std::string("VALID")}}, {1, 3, 8, 9}, {4, 3, 2, 4}),
     compared("three axes", {{"pads", Ints{1, 0, 1, 0, 1, 1}}, {"strides", Ints{1, 2, 1}}}, {1, 2, 5, 6, 7},
              {3, 2, 2, 3, 2}, 3),
     compared("three axes, wide, in groups", {{"pads", Ints{1, 1, 1, 1, 1, 1}}, {"group", int64_t(2)}},
              {2, 4, 3, 5, 37}, {6, 2, 3, 3, 3}, 6),
     compared("many pixels", {{"pads", Ints{1, 1}}}, {1, 3, 5000}, {5, 3, 3})},
    {.tolerance = 8});

const OpTest conv_transpose_examples(
    "ConvTranspose",
    {{.about = "every pixel adds its weights",
      .inputs = {f32({1, 1, 3}, {1, 2, 3}), f32({1, 1, 2}, {1, 10}), f32({1}, {100})},
      .outputs = {f32({1, 1, 4}, {101, 112, 123, 130})}},
     {.about = "strides leave gaps",
      .attributes = {{"strides", Ints{3}}, {"output_padding", Ints{1}}},
      .inputs = {f32({1, 1, 2}, {1, 2}), f32({1, 1, 2}, {1, 10})},
      .outputs = {f32({1, 1, 6}, {1, 10, 0, 2, 20, 0})}},
     {.about = "padding cuts off",
      .attributes = {{"pads", Ints{1, 2}}, {"strides", Ints{2}}},
      .inputs = {f32({1, 1, 3}, {1, 2, 3}), f32({1, 1, 3}, {1, 10, 100})},
      .outputs = {f32({1, 1, 4}, {10, 102, 20, 203})}},
     {.about = "a given output shape: the excess is removed on both sides",
      .attributes = {{"output_shape", Ints{3}}, {"strides", Ints{2}}},
      .inputs = {f32({1, 1, 2}, {1, 2}), f32({1, 1, 3}, {1, 10, 100})},
      .outputs = {f32({1, 1, 3}, {10, 102, 20})}},
     {.about = "SAME with strides longer than the kernel: zeros on both sides",
      .attributes = {{"auto_pad", std::string("SAME_UPPER")}, {"strides", Ints{4}}},
      .inputs = {f32({1, 1, 2}, {1, 2}), f32({1, 1, 1}, {1})},
      .outputs = {f32({1, 1, 8}, {0, 1, 0, 0, 0, 2, 0, 0})}},
     {.about = "groups",
      .attributes = {{"group", int64_t(2)}},
      .inputs = {f32({1, 2, 1}, {1, 2}), f32({2, 2, 1}, {1, 2, 3, 4})},
      .outputs = {f32({1, 4, 1}, {1, 2, 6, 8})}},
     {.about = "no pixels: only the bias",
      .inputs = {f32({2, 1, 0}, {}), f32({1, 2, 3}, {1, 2, 3, 4, 5, 6}), f32({2}, {7, 8})},
      .outputs = {f32({2, 2, 2}, {7, 7, 8, 8, 7, 7, 8, 8})}},
     {.about = "no images",
      .inputs = {f32({0, 1, 3}, {}), f32({1, 2, 2}, {1, 2, 3, 4})},
      .outputs = {f32({0, 2, 4}, {})}},
     compared("three axes", {{"strides", Ints{2, 2, 2}}}, {2, 5, 3, 4, 7}, {5, 3, 2, 2, 2}, 3),
     compared("three axes, uneven, in groups",
              {{"pads", Ints{1, 0, 2, 0, 1, 1}},
               {"strides", Ints{1, 2, 1}},
               {"dilations", Ints{2, 1, 3}},
               {"group", int64_t(2)}},
              {1, 6, 3, 5, 21}, {6, 35, 2, 3, 3}, 70),
     compared("many pixels", {{"pads", Ints{1, 1}}}, {1, 3, 5000}, {3, 5, 3}),
     compared("blocks of two by two, in groups", {{"strides", Ints{2, 2}}, {"group", int64_t(2)}}, {2, 6, 5, 37},
              {6, 21, 2, 2}, 42),
     compared("blocks of no channels", {{"strides", Ints{2}}}, {1, 0, 3}, {0, 5, 2}, 5),
     compared("blocks of four", {{"strides", Ints{4}}}, {1, 3, 2500}, {3, 5, 4}),
     compared("blocks of three by one", {{"strides", Ints{3, 1}}}, {1, 3, 4, 9}, {3, 5, 3, 1}, 5),
     compared("blocks of one by three", {{"strides", Ints{1, 3}}}, {1, 3, 4, 9}, {3, 5, 1, 3}, 5),
     compared("blocks and padding", {{"strides", Ints{2, 2}}, {"pads", Ints{1, 0, 0, 1}}}, {1, 3, 4, 9}, {3, 5, 2, 2},
              5),
     compared("blocks with gaps", {{"strides", Ints{2, 2}}, {"output_padding", Ints{1, 0}}}, {1, 3, 4, 9}, {3, 5, 2, 2},
              5),
     compared("SAME_UPPER", {{"auto_pad", std::string("SAME_UPPER")}, {"strides", Ints{2, 3}}}, {2, 3, 5, 4},
              {3, 2, 3, 4}, 2),
     compared("SAME_LOWER", {{"auto_pad", std::string("SAME_LOWER")}, {"strides", Ints{2, 2}}}, {2, 3, 5, 4},
              {3, 2, 3, 3}),
     compared("uneven everything",
              {{"pads", Ints{0, 2, 1, 1}},
               {"strides", Ints{2, 3}},
               {"dilations", Ints{3, 2}},
               {"output_padding", Ints{1, 2}}},
              {2, 4, 5, 6}, {4, 3, 2, 3}, 3),
     compared("three axes", {{"strides", Ints{1, 2, 1}}, {"group", int64_t(2)}}, {1, 4, 3, 2, 3}, {4, 2, 2, 3, 2}, 4)},
    {.tolerance = 8});

// Empty weights may have any kernel, so nothing may be allocated by its size.
TEST(Convolution, NoFiltersOfAHugeKernel) {
  const Attributes pads{{"pads", std::vector<int64_t>{1000, 0, 1 << 30, 1 << 26}}};
  OpRun("", "Conv", pads, {f32({1, 1, 1, 1}, {1}), f32({0, 1, 1 << 30, 1 << 26}, {})}, 1).run();
  OpRun("", "ConvTranspose", {}, {f32({1, 2, 1, 1}, {1, 2}), f32({2, 0, 1 << 30, 1 << 29}, {})}, 1).run();
}

}  // namespace
}  // namespace retort::ops
