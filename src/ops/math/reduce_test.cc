#include <gtest/gtest.h>

#include <limits>

#include "ops/op_test.h"

namespace retort::ops {
namespace {

// The cases that all reductions share: one axis, several, none given, and larger inputs that only compare kernels.
std::vector<OpCase> forms(std::vector<OpCase> own) {
  const Tensor x = f32({2, 3}, {1, 2, 3, 4, 5, 6});
  own.push_back(
      {.about = "middle axis", .inputs = {random({5, 67, 33}, 1, 0.125, 2), i64({1}, {1})}, .output_count = 1});
  own.push_back({.about = "last axis, removed",
                 .attributes = {{"keepdims", int64_t(0)}},
                 .inputs = {random({7, 1025}, 2, 0.125, 2), i64({1}, {-1})},
                 .output_count = 1});
  own.push_back({.about = "outer and inner axes",
                 .inputs = {random({3, 4, 5, 6}, 3, 0.125, 2), i64({2}, {0, 2})},
                 .output_count = 1});
  own.push_back({.about = "all axes",
                 .attributes = {{"keepdims", int64_t(0)}},
                 .inputs = {random({9, 11}, 4, 0.125, 2)},
                 .output_count = 1});
  own.push_back({.about = "an axis given twice",
                 .inputs = {random({3, 5, 7}, 5, 0.125, 2), i64({3}, {1, 0, -2})},
                 .output_count = 1});
  own.push_back({.about = "empty axes", .inputs = {x, i64({0}, {})}, .output_count = 1});
  own.push_back({.about = "no axes at all",
                 .attributes = {{"noop_with_empty_axes", int64_t(1)}},
                 .inputs = {x},
                 .output_count = 1});
  own.push_back({.about = "a scalar", .inputs = {f32({}, {3})}, .output_count = 1});
  own.push_back(
      {.about = "axes that a scalar does not have", .inputs = {f32({}, {3}), i64({2}, {0, 4})}, .output_count = 1});
  return own;
}

OpCase rows(const std::vector<float>& expected, double tolerance = 1) {
  return {.about = "rows",
          .inputs = {f32({2, 3}, {1, 2, 3, 4, 5, 6}), i64({1}, {1})},
          .outputs = {f32({2, 1}, expected)},
          .tolerance = tolerance};
}
OpCase nothing(float expected) {
  return {.about = "over nothing",
          .inputs = {f32({2, 0}, {}), i64({1}, {1})},
          .outputs = {f32({2, 1}, {expected, expected})}};
}
OpCase squares(float expected) {
  return {.about = "no axes: only the elementwise part is done",
          .attributes = {{"noop_with_empty_axes", int64_t(1)}},
          .inputs = {f32({1}, {3})},
          .outputs = {f32({1}, {expected})}};
}

const OpTest sum("ReduceSum",
                 forms({rows({6, 15}),
                        nothing(0),
                        {.about = "an axis given twice is summed once",
                         .attributes = {{"keepdims", int64_t(0)}},
                         .inputs = {f32({2, 2}, {1, 2, 3, 4}), i64({2}, {0, -2})},
                         .outputs = {f32({2}, {4, 6})}},
                        {.about = "wraps",
                         .inputs = {i32({2}, {INT32_MAX, 1})},
                         .outputs = {i32({1}, {INT32_MIN})},
                         .fixed_types = true}}),
                 {.tolerance = 4});
const OpTest mean(
    "ReduceMean",
    forms({rows({2, 5}),
           {.about = "over nothing", .inputs = {f32({1, 0}, {}), i64({1}, {1})}, .outputs = {f32({1, 1}, {kNaN})}},
           {.about = "truncates", .inputs = {i64({2}, {-3, 0})}, .outputs = {i64({1}, {-1})}, .fixed_types = true}}));
const OpTest max("ReduceMax",
                 forms({rows({3, 6}),
                        {.about = "NaN", .inputs = {f32({3}, {1, kNaN, 2})}, .outputs = {f32({1}, {kNaN})}},
                        nothing(-kInf),
                        {.about = "over no bytes",
                         .inputs = {Tensor(DType::i8, {1, 0}), i64({1}, {1})},
                         .outputs = {cast_to(f32({1, 1}, {-128}), DType::i8)},
                         .fixed_types = true},
                        {.about = "over no 16-bit integers",
                         .inputs = {Tensor(DType::i16, {1, 0}), i64({1}, {1})},
                         .outputs = {cast_to(f32({1, 1}, {-32768}), DType::i16)},
                         .fixed_types = true},
                        {.about = "booleans",
                         .inputs = {booleans({2, 2}, {false, true, false, false}), i64({1}, {1})},
                         .outputs = {booleans({2, 1}, {true, false})},
                         .fixed_types = true}}));
const OpTest min("ReduceMin", forms({rows({1, 4}),
                                     nothing(kInf),
                                     {.about = "over no bytes",
                                      .inputs = {Tensor(DType::u8, {1, 0}), i64({1}, {1})},
                                      .outputs = {u8({1, 1}, {255})},
                                      .fixed_types = true},
                                     {.about = "booleans",
                                      .inputs = {booleans({2, 2}, {true, true, false, true}), i64({1}, {1})},
                                      .outputs = {booleans({2, 1}, {true, false})},
                                      .fixed_types = true}}));
const OpTest prod("ReduceProd", forms({rows({6, 120}), nothing(1)}), {.tolerance = 1e3});
const OpTest l1("ReduceL1",
                forms({rows({6, 15}),
                       nothing(0),
                       {.about = "magnitudes", .inputs = {f32({3}, {-1, 2, -3})}, .outputs = {f32({1}, {6})}}}),
                {.tolerance = 4});
const OpTest l2("ReduceL2",
                forms({{.about = "Pythagoras", .inputs = {f32({2}, {3, 4})}, .outputs = {f32({1}, {5})}},
                       nothing(0),
                       {.about = "a root out of the range of 32 bits",
                        .inputs = {Tensor::of<uint32_t>({3}, {UINT32_MAX, UINT32_MAX, UINT32_MAX})},
                        .outputs = {Tensor::of<uint32_t>({1}, {UINT32_MAX})},
                        .fixed_types = true},
                       {.about = "a square and a root out of range",
                        .inputs = {i64({2, 2}, {0, 4000000000, INT64_MAX, INT64_MAX}), i64({1}, {1})},
                        .outputs = {i64({2, 1}, {4000000000, INT64_MAX})},
                        .fixed_types = true}}),
                {.tolerance = 4});
const OpTest sum_square("ReduceSumSquare", forms({rows({14, 77}), nothing(0), squares(9)}), {.tolerance = 4});
const OpTest log_sum("ReduceLogSum",
                     forms({rows({1.7917595f, 2.7080502f}),
                            nothing(-kInf),
                            squares(1.0986123f),
                            {.about = "integers: a sum out of range, a sum below zero",
                             .inputs = {i64({2, 3}, {INT64_MAX, INT64_MAX, INT64_MAX, -5, 1, 1}), i64({1}, {1})},
                             .outputs = {i64({2, 1}, {44, INT64_MIN})},
                             .fixed_types = true}}),
                     {.tolerance = 4});
const OpTest log_sum_exp("ReduceLogSumExp",
                         forms({rows({3.4076059f, 6.4076059f}),
                                nothing(-kInf),
                                {.about = "without overflow",
                                 .inputs = {f32({2}, {1000, 1000})},
                                 .outputs = {f32({1}, {1000.6931f})},
                                 .fixed_types = true},
                                {.about = "integers: each term counts, not its integer part",
                                 .inputs = {i64({2, 6}, {5, 4, 4, 4, 4, 4, 1, 2, 3, 4, 5, 6}), i64({1}, {1})},
                                 .outputs = {i64({2, 1}, {6, 6})},
                                 .fixed_types = true},
                                {.about = "infinities",
                                 .inputs = {f32({2, 2}, {kInf, 1, -kInf, -kInf}), i64({1}, {1})},
                                 .outputs = {f32({2, 1}, {kInf, -kInf})}}}),
                         {.tolerance = 4});

// More rows than 8 bits can count; the largest element of each column and the smallest are near the end, twice.
Tensor many_rows() {
  std::vector<float> x(300 * 3);
  for (size_t i = 0; i < x.size(); ++i) x[i] = float(20 + i * 7 % 31);
  for (size_t c = 0; c < 3; ++c) {
    x[(290 + c) * 3 + c] = x[(295 + c) * 3 + c] = 100;
    x[(280 + c) * 3 + c] = x[(285 + c) * 3 + c] = 0;
  }
  return f32({300, 3}, x);
}
std::vector<OpCase> places(OpCase first, OpCase last) {
  return {
      std::move(first),
      std::move(last),
      {.about = "many rows", .inputs = {many_rows()}, .output_count = 1},
      {.about = "many rows, the last position",
       .attributes = {{"select_last_index", int64_t(1)}},
       .inputs = {many_rows()},
       .output_count = 1},
      {.about = "middle axis",
       .attributes = {{"axis", int64_t(1)}, {"keepdims", int64_t(0)}},
       .inputs = {random({5, 67, 33})},
       .output_count = 1},
      {.about = "long rows", .attributes = {{"axis", int64_t(-1)}}, .inputs = {random({3, 1025})}, .output_count = 1},
      {.about = "a scalar", .attributes = {{"axis", int64_t(1)}}, .inputs = {f32({}, {3})}, .outputs = {i64({}, {0})}}};
}
const OpTest arg_max("ArgMax", places({.about = "the first of equals",
                                       .inputs = {f32({3, 2}, {1, 2, 3, 2, 3, 0})},
                                       .outputs = {i64({1, 2}, {1, 0})}},
                                      {.about = "the last of equals",
                                       .attributes = {{"select_last_index", int64_t(1)}},
                                       .inputs = {f32({3, 2}, {1, 2, 3, 2, 3, 0})},
                                       .outputs = {i64({1, 2}, {2, 1})}}));
const OpTest arg_min("ArgMin", places({.about = "the first of equals",
                                       .inputs = {f32({3, 2}, {1, 2, 1, 0, 3, 0})},
                                       .outputs = {i64({1, 2}, {0, 1})}},
                                      {.about = "the last of equals",
                                       .attributes = {{"select_last_index", int64_t(1)}},
                                       .inputs = {f32({3, 2}, {1, 2, 1, 0, 3, 0})},
                                       .outputs = {i64({1, 2}, {1, 2})}}));

const OpTest cum_sum("CumSum",
                     {{.about = "rows",
                       .inputs = {f32({2, 3}, {1, 2, 3, 4, 5, 6}), i32({}, {1})},
                       .outputs = {f32({2, 3}, {1, 3, 6, 4, 9, 15})}},
                      {.about = "columns",
                       .inputs = {f32({2, 3}, {1, 2, 3, 4, 5, 6}), i64({}, {-2})},
                       .outputs = {f32({2, 3}, {1, 2, 3, 5, 7, 9})}},
                      {.about = "many columns", .inputs = {random({2, 4, 130}), i64({}, {1})}},
                      {.about = "exclusive",
                       .attributes = {{"exclusive", int64_t(1)}},
                       .inputs = {f32({3}, {1, 2, 3}), i32({}, {0})},
                       .outputs = {f32({3}, {0, 1, 3})}},
                      {.about = "reverse",
                       .attributes = {{"reverse", int64_t(1)}},
                       .inputs = {f32({3}, {1, 2, 3}), i32({}, {0})},
                       .outputs = {f32({3}, {6, 5, 3})}},
                      {.about = "both",
                       .attributes = {{"reverse", int64_t(1)}, {"exclusive", int64_t(1)}},
                       .inputs = {f32({3}, {1, 2, 3}), i32({}, {0})},
                       .outputs = {f32({3}, {5, 3, 0})}},
                      {.about = "larger", .inputs = {random({5, 67, 33}), i64({1}, {1})}, .output_count = 1},
                      {.about = "empty", .inputs = {f32({0, 3}, {}), i64({1}, {0})}, .outputs = {f32({0, 3}, {})}}},
                     {.tolerance = 16});

const OpTest top_k(
    "TopK", {{.about = "largest",
              .inputs = {f32({2, 4}, {1, 4, 2, 3, 5, 5, 0, 5}), i64({1}, {2})},
              .outputs = {f32({2, 2}, {4, 3, 5, 5}), i64({2, 2}, {1, 3, 0, 1})}},
             {.about = "smallest along axis 0",
              .attributes = {{"axis", int64_t(0)}, {"largest", int64_t(0)}},
              .inputs = {f32({3, 2}, {3, 1, 1, 1, 2, 0}), i64({1}, {2})},
              .outputs = {f32({2, 2}, {1, 0, 2, 1}), i64({2, 2}, {1, 2, 2, 0})}},
             {.about = "NaN is largest",
              .inputs = {f32({3}, {kInf, kNaN, -kInf}), i64({1}, {3})},
              .outputs = {f32({3}, {kNaN, kInf, -kInf}), i64({3}, {1, 0, 2})}},
             {.about = "zeros are equal",
              .inputs = {f32({3}, {-0.0f, 0.0f, -1}), i64({1}, {2})},
              .outputs = {f32({2}, {0, 0}), i64({2}, {0, 1})}},
             {.about = "large numbers",
              .inputs = {i64({3}, {INT64_MAX - 1, INT64_MAX, INT64_MIN}), i64({1}, {2})},
              .outputs = {i64({2}, {INT64_MAX, INT64_MAX - 1}), i64({2}, {1, 0})},
              .fixed_types = true},
             {.about = "none", .inputs = {f32({3}, {1, 2, 3}), i64({1}, {0})}, .outputs = {f32({0}, {}), i64({0}, {})}},
             {.about = "larger", .inputs = {random({7, 301}), i64({1}, {17})}}});

TEST(TopK, FewOfManyAreTheFirstOfAllSorted) {
  constexpr int64_t kRows = 3, kColumns = 301;
  const Tensor x = random({kRows, kColumns}, 5);  // of 65 numbers, so that many are equal
  for (const int64_t largest : {0, 1}) {
    const Attributes attributes{{"largest", largest}};
    const auto all = OpRun("", "TopK", attributes, {x, i64({1}, {kColumns})}, 2).run();
    for (const int64_t k : {1, 2, 3, 4, 8, 9, 17, 36, 37}) {
      const auto few = OpRun("", "TopK", attributes, {x, i64({1}, {k})}, 2).run();
      for (int64_t i = 0; i < kRows * k; ++i) {
        const size_t from = size_t(i / k * kColumns + i % k);
        ASSERT_EQ(few[0].at<float>(size_t(i)), all[0].at<float>(from)) << k << " of all, element " << i;
        ASSERT_EQ(few[1].at<int64_t>(size_t(i)), all[1].at<int64_t>(from)) << k << " of all, element " << i;
      }
    }
  }
}

TEST(Reductions, OnlyOneKeepsTheAxes) {
  const Tensor x = f32({2, 3}, {1, 2, 3, 4, 5, 6});
  for (const int64_t keeps : {-1, 0, 1, 2}) {
    const Shape wanted = keeps == 1 ? Shape{2, 1} : Shape{2};
    EXPECT_EQ(OpRun("", "ReduceSum", {{"keepdims", keeps}}, {x, i64({1}, {1})}, 1).run()[0].shape(), wanted);
    EXPECT_EQ(OpRun("", "ArgMax", {{"axis", int64_t(1)}, {"keepdims", keeps}}, {x}, 1).run()[0].shape(), wanted);
  }
}

}  // namespace
}  // namespace retort::ops
