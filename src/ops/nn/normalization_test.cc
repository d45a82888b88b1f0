#include <gtest/gtest.h>

#include <cmath>

#include "base/error.h"
#include "ops/op_test.h"

namespace retort::ops {
namespace {

Tensor rows() { return f32({2, 3}, {1, 2, 4, -1, 0, 1}); }
Tensor gamma() { return f32({3}, {1, 2, -1}); }
Tensor beta() { return f32({3}, {0, 1, 0.5f}); }

const OpTest layer(
    "LayerNormalization",
    {{.about = "rows, with statistics",
      .inputs = {rows(), gamma(), beta()},
      .outputs = {f32({2, 3}, {-1.06904153f, 0.465479234f, -0.836301914f, -1.22473569f, 1, -0.724735686f}),
                  f32({2, 1}, {2.33333333f, 0}), f32({2, 1}, {0.801781149f, 1.22473569f})},
      .fixed_types = true},
     {.about = "all axes, no bias",
      .attributes = {{"axis", int64_t(0)}, {"epsilon", 0.25f}},
      .inputs = {rows(), f32({2, 3}, {1, 2, 3, 4, 5, 6})},
      .outputs = {f32({2, 3}, {-0.101015254f, 1.01015254f, 5.15177798f, -5.25279323f, -3.53553391f, -0.606091527f})}},
     {.about = "NaN affects only its row",
      .inputs = {f32({2, 2}, {kNaN, 1, 1, -1}), f32({2}, {1, 1})},
      .outputs = {f32({2, 2}, {kNaN, kNaN, 0.999995f, -0.999995f})}},
     {.about = "long rows", .inputs = {random({5, 1027}), random({1027}, 2), random({1027}, 3)}},
     {.about = "two axes",
      .attributes = {{"axis", int64_t(1)}},
      .inputs = {random({3, 5, 7}), random({5, 7}, 2)},
      .output_count = 1},
     {.about = "a scale that is as long as a row but along another axis",
      .inputs = {random({2, 3, 6}), random({2, 3, 1}, 2)},
      .output_count = 1},
     {.about = "a scale and a bias that broadcast",
      .inputs = {random({2, 3, 5}), random({3, 1}, 2), random({1}, 3)},
      .output_count = 1},
     {.about = "no rows", .inputs = {f32({0, 3}, {}), gamma()}, .outputs = {f32({0, 3}, {})}}},
    {.tolerance = 8});

const OpTest rms(
    "RMSNormalization",
    {{.about = "rows",
      .inputs = {rows(), gamma()},
      .outputs = {f32({2, 3}, {0.377964203f, 1.51185681f, -1.51185681f, -1.22473569f, 0, -1.22473569f})},
      .fixed_types = true},
     {.about = "long rows", .inputs = {random({5, 1027}), random({1027}, 2)}, .fixed_types = true},
     {.about = "two axes",
      .attributes = {{"axis", int64_t(-2)}},
      .inputs = {random({3, 5, 7}), random({5, 7}, 2)},
      .fixed_types = true},
     {.about = "a scale across rows", .inputs = {random({2, 3, 6}), random({2, 3, 1}, 2)}, .fixed_types = true},
     {.about = "the result has the type of the scale",
      .inputs = {cast_to(rows(), DType::f16), f32({3}, {1, 2, -1})},
      .outputs = {f32({2, 3}, {0.377964203f, 1.51185681f, -1.51185681f, -1.22473569f, 0, -1.22473569f})},
      .fixed_types = true},
     {.about = "half precision",
      .inputs = {cast_to(random({3, 67}), DType::f16), cast_to(random({67}, 2), DType::f16)},
      .fixed_types = true}},
    {.tolerance = 8});

const OpTest simplified(
    "SimplifiedLayerNormalization",
    {{.about = "rows",
      .inputs = {rows(), gamma()},
      .outputs = {f32({2, 3}, {0.377964203f, 1.51185681f, -1.51185681f, -1.22473569f, 0, -1.22473569f}),
                  f32({2, 1}, {0.377964203f, 1.22473569f})},
      .fixed_types = true},
     {.about = "long rows", .inputs = {random({5, 1027}), random({1027}, 2)}, .fixed_types = true},
     {.about = "a scale across rows", .inputs = {random({2, 3, 6}), random({2, 3, 1}, 2)}, .fixed_types = true}},
    {.tolerance = 8});

const OpTest skip_layer(
    "SkipLayerNormalization",
    {{.about = "the sum of input, skip and bias",
      .inputs = {f32({1, 3}, {1, 2, 3}), f32({1, 3}, {1, -1, 0}), gamma(), beta(), f32({3}, {0.5f, 0, 1})},
      .outputs = {f32({1, 3}, {0, -1.44948974f, -0.724744871f}), f32({1, 1}, {2.5f}), f32({1, 1}, {0.816496581f}),
                  f32({1, 3}, {2.5f, 1, 4})}},
     {.about = "no optional inputs or outputs",
      .inputs = {random({2, 3, 67}), random({2, 3, 67}, 2), random({67}, 3)},
      .output_count = 1},
     {.about = "one skip for all of the batch",
      .inputs = {random({2, 3, 67}), random({1, 3, 67}, 2), random({67}, 3), random({67}, 4), random({67}, 5)}},
     {.about = "one skip without batch",
      .inputs = {random({2, 3, 67}), random({3, 67}, 2), random({67}, 3), {}, random({67}, 5)}},
     {.about = "no rows", .inputs = {f32({0, 3}, {}), f32({0, 3}, {}), gamma()}}},
    {.domain = "com.microsoft", .tolerance = 8});

const OpTest skip_rms("SkipSimplifiedLayerNormalization",
                      {{.about = "the sum of input, skip and bias",
                        .inputs = {f32({1, 3}, {1, 2, 3}), f32({1, 3}, {1, -1, 0}), gamma(), f32({3}, {0.5f, 0, 1})},
                        .outputs = {f32({1, 3}, {0.89802651f, 0.718421208f, -1.43684242f}),
                                    {},
                                    f32({1, 1}, {0.359210604f}),
                                    f32({1, 3}, {2.5f, 1, 4})}},
                       {.about = "no optional inputs or outputs",
                        .inputs = {random({2, 3, 67}), random({2, 3, 67}, 2), random({67}, 3)},
                        .output_count = 1},
                       {.about = "one skip for all of the batch",
                        .inputs = {random({2, 3, 67}), random({1, 3, 67}, 2), random({67}, 3), random({67}, 5)}}},
                      {.domain = "com.microsoft", .tolerance = 8});

const OpTest batch(
    "BatchNormalization",
    {{.about = "statistics of the channels as given",
      .inputs = {f32({1, 2, 2}, {1, 2, 3, -4}), f32({2}, {2, 1}), f32({2}, {0, 1}), f32({2}, {1, 0}),
                 f32({2}, {4, 0.25f})},
      .outputs = {f32({1, 2, 2}, {0, 0.99999875f, 6.99988f, -6.99984f})}},
     {.about = "training",
      .attributes = {{"training_mode", int64_t(1)}, {"momentum", 0.5f}},
      .inputs = {f32({1, 2, 2}, {1, 2, 3, -4}), f32({2}, {2, 1}), f32({2}, {0, 1}), f32({2}, {1, 0}),
                 f32({2}, {4, 0.25f})},
      .outputs = {f32({1, 2, 2}, {-1.99996f, 1.99996f, 1.99999959f, 4.08163015e-07f}), f32({2}, {1.25f, -0.25f}),
                  f32({2}, {2.125f, 6.25f})}},
     {.about = "other shapes",
      .inputs = {random({3, 5, 7, 2}), random({5}, 2), random({5}, 3), random({5}, 4), random({5}, 5, 0.5, 4)},
      .output_count = 1},
     {.about = "a mean far from 0",
      .inputs = {random({2, 3, 40}, 1, 995, 1005), random({3}, 2), random({3}, 3), random({3}, 4, 999.9, 1000.1),
                 random({3}, 5, 0.5, 4)},
      .output_count = 1},
     {.about = "rows of channels",
      .inputs = {random({701, 29}), random({29}, 2), random({29}, 3), random({29}, 4), random({29}, 5, 0.5, 4)},
      .output_count = 1},
     {.about = "images of more than one task",
      .inputs = {random({2, 3, 91, 67}), random({3}, 2), random({3}, 3), random({3}, 4), random({3}, 5, 0.5, 4)},
      .output_count = 1},
     {.about = "pixels that fill no whole number of vectors",
      .inputs = {random({3, 5, 1, 33}), random({5}, 2), random({5}, 3), random({5}, 4), random({5}, 5, 0.5, 4)},
      .output_count = 1},
     {.about = "no images",
      .inputs = {f32({0, 2, 3}, {}), f32({2}, {2, 1}), f32({2}, {0, 1}), f32({2}, {1, 0}), f32({2}, {4, 0.25f})},
      .outputs = {f32({0, 2, 3}, {})}}});

const OpTest group("GroupNormalization",
                   {{.about = "two channels a group",
                     .attributes = {{"num_groups", int64_t(2)}},
                     .inputs = {f32({1, 4, 1}, {1, 3, 0, 8}), f32({4}, {1, 2, 3, 4}), f32({4}, {0, 1, 0, -1})},
                     .outputs = {f32({1, 4, 1}, {-0.999995f, 2.99999f, -2.99999906f, 2.99999875f})}},
                    {.about = "pixels that fill no vector",
                     .attributes = {{"num_groups", int64_t(3)}, {"epsilon", 0.125f}},
                     .inputs = {random({2, 6, 5, 7}), random({6}, 2), random({6}, 3)}},
                    {.about = "channels only",
                     .attributes = {{"num_groups", int64_t(1)}},
                     .inputs = {random({3, 67}), random({67}, 2), random({67}, 3)}},
                    {.about = "no images",
                     .attributes = {{"num_groups", int64_t(1)}},
                     .inputs = {f32({0, 2, 3}, {}), f32({2}, {1, 1}), f32({2}, {0, 0})},
                     .outputs = {f32({0, 2, 3}, {})}}},
                   {.tolerance = 8});

const OpTest instance("InstanceNormalization",
                      {{.about = "each channel alone",
                        .inputs = {f32({1, 2, 3}, {1, 3, 5, 0, 8, 1}), f32({2}, {2, 0.5f}), f32({2}, {1, -1})},
                        .outputs = {f32({1, 2, 3},
                                        {-1.44948515f, 1, 3.44948515f, -1.42146345f, -0.297560919f, -1.28097563f})}},
                       {.about = "images", .inputs = {random({2, 5, 9, 13}), random({5}, 2), random({5}, 3)}},
                       {.about = "no pixels",
                        .inputs = {f32({1, 2, 0}, {}), f32({2}, {1, 1}), f32({2}, {0, 0})},
                        .outputs = {f32({1, 2, 0}, {})}}},
                      {.tolerance = 8});

const OpTest mean_variance(
    "MeanVarianceNormalization",
    {{.about = "each channel over the batch",
      .inputs = {f32({2, 2, 1, 2}, {1, 3, 5, -1, 2, 2, 2, 10})},
      .outputs = {f32({2, 2, 1, 2},
                      {-1.41421356f, 1.41421356f, 0.246182982f, -1.23091491f, 0, 0, -0.492365964f, 1.47709789f})}},
     {.about = "given axes",
      .attributes = {{"axes", std::vector<int64_t>{-2}}},
      .inputs = {f32({2, 2}, {1, 3, 5, -1})},
      .outputs = {f32({2, 2}, {-1, 1, 1, -1})}},
     {.about = "the default axes of a matrix are its first one",
      .inputs = {f32({2, 3}, {1, 3, 5, 3, 1, 5})},
      .outputs = {f32({2, 3}, {-1, 1, 0, 1, -1, 0})}},
     {.about = "axes that do not exist",
      .attributes = {{"axes", std::vector<int64_t>{7, -7, -1}}},
      .inputs = {f32({2, 2}, {1, 3, 5, -1})},
      .outputs = {f32({2, 2}, {-1, 1, 1, -1})}},
     {.about = "a line", .inputs = {random({37})}},
     {.about = "many channels", .inputs = {random({3, 17, 5, 7})}},
     {.about = "each image", .attributes = {{"axes", std::vector<int64_t>{1, 2, 3}}}, .inputs = {random({3, 5, 9, 7})}},
     {.about = "columns", .attributes = {{"axes", std::vector<int64_t>{0, 1}}}, .inputs = {random({5, 9, 33})}},
     {.about = "everything", .attributes = {{"axes", std::vector<int64_t>{0, 1, -1}}}, .inputs = {random({5, 9, 33})}},
     {.about = "every other axis",
      .attributes = {{"axes", std::vector<int64_t>{0, 2}}},
      .inputs = {random({5, 9, 3, 7})}},
     {.about = "no deviation except rounding errors",
      .inputs = {f32({1, 1, 3, 7}, std::vector<float>(21, 0.1f))},
      .outputs = {f32({1, 1, 3, 7}, std::vector<float>(21, 0))},
      .fixed_types = true},
     {.about = "no images", .inputs = {f32({0, 2, 1, 1}, {})}, .outputs = {f32({0, 2, 1, 1}, {})}}});

const OpTest lrn("LRN", {{.about = "three channels",
                          .attributes = {{"size", int64_t(3)}, {"alpha", 0.3f}, {"beta", 0.5f}},
                          .inputs = {f32({1, 4}, {1, 2, 3, 4})},
                          .outputs = {f32({1, 4}, {0.816496581f, 1.29099445f, 1.51910905f, 2.13808994f})}},
                         {.about = "an even size: one more after than before",
                          .attributes = {{"size", int64_t(2)}, {"alpha", 0.2f}, {"beta", 1.0f}, {"bias", 2.0f}},
                          .inputs = {f32({1, 4, 1}, {1, 2, 3, 4})},
                          .outputs = {f32({1, 4, 1}, {0.4f, 0.606060606f, 0.666666667f, 1.11111111f})}},
                         {.about = "a window wider than the image",
                          .attributes = {{"size", int64_t(9)}},
                          .inputs = {random({2, 3, 5, 5})}}});

TEST(InstanceNormalization, ParametersMayBeKnownBeforeChannels) {
  const OpRun run("", "InstanceNormalization", {}, {random({1, 2, 3}), random({2}), random({2})}, 1);
  DimTable dims;
  std::vector<Slot> in = run.input_slots();
  in[0].type.shape[1] = dims.fresh();
  EXPECT_NO_THROW(run.infer(dims, in));
  in[0].type.shape[1] = 3;
  EXPECT_THROW(run.infer(dims, in), Error);
  in[1].type.shape[0] = in[2].type.shape[0] = dims.fresh();
  EXPECT_NO_THROW(run.infer(dims, in));
}

TEST(RowParameters, AreAsLongAsARow) {
  const Tensor x = random({2, 3, 4}), row = random({4}), one = random({1}), column = random({3, 1});
  const auto run = [](const char* op, std::vector<Tensor> inputs) {
    OpRun("com.microsoft", op, {}, std::move(inputs), 1).run();
  };
  for (const Tensor& wrong : {one, column}) {
    EXPECT_THROW(run("SkipLayerNormalization", {x, x, wrong}), Error);
    EXPECT_THROW(run("SkipLayerNormalization", {x, x, row, wrong}), Error);
    EXPECT_THROW(run("SkipLayerNormalization", {x, x, row, row, wrong}), Error);
    EXPECT_THROW(run("SkipSimplifiedLayerNormalization", {x, x, wrong}), Error);
    EXPECT_THROW(run("SkipSimplifiedLayerNormalization", {x, x, row, wrong}), Error);
    EXPECT_THROW(run("BiasGelu", {x, wrong}), Error);
    EXPECT_THROW(run("FastGelu", {x, wrong}), Error);
  }
}

}  // namespace
}  // namespace retort::ops
