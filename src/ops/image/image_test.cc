#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "ops/op_test.h"

namespace retort::ops {
namespace {

using Ints = std::vector<int64_t>;
Attributes text(const std::string& name, std::string value, Attributes more = {}) {
  more.set(name, std::move(value));
  return more;
}
// 1 2 3 / 4 5 6
const Tensor kImageFile = f32({1, 1, 2, 3}, {1, 2, 3, 4, 5, 6});

const OpTest grid_sample(
    "GridSample", {{.about = "corners of the image, between pixels, outside",
                    .attributes = {{"align_corners", int64_t(1)}},
                    .inputs = {kImageFile, f32({1, 1, 4, 2}, {-1, -1, 1, 1, 0, 0, 2, -1})},
                    .outputs = {f32({1, 1, 1, 4}, {1, 6, 3.5f, 0})},
                    .fixed_types = true},
                   {.about = "-1 and 1 are the outer edges; half of the weight falls outside",
                    .inputs = {kImageFile, f32({1, 1, 2, 2}, {-1, -0.5f, 0, 0})},
                    .outputs = {f32({1, 1, 1, 2}, {0.5f, 3.5f})}},
                   {.about = "reflection",
                    .attributes = text("padding_mode", "reflection",
                                       {{"mode", std::string("nearest")}, {"align_corners", int64_t(1)}}),
                    .inputs = {kImageFile, f32({1, 1, 2, 2}, {2, -1, -2, 1})},
                    .outputs = {f32({1, 1, 1, 2}, {2, 5})}},
                   {.about = "cubic at pixels",
                    .attributes = text("mode", "cubic", {{"align_corners", int64_t(1)}}),
                    .inputs = {kImageFile, f32({1, 1, 2, 2}, {0, -1, 1, 1})},
                    .outputs = {f32({1, 1, 1, 2}, {2, 6})}},
                   {.about = "one axis, two channels, two images",
                    .attributes = {{"align_corners", int64_t(1)}},
                    .inputs = {f32({2, 2, 3}, {0, 2, 4, 1, 3, 5, 6, 8, 10, 7, 9, 11}), f32({2, 1, 1}, {-0.5f, 0.5f})},
                    .outputs = {f32({2, 2, 1}, {1, 2, 9, 10})}},
                   {.about = "three axes", .inputs = {random({1, 3, 4, 5, 3}), random({1, 2, 3, 2, 3}, 2, -1.5, 1.5)}},
                   {.about = "many positions",
                    .attributes = text("mode", "cubic", {{"padding_mode", std::string("reflection")}}),
                    .inputs = {random({2, 3, 9, 7}), random({2, 8, 8, 2}, 2, -2, 2)},
                    .fixed_types = true},
                   {.about = "more points than a block, more channels than four",
                    .inputs = {random({2, 5, 9, 7}), random({2, 31, 19, 2}, 2, -1.25, 1.25)},
                    .fixed_types = true},
                   {.about = "a volume, cubic, border",
                    .attributes = text("mode", "cubic", {{"padding_mode", std::string("border")}}),
                    .inputs = {random({1, 5, 4, 5, 3}), random({1, 3, 4, 5, 3}, 2, -1.5, 1.5)},
                    .fixed_types = true},
                   {.about = "NaN positions, and far away",
                    .inputs = {kImageFile, f32({1, 1, 5, 2}, {kNaN, 0, 0, -kInf, kInf, 0, 1e30f, -1e30f, 3e9f, 0})},
                    .outputs = {f32({1, 1, 1, 5}, {0, 0, 0, 0, 0})},
                    .fixed_types = true},
                   {.about = "far away at the border",
                    .attributes = {{"padding_mode", std::string("border")}},
                    .inputs = {kImageFile, f32({1, 1, 4, 2}, {kInf, 1, -1e30f, -1, kNaN, -1, 3e9f, 3e9f})},
                    .outputs = {f32({1, 1, 1, 4}, {6, 1, 1, 6})},
                    .fixed_types = true},
                   {.about = "NaN only affects its neighbours",
                    .inputs = {f32({1, 1, 1, 4}, {kNaN, 1, 2, 3}), f32({1, 1, 3, 2}, {-1.5f, 0, 0.75f, 0, -0.5f, 0})},
                    .fixed_types = true}});

const OpTest nearest_grid_sample(
    "GridSample",
    {{.about = "nearest, border",
      .attributes = text("mode", "nearest", {{"padding_mode", std::string("border")}}),
      .inputs = {kImageFile, f32({1, 2, 2, 2}, {-5, -5, 5, 5, 0, -1, -0.75f, 1})},
      .outputs = {f32({1, 1, 2, 2}, {1, 6, 2, 4})}},
     {.about = "nearest, some outside",
      .attributes = text("mode", "nearest"),
      .inputs = {random({2, 3, 9, 7}), random({2, 31, 19, 2}, 2, -1.25, 1.25)},
      .fixed_types = true},
     {.about = "nearest, reflection",
      .attributes = text("mode", "nearest", {{"padding_mode", std::string("reflection")}}),
      .inputs = {random({1, 2, 9, 7}), random({1, 21, 19, 2}, 2, -3, 3)},
      .fixed_types = true},
     {.about = "nearest: the middle between two pixels belongs to the even one",
      .attributes = text("mode", "nearest"),
      .inputs = {f32({1, 1, 2, 4}, {1, 2, 3, 4, 5, 6, 7, 8}),
                 f32({1, 1, 6, 2}, {-1, -0.5f, -0.5f, 0, 0, 0.5f, 0.5f, 0, 1, 0, 0.5f, 1})},
      .outputs = {f32({1, 1, 1, 6}, {1, 1, 7, 3, 0, 0})}},
     {.about = "nearest, corners aligned: the middle between two pixels, and one more than the last",
      .attributes = text("mode", "nearest", {{"align_corners", int64_t(1)}}),
      .inputs = {f32({1, 1, 2, 3}, {1, 2, 3, 4, 5, 6}), f32({1, 1, 5, 2}, {-0.5f, 0, 0.5f, 0, 0, 1, 1.5f, 1, 2, 1})},
      .outputs = {f32({1, 1, 1, 5}, {1, 3, 5, 6, 0})}},
     {.about = "nearest, reflection at the edges of pixels",
      .attributes = text("mode", "nearest", {{"padding_mode", std::string("reflection")}}),
      .inputs = {f32({1, 1, 1, 4}, {1, 2, 3, 4}),
                 f32({1, 1, 6, 2}, {-1.25f, 0, 1.25f, 0, 1.75f, 0, -1.75f, 0, 2.75f, 0, -2.75f, 0})},
      .outputs = {f32({1, 1, 1, 6}, {1, 4, 3, 2, 1, 4})}},
     {.about = "nearest, NaN positions, and far away",
      .attributes = text("mode", "nearest"),
      .inputs = {kImageFile, f32({1, 1, 5, 2}, {kNaN, 0, 0, -kInf, kInf, 0, 1e30f, -1e30f, 0, 0})},
      .outputs = {f32({1, 1, 1, 5}, {0, 0, 0, 0, 2})},
      .fixed_types = true},
     {.about = "a volume, nearest, reflection",
      .attributes = text("mode", "nearest", {{"padding_mode", std::string("reflection")}}),
      .inputs = {random({2, 2, 4, 5, 3}), random({2, 3, 4, 5, 3}, 2, -2, 2)},
      .fixed_types = true}});

const OpTest affine_grid("AffineGrid",
                         {{.about = "no grid, of a huge width",
                           .inputs = {f32({0, 2, 3}, {}), i64({4}, {0, 1, 1, int64_t(1) << 60})},
                           .outputs = {f32({0, 1, int64_t(1) << 60, 2}, {})}},
                          {.about = "the identity: centres of pixels",
                           .inputs = {f32({1, 2, 3}, {1, 0, 0, 0, 1, 0}), i64({4}, {1, 1, 2, 2})},
                           .outputs = {f32({1, 2, 2, 2}, {-0.5f, -0.5f, 0.5f, -0.5f, -0.5f, 0.5f, 0.5f, 0.5f})}},
                          {.about = "centres of the corner pixels are -1 and 1; one pixel is at -1",
                           .attributes = {{"align_corners", int64_t(1)}},
                           .inputs = {f32({1, 2, 3}, {2, 0, 1, 0, 1, 3}), i64({4}, {1, 1, 1, 2})},
                           .outputs = {f32({1, 1, 2, 2}, {-1, 2, 3, 2})}},
                          {.about = "a volume",
                           .inputs = {f32({1, 3, 4}, {0, 0, 1, 0, 0, 1, 0, 0, 1, 0, 0, 5}), i64({5}, {1, 1, 2, 1, 1})},
                           .outputs = {f32({1, 2, 1, 1, 3}, {-0.5f, 0, 5, 0.5f, 0, 5})}},
                          {.about = "images", .inputs = {random({3, 2, 3}), i64({4}, {3, 1, 9, 17})}},
                          {.about = "volumes",
                           .attributes = {{"align_corners", int64_t(1)}},
                           .inputs = {random({2, 3, 4}), i64({5}, {2, 3, 3, 5, 7})}}},
                         {.weights = {1}});

// 0 1 2 3 / 4 5 6 7 / 8 9 10 11 / 12 13 14 15
const Tensor kSquare = f32({1, 1, 4, 4}, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15});
const OpTest roi_align(
    "RoiAlign",
    {{.about = "no channels, of a huge height",
      .attributes = {{"output_height", int64_t(1) << 60}, {"sampling_ratio", int64_t(1)}},
      .inputs = {f32({1, 0, 1, 1}, {}), f32({1, 4}, {0, 0, 1, 1}), i64({1}, {0})},
      .outputs = {f32({1, 0, int64_t(1) << 60, 1}, {})}},
     {.about = "one sample in the middle of each bin",
      .attributes = {{"output_height", int64_t(2)}, {"output_width", int64_t(2)}, {"sampling_ratio", int64_t(1)}},
      .inputs = {kSquare, f32({1, 4}, {0.5f, 0.5f, 2.5f, 2.5f}), i64({1}, {0})},
      .outputs = {f32({1, 1, 2, 2}, {2.5f, 3.5f, 6.5f, 7.5f})}},
     {.about = "not shifted, as many samples as pixels",
      .attributes = {{"coordinate_transformation_mode", std::string("output_half_pixel")}},
      .inputs = {kSquare, f32({1, 4}, {0, 0, 2, 2}), i64({1}, {0})},
      .outputs = {f32({1, 1, 1, 1}, {5})}},
     {.about = "the largest part of the interpolation",
      .attributes = {{"mode", std::string("max")}, {"sampling_ratio", int64_t(2)}},
      .inputs = {kSquare, f32({1, 4}, {0.5f, 0.5f, 4.5f, 4.5f}), i64({1}, {0})},
      .outputs = {f32({1, 1, 1, 1}, {15})}},
     {.about = "images and scale",
      .attributes = {{"output_height", int64_t(2)}, {"output_width", int64_t(3)}, {"spatial_scale", 0.5f}},
      .inputs = {random({2, 3, 6, 5}), f32({3, 4}, {0, 0, 6, 6, 2, 1, 9, 7, -2, -2, 20, 3}), i64({3}, {1, 0, 1})},
      .fixed_types = true},
     {.about = "wide bins: pixels between samples do not count",
      .attributes = {{"output_height", int64_t(3)}, {"output_width", int64_t(17)}, {"sampling_ratio", int64_t(2)}},
      .inputs = {random({1, 5, 20, 70}), f32({2, 4}, {1, 2, 69, 18, 3, 3, 4, 5}), i64({2}, {0, 0})},
      .fixed_types = true},
     {.about = "the largest of many samples, in five channels",
      .attributes = {{"mode", std::string("max")}, {"output_height", int64_t(3)}, {"output_width", int64_t(7)}},
      .inputs = {random({2, 5, 20, 40}), f32({3, 4}, {1, 2, 38, 18, 3, 3, 4, 5, -3, -9, 60, 9}), i64({3}, {1, 0, 1})},
      .fixed_types = true},
     {.about = "mirrored, outside, nowhere",
      .attributes = {{"output_height", int64_t(2)}, {"output_width", int64_t(2)}, {"sampling_ratio", int64_t(3)}},
      .inputs = {random({1, 2, 9, 8}), f32({4, 4}, {7, 8, 1, 2, 90, 90, 95, 99, kNaN, 0, 3, 3, -kInf, 0, kInf, 3}),
                 i64({4}, {0, 0, 0, 0})},
      .fixed_types = true},
     {.about = "mirrored, as many samples as pixels",
      .inputs = {random({1, 2, 9, 8}), f32({2, 4}, {7, 8, 1, 2, 7, 2, 1, 8}), i64({2}, {0, 0})},
      .fixed_types = true}});

const OpTest col2im("Col2Im",
                    {{.about = "overlapping blocks add up",
                      .attributes = {{"strides", Ints{1, 1}}},
                      .inputs = {f32({1, 4, 2}, {1, 2, 3, 4, 5, 6, 7, 8}), i64({2}, {2, 3}), i64({2}, {2, 2})},
                      .outputs = {f32({1, 1, 2, 3}, {1, 2 + 3, 4, 5, 6 + 7, 8})}},
                     {.about = "the sum of booleans is true if one is",
                      .inputs = {booleans({1, 2, 3}, {true, false, false, true, true, false}), i64({1}, {4}),
                                 i64({1}, {2})},
                      .outputs = {booleans({1, 1, 4}, {true, true, true, false})},
                      .fixed_types = true},
                     {.about = "integers wrap around",
                      .inputs = {u8({1, 2, 2}, {1, 200, 100, 4}), i64({1}, {3}), i64({1}, {2})},
                      .outputs = {u8({1, 1, 3}, {1, 44, 4})},
                      .fixed_types = true},
                     {.about = "elements beyond the edge are dropped",
                      .attributes = {{"pads", Ints{1, 1}}, {"strides", Ints{2}}},
                      .inputs = {f32({1, 4, 2}, {1, 2, 3, 4, 5, 6, 7, 8}), i64({1}, {2}), i64({1}, {2})},
                      .outputs = {f32({1, 2, 2}, {3, 2, 7, 6})}},
                     {.about = "dilated, with strides",
                      .attributes = {{"dilations", Ints{1, 2}}, {"pads", Ints{1, 0, 0, 2}}, {"strides", Ints{1, 2}}},
                      .inputs = {random({2, 18, 36}), i64({2}, {6, 13}), i64({2}, {2, 3})}},
                     {.about = "blocks side by side",
                      .attributes = {{"strides", Ints{3, 2}}},
                      .inputs = {random({2, 30, 15}), i64({2}, {9, 10}), i64({2}, {3, 2})}},
                     {.about = "blocks side by side, pixels behind them in none",
                      .attributes = {{"strides", Ints{3, 2}}},
                      .inputs = {random({2, 30, 15}), i64({2}, {10, 11}), i64({2}, {3, 2})}},
                     {.about = "no blocks side by side",
                      .attributes = {{"strides", Ints{3}}},
                      .inputs = {random({0, 6, 5}), i64({1}, {15}), i64({1}, {3})}},
                     {.about = "a volume",
                      .attributes = {{"pads", Ints{0, 1, 1, 0, 1, 1}}},
                      .inputs = {random({2, 24, 90}), i64({3}, {4, 5, 4}), i64({3}, {2, 2, 2})}}},
                    {.weights = {1, 2}});

const OpTest max_roi_pool(
    "MaxRoiPool",
    {{.about = "both ends are inside; a bin takes every pixel that it touches",
      .attributes = {{"pooled_shape", Ints{2, 2}}},
      .inputs = {kSquare, f32({2, 5}, {0, 0, 0, 3, 3, 0, 1, 1, 3, 3})},
      .outputs = {f32({2, 1, 2, 2}, {5, 7, 13, 15, 10, 11, 14, 15})}},
     {.about = "scaled, rounded away from zero, at least a pixel wide",
      .attributes = {{"pooled_shape", Ints{1, 1}}, {"spatial_scale", 0.5f}},
      .inputs = {kSquare, f32({3, 5}, {0, 0, 0, 1, 1, 0, 5, 3, 1, 1, 0, 3, 3, 3, 3})},
      .outputs = {f32({3, 1, 1, 1}, {5, 11, 10})}},
     {.about = "outside is empty: 0",
      .attributes = {{"pooled_shape", Ints{1, 2}}},
      .inputs = {f32({1, 1, 1, 2}, {-1, -2}), f32({3, 5}, {0, -2, 0, 1, 0, 0, 9, 9, 12, 12, 0, -1e17f, 0, 1e17f, 0})},
      .outputs = {f32({3, 1, 1, 2}, {0, -1, 0, 0, 0, -1})},
      .fixed_types = true},
     {.about = "NaN wins",
      .attributes = {{"pooled_shape", Ints{1, 2}}},
      .inputs = {f32({1, 1, 2, 4}, {5, 1, 7, 8, 2, kNaN, 3, -kInf}), f32({1, 5}, {0, 0, 0, 3, 1})},
      .outputs = {f32({1, 1, 1, 2}, {kNaN, 8})}},
     {.about = "no pixels",
      .attributes = {{"pooled_shape", Ints{1, 1}}},
      .inputs = {f32({1, 1, 0, 2}, {}), f32({1, 5}, {0, 0, 0, 1, 1})},
      .outputs = {f32({1, 1, 1, 1}, {0})}},
     {.about = "no regions, of a huge height",
      .attributes = {{"pooled_shape", Ints{int64_t(1) << 60, 1}}},
      .inputs = {f32({1, 1, 1, 1}, {1}), f32({0, 5}, {})},
      .outputs = {f32({0, 1, int64_t(1) << 60, 1}, {})}},
     {.about = "images, channels, wide bins and narrow ones",
      .attributes = {{"pooled_shape", Ints{3, 5}}, {"spatial_scale", 0.75f}},
      .inputs = {random({2, 3, 17, 19}),
                 f32({4, 5}, {1, 0, 0, 24, 22, 0, 3, 5, 4, 20, 1, -9, -9, 9, 9, 0, 9, 9, 2, 2})},
      .fixed_types = true}});

TEST(MaxRoiPool, RegionsThatAreNowhereAreNamed) {
  const auto refusal = [](Tensor region) -> std::string {
    try {
      OpRun("", "MaxRoiPool", {{"pooled_shape", Ints{1, 1}}}, {kSquare, std::move(region)}, 1).run();
    } catch (const Error& e) {
      return e.message();
    }
    return "none";
  };
  EXPECT_EQ(refusal(f32({1, 5}, {1, 0, 0, 1, 1})), "region 0 is of image 1, which is outside of [0, 1)");
  EXPECT_EQ(refusal(f32({1, 5}, {kNaN, 0, 0, 1, 1})), "region 0 is of image nan, which is outside of [0, 1)");
  EXPECT_EQ(refusal(f32({2, 5}, {0, 0, 0, 1, 1, 0, 0, kInf, 1, 1})),
            "region 1 ends at inf; coordinates must be finite numbers below 1e18");
  EXPECT_EQ(refusal(f32({1, 4}, {0, 0, 0, 1})),
            "X and rois have shapes [1,1,4,4] and [1,4], expected [N,C,H,W] and [regions,5]");
}

}  // namespace
}  // namespace retort::ops
