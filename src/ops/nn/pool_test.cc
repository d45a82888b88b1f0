#include <gtest/gtest.h>

#include <cmath>

#include "ops/op_test.h"

namespace retort::ops {
namespace {

using Ints = std::vector<int64_t>;

Tensor nine() { return f32({1, 1, 3, 3}, {1, 2, 3, 4, 5, 6, 7, 8, 9}); }

// Windows of every kind on one, two and three spatial axes, which only compare kernels; `indices`: also with a second
// output.
std::vector<OpCase> windows(std::vector<OpCase> own, bool indices = false) {
  const auto add = [&](const char* about, Attributes attributes, Shape shape) {
    own.push_back(
        {.about = about, .attributes = std::move(attributes), .inputs = {random(std::move(shape))}, .output_count = 1});
  };
  const Ints two{2, 2}, three{3, 3}, pads{1, 0, 2, 1};
  add("one axis", {{"kernel_shape", Ints{3}}, {"strides", Ints{2}}, {"pads", Ints{1, 1}}}, {2, 5, 37});
  add("strides and uneven pads", {{"kernel_shape", three}, {"strides", Ints{2, 1}}, {"pads", pads}}, {2, 3, 17, 19});
  add("a global window", {{"kernel_shape", Ints{7, 5}}}, {2, 3, 7, 5});
  add("the last window extends beyond the input",
      {{"kernel_shape", three}, {"strides", two}, {"ceil_mode", int64_t(1)}}, {1, 3, 8, 10});
  add("extends beyond the padding",
      {{"kernel_shape", three}, {"strides", three}, {"pads", Ints{1, 1, 1, 1}}, {"ceil_mode", int64_t(1)}},
      {1, 3, 9, 8});
  add("SAME_UPPER", {{"kernel_shape", two}, {"auto_pad", std::string("SAME_UPPER")}}, {1, 3, 9, 8});
  add("SAME_LOWER", {{"kernel_shape", Ints{4, 2}}, {"strides", two}, {"auto_pad", std::string("SAME_LOWER")}},
      {1, 3, 9, 8});
  add("VALID", {{"kernel_shape", two}, {"strides", two}, {"auto_pad", std::string("VALID")}}, {1, 3, 9, 8});
  add("dilated", {{"kernel_shape", three}, {"dilations", Ints{2, 3}}, {"pads", Ints{1, 2, 1, 2}}}, {1, 3, 9, 11});
  add("three axes", {{"kernel_shape", Ints{2, 3, 2}}, {"strides", Ints{1, 2, 1}}, {"pads", Ints{0, 1, 1, 0, 1, 1}}},
      {1, 2, 5, 6, 7});
  add("three axes, wide",
      {{"kernel_shape", Ints{3, 2, 3}},
       {"strides", Ints{2, 1, 2}},
       {"dilations", Ints{1, 2, 1}},
       {"ceil_mode", int64_t(1)}},
      {2, 3, 6, 5, 43});
  own.push_back({.about = "no images",
                 .attributes = {{"kernel_shape", two}},
                 .inputs = {f32({0, 3, 4, 4}, {})},
                 .outputs = {f32({0, 3, 3, 3}, {})}});
  for (size_t i = 0, count = own.size(); indices && i < count; ++i) {
    if (!own[i].outputs.empty()) continue;
    own.push_back(own[i]);
    own.back().output_count = 2;
  }
  return own;
}

const OpTest max_pool_examples(
    "MaxPool",
    windows({{.about = "with indices",
              .attributes = {{"kernel_shape", Ints{2, 2}}},
              .inputs = {f32({1, 2, 2, 3}, {1, 5, 2, 5, 5, 3, -1, -2, -3, -4, -5, -1})},
              .outputs = {f32({1, 2, 1, 2}, {5, 5, -1, -1}), i64({1, 2, 1, 2}, {1, 1, 6, 11})}},
             {.about = "column-major indices",
              .attributes = {{"kernel_shape", Ints{2, 2}}, {"storage_order", int64_t(1)}},
              .inputs = {nine()},
              .outputs = {f32({1, 1, 2, 2}, {5, 6, 8, 9}), i64({1, 1, 2, 2}, {4, 7, 5, 8})}},
             {.about = "SAME leaves out elements at both ends where strides are longer than windows",
              .attributes = {{"kernel_shape", Ints{1}}, {"strides", Ints{4}}, {"auto_pad", std::string("SAME_LOWER")}},
              .inputs = {f32({1, 1, 11}, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11})},
              .outputs = {f32({1, 1, 3}, {2, 6, 10})}},
             {.about = "NaN wins, with an index or without",
              .attributes = {{"kernel_shape", Ints{2}}},
              .inputs = {f32({1, 1, 4}, {1, kNaN, 3, 4})},
              .outputs = {f32({1, 1, 3}, {kNaN, kNaN, 4}), i64({1, 1, 3}, {1, 1, 3})}},
             {.about = "of elements that are minus infinity, the first has the index",
              .attributes = {{"kernel_shape", Ints{2, 2}}, {"pads", Ints{0, 1, 0, 0}}},
              .inputs = {f32({1, 1, 2, 3}, {-kInf, -kInf, -kInf, -kInf, -kInf, -5})},
              .outputs = {f32({1, 1, 1, 3}, {-kInf, -kInf, -5}), i64({1, 1, 1, 3}, {0, 0, 5})}},
             {.about = "the first NaN has the index, and follows minus infinity",
              .attributes = {{"kernel_shape", Ints{3}}},
              .inputs = {f32({1, 1, 5}, {-kInf, kNaN, kNaN, kInf, -kInf})},
              .outputs = {f32({1, 1, 3}, {kNaN, kNaN, kNaN}), i64({1, 1, 3}, {1, 1, 2})}},
             {.about = "padding is lower than everything",
              .attributes = {{"kernel_shape", Ints{2}}, {"pads", Ints{1, 0}}},
              .inputs = {f32({1, 1, 2}, {-3, -5})},
              .outputs = {f32({1, 1, 2}, {-3, -3})}},
             {.about = "bytes",
              .attributes = {{"kernel_shape", Ints{2}}},
              .inputs = {u8({1, 1, 3}, {200, 7, 255})},
              .outputs = {u8({1, 1, 2}, {200, 255})},
              .fixed_types = true}},
            true));

const OpTest average_pool_examples(
    "AveragePool",
    windows(
        {{.about = "padding does not count",
          .attributes = {{"kernel_shape", Ints{2, 2}}, {"pads", Ints{1, 1, 0, 0}}, {"strides", Ints{2, 2}}},
          .inputs = {nine()},
          .outputs = {f32({1, 1, 2, 2}, {1, 2.5f, 5.5f, 7})}},
         {.about = "padding counts",
          .attributes = {{"kernel_shape", Ints{2, 2}},
                         {"pads", Ints{1, 1, 0, 0}},
                         {"strides", Ints{2, 2}},
                         {"count_include_pad", int64_t(1)}},
          .inputs = {nine()},
          .outputs = {f32({1, 1, 2, 2}, {0.25f, 1.25f, 2.75f, 7})}},
         {.about = "SAME leaves out elements at both ends where strides are longer than windows",
          .attributes = {{"kernel_shape", Ints{1}}, {"strides", Ints{4}}, {"auto_pad", std::string("SAME_UPPER")}},
          .inputs = {f32({1, 1, 11}, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11})},
          .outputs = {f32({1, 1, 3}, {2, 6, 10})}},
         {.about = "elements beyond the padding never count",
          .attributes = {{"kernel_shape", Ints{3}},
                         {"pads", Ints{1, 1}},
                         {"strides", Ints{3}},
                         {"ceil_mode", int64_t(1)},
                         {"count_include_pad", int64_t(1)}},
          .inputs = {f32({1, 1, 3}, {3, 6, 8})},
          .outputs = {f32({1, 1, 2}, {3, 4})}},
         {.about = "padding on both ends counts",
          .attributes = {{"kernel_shape", Ints{3, 3}}, {"pads", Ints{1, 2, 2, 1}}, {"count_include_pad", int64_t(1)}},
          .inputs = {random({2, 3, 8, 9})}},
         {.about = "NaN affects only its windows",
          .attributes = {{"kernel_shape", Ints{2}}},
          .inputs = {f32({1, 1, 4}, {kNaN, 1, 3, 5})},
          .outputs = {f32({1, 1, 3}, {kNaN, 2, 4})}}}));

const OpTest lp_pool(
    "LpPool",
    windows({{.about = "Pythagoras",
              .attributes = {{"kernel_shape", Ints{2}}},
              .inputs = {f32({1, 1, 3}, {3, -4, 0})},
              .outputs = {f32({1, 1, 2}, {5, 4})}},
             {.about = "SAME leaves out elements at both ends where strides are longer than windows",
              .attributes = {{"kernel_shape", Ints{1}}, {"strides", Ints{4}}, {"auto_pad", std::string("SAME_LOWER")}},
              .inputs = {f32({1, 1, 10}, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10})},
              .outputs = {f32({1, 1, 3}, {1, 5, 9})}},
             {.about = "cubes",
              .attributes = {{"kernel_shape", Ints{2}}, {"p", int64_t(3)}},
              .inputs = {f32({1, 1, 3}, {3, -4, 0})},
              .outputs = {f32({1, 1, 2}, {4.4979414f, 4})}},
             {.about = "sums",
              .attributes = {{"kernel_shape", Ints{2}}, {"p", int64_t(1)}, {"pads", Ints{0, 1}}},
              .inputs = {f32({1, 1, 2}, {3, -4})},
              .outputs = {f32({1, 1, 2}, {7, 4})}},
             {.about = "p = 0: the count to the power of infinity, without padding",
              .attributes = {{"kernel_shape", Ints{2}}, {"p", int64_t(0)}, {"pads", Ints{1, 1}}},
              .inputs = {f32({1, 1, 3}, {1, kNaN, 0})},
              .outputs = {f32({1, 1, 4}, {1, INFINITY, INFINITY, 1})}},
             {.about = "reciprocals",
              .attributes = {{"kernel_shape", Ints{2}}, {"p", int64_t(-1)}, {"pads", Ints{0, 1}}},
              .inputs = {f32({1, 1, 3}, {0, 2, -2})},
              .outputs = {f32({1, 1, 3}, {0, 1, 2})}}}));

std::vector<OpCase> over_all(std::vector<OpCase> own) {
  own.push_back({.about = "images", .inputs = {random({2, 5, 9, 13})}});
  own.push_back({.about = "lines", .inputs = {random({3, 67, 5})}});
  own.push_back({.about = "no spatial axes", .inputs = {random({3, 5}, 1, 0.5, 4)}});
  own.push_back({.about = "no images", .inputs = {f32({0, 3, 4}, {})}, .outputs = {f32({0, 3, 1}, {})}});
  return own;
}
Tensor two_planes() { return f32({1, 2, 2, 2}, {1, 2, 3, 6, -4, -3, 0, 0}); }
const OpTest global_average_examples(
    "GlobalAveragePool",
    over_all({{.about = "means", .inputs = {two_planes()}, .outputs = {f32({1, 2, 1, 1}, {3, -1.75f})}},
              {.about = "NaN affects only its plane",
               .inputs = {f32({1, 2, 2}, {kNaN, 1, 2, 4})},
               .outputs = {f32({1, 2, 1}, {kNaN, 3})}}}));
const OpTest global_max(
    "GlobalMaxPool", over_all({{.about = "largest", .inputs = {two_planes()}, .outputs = {f32({1, 2, 1, 1}, {6, 0})}},
                               {.about = "NaN wins in its plane, infinities stay",
                                .inputs = {f32({1, 4, 2}, {kNaN, 1, 1, kNaN, -INFINITY, -INFINITY, INFINITY, 1})},
                                .outputs = {f32({1, 4, 1}, {kNaN, kNaN, -INFINITY, INFINITY})}}}));
const OpTest global_lp(
    "GlobalLpPool",
    over_all({{.about = "lengths", .inputs = {two_planes()}, .outputs = {f32({1, 2, 1, 1}, {7.07106781f, 5})}},
              {.about = "sums",
               .attributes = {{"p", int64_t(1)}},
               .inputs = {two_planes()},
               .outputs = {f32({1, 2, 1, 1}, {12, 7})}},
              {.about = "p = 0: the count to the power of infinity",
               .attributes = {{"p", int64_t(0)}},
               .inputs = {two_planes()},
               .outputs = {f32({1, 2, 1, 1}, {INFINITY, INFINITY})}}}));

TEST(MaxPool, StorageOrderIsZeroOrOne) {
  const auto run = [](int64_t order) {
    OpRun("", "MaxPool", {{"kernel_shape", Ints{2}}, {"storage_order", order}}, {f32({1, 1, 2}, {1, 2})}, 1).run();
  };
  EXPECT_NO_THROW(run(1));
  EXPECT_THROW(run(2), Error);
}

}  // namespace
}  // namespace retort::ops
