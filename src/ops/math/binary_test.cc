#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "base/error.h"
#include "ops/elementwise.h"
#include "ops/op_test.h"

namespace retort::ops {
namespace {

const OpTest add_test("Add",
                      {{.about = "broadcasts",
                        .inputs = {f32({2, 1}, {1, 2}), f32({3}, {10, 20, 30})},
                        .outputs = {f32({2, 3}, {11, 21, 31, 12, 22, 32})}},
                       {.about = "long rows, repeated over an axis in between",
                        .inputs = {random({2, 1, 4101}), random({2, 3, 1}, 2)}},
                       {.about = "rows of a few elements", .inputs = {random({3, 701, 1, 3}), random({701, 2, 1}, 2)}},
                       {.about = "a table of two lists", .inputs = {random({211, 1}), random({1, 97}, 2)}},
                       {.about = "a number first", .inputs = {random({}), random({9001}, 2)}},
                       {.about = "wraps",
                        .inputs = {i32({1}, {INT32_MAX}), i32({1}, {1})},
                        .outputs = {i32({1}, {INT32_MIN})},
                        .fixed_types = true},
                       {.about = "wraps in 64 bits",
                        .inputs = {i64({1}, {INT64_MAX}), i64({1}, {1})},
                        .outputs = {i64({1}, {INT64_MIN})},
                        .fixed_types = true},
                       {.about = "wraps in 8 bits",
                        .inputs = {u8({1}, {200}), u8({1}, {100})},
                        .outputs = {u8({1}, {44})},
                        .fixed_types = true}});
const OpTest sub_test(
    "Sub", {{.about = "scalars", .inputs = {f32({3}, {5, 6, 7}), f32({}, {2})}, .outputs = {f32({3}, {3, 4, 5})}},
            {.about = "wraps",
             .inputs = {i64({1}, {INT64_MIN}), i64({1}, {1})},
             .outputs = {i64({1}, {INT64_MAX})},
             .fixed_types = true}});
const OpTest mul_test("Mul", {{.about = "columns",
                               .inputs = {f32({2, 2}, {1, 2, 3, 4}), f32({2, 1}, {2, 3})},
                               .outputs = {f32({2, 2}, {2, 4, 9, 12})}},
                              {.about = "wraps",
                               .inputs = {i32({1}, {1 << 30}), i32({1}, {6})},
                               .outputs = {i32({1}, {INT32_MIN})},
                               .fixed_types = true}});
const OpTest div_test(
    "Div",
    {{.about = "exact", .inputs = {f32({3}, {6, 8, 9}), f32({}, {2})}, .outputs = {f32({3}, {3, 4, 4.5f})}},
     {.about = "towards zero",
      .inputs = {i64({4}, {7, -7, 7, -7}), i64({4}, {2, 2, -2, -2})},
      .outputs = {i64({4}, {3, -3, -3, 3})},
      .fixed_types = true},
     {.about = "overflow",
      .inputs = {i64({1}, {INT64_MIN}), i64({1}, {-1})},
      .outputs = {i64({1}, {INT64_MIN})},
      .fixed_types = true},
     {.about = "float by zero",
      .inputs = {f32({3}, {1, -1, 0}), f32({1}, {0})},
      .outputs = {f32({3}, {kInf, -kInf, kNaN})}}},
    {.low = 1, .high = 8});
const OpTest pow_test("Pow",
                      {{.about = "squares and roots",
                        .inputs = {f32({3}, {1, 4, 9}), f32({3}, {2, 0.5f, 0})},
                        .outputs = {f32({3}, {1, 2, 1})}},
                       {.about = "whole numbers",
                        .inputs = {i64({4}, {2, -3, 7, 2}), i64({4}, {10, 3, 0, -1})},
                        .outputs = {i64({4}, {1024, -27, 1, 0})},
                        .fixed_types = true},
                       {.about = "an exponent of another type",
                        .inputs = {f32({2}, {2, 3}), i64({}, {3})},
                        .outputs = {f32({2}, {8, 27})}},
                       {.about = "an odd exponent that float32 does not hold",
                        .inputs = {f32({1}, {-1}), i32({1}, {16777217})},
                        .outputs = {f32({1}, {-1})}},
                       {.about = "a tiny exponent is not 0",
                        .inputs = {f32({2}, {0, NAN}), f64({}, {1e-300})},
                        .outputs = {f32({2}, {0, NAN})}},
                       {.about = "an exponent of more bits than the base",
                        .inputs = {i32({2}, {2, -1}), i64({2}, {4294967296, 4294967297})},
                        .outputs = {i32({2}, {0, -1})},
                        .fixed_types = true},
                       {.about = "a float exponent of integers",
                        .inputs = {i32({2}, {4, 9}), f32({}, {0.5f})},
                        .outputs = {i32({2}, {2, 3})},
                        .fixed_types = true}},
                      {.low = 0.5, .high = 3, .tolerance = 4});
const OpTest mod_test(
    "Mod",
    {{.about = "sign of the divisor",
      .inputs = {i64({4}, {5, -5, 5, -5}), i64({4}, {3, 3, -3, -3})},
      .outputs = {i64({4}, {2, 1, -1, -2})},
      .fixed_types = true},
     {.about = "sign of the dividend",
      .attributes = {{"fmod", int64_t(1)}},
      .inputs = {i64({4}, {5, -5, 5, -5}), i64({4}, {3, 3, -3, -3})},
      .outputs = {i64({4}, {2, -2, 2, -2})},
      .fixed_types = true},
     {.about = "floats",
      .inputs = {f32({4}, {5.5f, -5.5f, 5.5f, -5.5f}), f32({4}, {3, 3, -3, -3})},
      .outputs = {f32({4}, {2.5f, 0.5f, -0.5f, -2.5f})}},
     {.about = "the lowest number",
      .inputs = {i32({4}, {INT32_MIN, INT32_MIN, INT32_MIN, -7}), i32({4}, {-1, 3, INT32_MAX, INT32_MIN})},
      .outputs = {i32({4}, {0, 1, INT32_MAX - 1, -7})},
      .fixed_types = true},
     {.about = "by infinity", .inputs = {f32({2}, {2, -2}), f32({1}, {kInf})}, .outputs = {f32({2}, {2, kInf})}},
     {.about = "large and small quotients, as fmod()",
      .attributes = {{"fmod", int64_t(1)}},
      .inputs = {f32({9}, {16777215, -16777215, 1e30f, 268435440, 3e38f, 1e-40f, -0.0f, 6, -6}),
                 f32({9}, {0.1f, 0.1f, 7, 1, 1e-40f, 3e-41f, 3, 3, 3})},
      .outputs = {f32({9}, {std::fmod(16777215.0f, 0.1f), -std::fmod(16777215.0f, 0.1f), std::fmod(1e30f, 7.0f), 0,
                            std::fmod(3e38f, 1e-40f), std::fmod(1e-40f, 3e-41f), -0.0f, 0, -0.0f})},
      .fixed_types = true},
     {.about = "no remainder",
      .inputs = {f32({4}, {1, kInf, kNaN, 0}), f32({4}, {0, 2, 2, kNaN})},
      .outputs = {f32({4}, {kNaN, kNaN, kNaN, kNaN})}},
     {.about = "unsigned",
      .inputs = {u8({2}, {200, 7}), u8({1}, {9})},
      .outputs = {u8({2}, {2, 7})},
      .fixed_types = true}},
    {.low = 1, .high = 16});
const OpTest max_test("Max", {{.about = "three inputs",
                               .inputs = {f32({3}, {1, 5, 2}), f32({1}, {3}), f32({3}, {0, 0, 9})},
                               .outputs = {f32({3}, {3, 5, 9})}},
                              {.about = "NaN wins",
                               .inputs = {f32({2}, {kNaN, 1}), f32({2}, {1, kNaN})},
                               .outputs = {f32({2}, {kNaN, kNaN})}},
                              {.about = "one input", .inputs = {f32({2}, {1, 2})}, .outputs = {f32({2}, {1, 2})}},
                              {.about = "a growing shape",
                               .inputs = {f32({1}, {1}), f32({1}, {2}), f32({2, 2}, {0, 1, 2, 3})},
                               .outputs = {f32({2, 2}, {2, 2, 2, 3})}}});
const OpTest min_test(
    "Min",
    {{.about = "two inputs", .inputs = {f32({3}, {1, 5, 2}), f32({}, {3})}, .outputs = {f32({3}, {1, 3, 2})}},
     {.about = "NaN wins", .inputs = {f32({2}, {kNaN, 1}), f32({2}, {1, kNaN})}, .outputs = {f32({2}, {kNaN, kNaN})}}});
const OpTest sum_test("Sum", {{.about = "three inputs",
                               .inputs = {f32({2}, {1, 2}), f32({2, 1}, {10, 20}), f32({}, {0.5f})},
                               .outputs = {f32({2, 2}, {11.5f, 12.5f, 21.5f, 22.5f})}}});
const OpTest mean_test(
    "Mean", {{.about = "two inputs", .inputs = {f32({2}, {1, 2}), f32({2}, {3, 6})}, .outputs = {f32({2}, {2, 4})}}});
const OpTest bit_shift_test("BitShift",
                            {{.about = "left",
                              .attributes = {{"direction", std::string("LEFT")}},
                              .inputs = {i64({3}, {1, 2, 3}), i64({3}, {1, 2, 3})},
                              .outputs = {i64({3}, {2, 8, 24})}},
                             {.about = "right keeps the sign",
                              .attributes = {{"direction", std::string("RIGHT")}},
                              .inputs = {i32({3}, {-8, 8, -1}), i32({3}, {1, 1, 40})},
                              .outputs = {i32({3}, {-4, 4, -1})},
                              .fixed_types = true},
                             {.about = "amounts beyond the width",
                              .attributes = {{"direction", std::string("LEFT")}},
                              .inputs = {u8({3}, {255, 1, 3}), u8({3}, {9, 7, 200})},
                              .outputs = {u8({3}, {0, 128, 0})},
                              .fixed_types = true},
                             {.about = "negative amounts",
                              .attributes = {{"direction", std::string("LEFT")}},
                              .inputs = {i64({1}, {5}), i64({1}, {-1})},
                              .outputs = {i64({1}, {0})},
                              .fixed_types = true}},
                            {.low = 0, .high = 6});
const OpTest bitwise_and_test("BitwiseAnd", {{.about = "bits",
                                              .inputs = {i64({3}, {12, 10, -1}), i64({}, {6})},
                                              .outputs = {i64({3}, {4, 2, 6})}}});
const OpTest bitwise_or_test(
    "BitwiseOr", {{.about = "bits", .inputs = {i64({2}, {12, 10}), i64({}, {6})}, .outputs = {i64({2}, {14, 14})}}});
const OpTest bitwise_xor_test(
    "BitwiseXor", {{.about = "bits", .inputs = {i64({2}, {12, 10}), i64({}, {6})}, .outputs = {i64({2}, {10, 12})}}});

/// A tensor of any integer type whose bytes are all different from their neighbours.
template <typename T>
Tensor bit_patterns(Shape shape, unsigned seed) {
  Tensor t(dtype_of<T>, std::move(shape));
  auto* const bytes = t.mutable_data<uint8_t>();
  for (size_t i = 0; i < t.bytes(); ++i) bytes[i] = uint8_t((i + seed) * 89 + i / 7);
  return t;
}

template <typename T>
void expect_combined_bits() {
  const std::pair<Shape, Shape> shapes[] = {
      {{3, 5, 41}, {3, 5, 41}}, {{3, 5, 41}, {}}, {{}, {3, 5, 41}}, {{3, 5, 41}, {41}},
      {{5, 1}, {3, 1, 41}},     {{0, 3}, {3}},    {{1}, {1}},       {{2, 1}, {2, 1000}}};
  for (const auto& [a_shape, b_shape] : shapes) {
    const Tensor a = bit_patterns<T>(a_shape, 1), b = bit_patterns<T>(b_shape, 77);
    const auto check = [&](const char* op, auto f) {
      const Tensor y = OpRun("", op, {}, {a, b}, 1).run()[0];
      for_each_broadcast(y.shape(), a_shape, b_shape, [&](size_t i, size_t ia, size_t ib) {
        ASSERT_EQ(y.at<T>(i), T(f(a.at<T>(ia), b.at<T>(ib)))) << op << ' ' << dtype_name(dtype_of<T>) << ' ' << i;
      });
    };
    check("BitwiseAnd", [](T x, T y) { return x & y; });
    check("BitwiseOr", [](T x, T y) { return x | y; });
    check("BitwiseXor", [](T x, T y) { return x ^ y; });
  }
}

TEST(Bitwise, AllIntegersAndBroadcasts) {
  expect_combined_bits<int8_t>();
  expect_combined_bits<uint16_t>();
  expect_combined_bits<int32_t>();
  expect_combined_bits<uint32_t>();
  expect_combined_bits<int64_t>();
  expect_combined_bits<uint64_t>();
}

TEST(Division, IntegersByZeroAreAnError) {
  for (const char* op : {"Div", "Mod"}) {
    EXPECT_THROW(OpRun("", op, {}, {i32({2}, {7, 0}), i32({1}, {0})}, 1).run(), Error) << op;
    EXPECT_THROW(OpRun("", op, {}, {u8({2}, {7, 1}), u8({2}, {2, 0})}, 1).run(), Error) << op;
    OpRun("", op, {}, {i64({0}, {}), i64({1}, {1})}, 1).run();
    // Narrow integers are divided in pieces; the index is that of the whole input.
    std::vector<uint8_t> divisors(20000, 3);
    divisors[15000] = 0;
    OpRun pieces("", op, {}, {Tensor::of<uint8_t>({20000}, divisors), Tensor::of<uint8_t>({20000}, divisors)}, 1);
    try {
      pieces.run();
      FAIL() << op;
    } catch (const Error& e) {
      EXPECT_NE(e.message().find("element 15000 of input B is 0"), std::string::npos) << e.message();
    }
  }
}

}  // namespace
}  // namespace retort::ops
