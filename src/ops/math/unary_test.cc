#include <cmath>
#include <limits>

#include "ops/op_test.h"

namespace retort::ops {
namespace {

constexpr float kMax = std::numeric_limits<float>::max();

const OpTest abs_test("Abs", {{.about = "clears the sign",
                               .inputs = {f32({4}, {-2, 0, 3, -0.5f})},
                               .outputs = {f32({4}, {2, 0, 3, 0.5f})}},
                              {.about = "the smallest integer stays",
                               .inputs = {i64({2}, {INT64_MIN, -1})},
                               .outputs = {i64({2}, {INT64_MIN, 1})},
                               .fixed_types = true},
                              {.about = "NaN and infinities",
                               .inputs = {f32({3}, {kNaN, -kInf, kInf})},
                               .outputs = {f32({3}, {kNaN, kInf, kInf})}}});
const OpTest neg_test(
    "Neg", {{.about = "changes the sign", .inputs = {f32({3}, {-2, 0, 3})}, .outputs = {f32({3}, {2, 0, -3})}},
            {.about = "the smallest integer stays",
             .inputs = {i32({2}, {INT32_MIN, 5})},
             .outputs = {i32({2}, {INT32_MIN, -5})},
             .fixed_types = true}});
const OpTest sign_test(
    "Sign", {{.about = "-1, 0, 1", .inputs = {f32({4}, {-2.5f, 0, 3, 0.125f})}, .outputs = {f32({4}, {-1, 0, 1, 1})}},
             {.about = "NaN stays", .inputs = {f32({2}, {kNaN, -kInf})}, .outputs = {f32({2}, {kNaN, -1})}}});
const OpTest sqrt_test(
    "Sqrt",
    {{.about = "roots", .inputs = {f32({4}, {0, 1, 4, 2.25f})}, .outputs = {f32({4}, {0, 1, 2, 1.5f})}},
     {.about = "negative", .inputs = {f32({2}, {-1, kInf})}, .outputs = {f32({2}, {kNaN, kInf})}}},
    {.low = 0, .high = 16});
const OpTest reciprocal_test(
    "Reciprocal",
    {{.about = "1 / x", .inputs = {f32({4}, {1, 2, -4, 0})}, .outputs = {f32({4}, {1, 0.5f, -0.25f, kInf})}}},
    {.low = 0.5, .high = 8});
const OpTest exp_test(
    "Exp", {{.about = "powers of e", .inputs = {f32({3}, {0, 1, -kInf})}, .outputs = {f32({3}, {1, 2.7182817f, 0})}},
            {.about = "overflow", .inputs = {f32({2}, {1000, kNaN})}, .outputs = {f32({2}, {kInf, kNaN})}}});
const OpTest log_test(
    "Log",
    {{.about = "natural", .inputs = {f32({3}, {1, 2.7182817f, 0})}, .outputs = {f32({3}, {0, 1, -kInf})}},
     {.about = "negative", .inputs = {f32({1}, {-1})}, .outputs = {f32({1}, {kNaN})}}},
    {.low = 0.125, .high = 64});
const OpTest sin_test("Sin",
                      {{.about = "radians", .inputs = {f32({2}, {0, 1.5707964f})}, .outputs = {f32({2}, {0, 1})}}});
const OpTest cos_test("Cos",
                      {{.about = "radians", .inputs = {f32({2}, {0, 3.1415927f})}, .outputs = {f32({2}, {1, -1})}}});
const OpTest tan_test("Tan",
                      {{.about = "radians", .inputs = {f32({2}, {0, 0.7853982f})}, .outputs = {f32({2}, {0, 1})}}},
                      {.low = -1.25, .high = 1.25});
const OpTest asin_test(
    "Asin", {{.about = "half a turn", .inputs = {f32({3}, {0, 1, 2})}, .outputs = {f32({3}, {0, 1.5707964f, kNaN})}}},
    {.low = -1, .high = 1});
const OpTest acos_test(
    "Acos", {{.about = "half a turn", .inputs = {f32({3}, {1, 0, 2})}, .outputs = {f32({3}, {0, 1.5707964f, kNaN})}}},
    {.low = -1, .high = 1});
const OpTest atan_test("Atan", {{.about = "bounded",
                                 .inputs = {f32({3}, {0, 1, kInf})},
                                 .outputs = {f32({3}, {0, 0.7853982f, 1.5707964f})}}});
const OpTest sinh_test("Sinh",
                       {{.about = "odd", .inputs = {f32({2}, {0, 1})}, .outputs = {f32({2}, {0, 1.1752012f})}}});
const OpTest cosh_test(
    "Cosh", {{.about = "even", .inputs = {f32({3}, {0, 1, -1})}, .outputs = {f32({3}, {1, 1.5430807f, 1.5430807f})}}});
const OpTest asinh_test("Asinh",
                        {{.about = "inverse", .inputs = {f32({2}, {0, 1.1752012f})}, .outputs = {f32({2}, {0, 1})}}});
const OpTest acosh_test(
    "Acosh", {{.about = "from 1 on", .inputs = {f32({3}, {1, 1.5430807f, 0.5f})}, .outputs = {f32({3}, {0, 1, kNaN})}}},
    {.low = 1, .high = 16});
const OpTest atanh_test(
    "Atanh", {{.about = "poles", .inputs = {f32({3}, {0, 0.5f, 1})}, .outputs = {f32({3}, {0, 0.54930615f, kInf})}}},
    {.low = -0.875, .high = 0.875});
const OpTest erf_test("Erf", {{.about = "odd, bounded",
                               .inputs = {f32({4}, {0, 1, -1, kInf})},
                               .outputs = {f32({4}, {0, 0.84270079f, -0.84270079f, 1})}},
                              {.about = "of integers, without the fraction; that of 6 is 1",
                               .inputs = {i64({5}, {0, 1, -5, 6, -100})},
                               .outputs = {i64({5}, {0, 0, 0, 1, -1})},
                               .fixed_types = true}});
const OpTest floor_test("Floor", {{.about = "downwards",
                                   .inputs = {f32({4}, {1.5f, -1.5f, 2, -0.25f})},
                                   .outputs = {f32({4}, {1, -2, 2, -1})}}});
const OpTest ceil_test("Ceil", {{.about = "upwards",
                                 .inputs = {f32({4}, {1.5f, -1.5f, 2, 0.25f})},
                                 .outputs = {f32({4}, {2, -1, 2, 1})}}});
const OpTest round_test("Round", {{.about = "halves to even",
                                   .inputs = {f32({7}, {0.5f, 1.5f, 2.5f, -0.5f, -4.5f, 2.25f, -1.75f})},
                                   .outputs = {f32({7}, {0, 2, 2, 0, -4, 2, -2})}}});
const OpTest bitwise_not_test(
    "BitwiseNot",
    {{.about = "every bit", .inputs = {i64({3}, {0, -1, 5})}, .outputs = {i64({3}, {-1, 0, -6})}, .fixed_types = true},
     {.about = "unsigned", .inputs = {u8({3}, {0, 255, 5})}, .outputs = {u8({3}, {255, 0, 250})}, .fixed_types = true},
     {.about = "all types", .inputs = {i64({2}, {3, 7})}}});
const OpTest is_nan_test("IsNaN", {{.about = "NaN only",
                                    .inputs = {f32({4}, {kNaN, kInf, 0, -1})},
                                    .outputs = {booleans({4}, {true, false, false, false})}},
                                   {.about = "float8", .inputs = {Tensor(DType::f8e5m2, {0})}, .fixed_types = true}});
const OpTest is_inf_test("IsInf", {{.about = "both signs",
                                    .inputs = {f32({4}, {kNaN, kInf, -kInf, 1})},
                                    .outputs = {booleans({4}, {false, true, true, false})}},
                                   {.about = "positive only",
                                    .attributes = {{"detect_negative", int64_t(0)}},
                                    .inputs = {f32({3}, {kInf, -kInf, 1})},
                                    .outputs = {booleans({3}, {true, false, false})}}});
const OpTest clip_test(
    "Clip",
    {{.about = "both bounds",
      .inputs = {f32({5}, {-3, -1, 0, 1, 3}), f32({}, {-1}), f32({}, {2})},
      .outputs = {f32({5}, {-1, -1, 0, 1, 2})}},
     {.about = "no bounds", .inputs = {f32({2}, {-3, 3})}, .outputs = {f32({2}, {-3, 3})}},
     {.about = "without bounds infinities are outside",
      .inputs = {f32({4}, {-kInf, 3, kInf, kNaN})},
      .outputs = {f32({4}, {-kMax, 3, kMax, kNaN})},
      .fixed_types = true},
     {.about = "also those of 16 bits",
      .inputs = {Tensor::of<float16>({2}, {float16(-kInf), float16(kInf)})},
      .outputs = {Tensor::of<float16>({2}, {float16(-65504), float16(65504)})},
      .fixed_types = true},
     {.about = "also those of doubles",
      .inputs = {f64({2}, {-kInf, kInf})},
      .outputs = {f64({2}, {std::numeric_limits<double>::lowest(), std::numeric_limits<double>::max()})},
      .fixed_types = true},
     {.about = "lower bound only", .inputs = {f32({2}, {-3, 3}), f32({}, {0})}, .outputs = {f32({2}, {0, 3})}},
     {.about = "upper bound only",
      .inputs = {f32({2}, {-3, 3}), Tensor(), f32({}, {1})},
      .outputs = {f32({2}, {-3, 1})}},
     {.about = "the upper bound wins",
      .inputs = {f32({2}, {0, 5}), f32({}, {3}), f32({}, {1})},
      .outputs = {f32({2}, {1, 1})}},
     {.about = "NaN stays", .inputs = {f32({1}, {kNaN}), f32({}, {0}), f32({}, {1})}, .outputs = {f32({1}, {kNaN})}}});

}  // namespace
}  // namespace retort::ops
