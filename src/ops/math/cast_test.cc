#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "base/error.h"
#include "ops/math/common/small_float.h"
#include "ops/op_test.h"

namespace retort::ops {
namespace {

Attributes to(DType type) { return {{"to", int64_t(type)}}; }
Tensor codes(DType type, Shape shape, const std::vector<uint8_t>& bytes) {
  Tensor t(type, std::move(shape));
  std::copy(bytes.begin(), bytes.end(), t.mutable_data<uint8_t>());
  return t;
}

const OpTest cast("Cast",
                  {
                      {.about = "float to int",
                       .attributes = to(DType::i32),
                       .inputs = {f32({4}, {1.75f, -1.75f, 0, 100})},
                       .outputs = {i32({4}, {1, -1, 0, 100})}},
                      {.about = "narrowing wraps",
                       .attributes = to(DType::i8),
                       .inputs = {i64({3}, {200, -129, 5})},
                       .outputs = {cast_to(f32({3}, {-56, 127, 5}), DType::i8)}},
                      {.about = "bool",
                       .attributes = to(DType::boolean),
                       .inputs = {f32({4}, {0, -0.0f, 0.5f, kNaN})},
                       .outputs = {booleans({4}, {false, false, true, true})}},
                      {.about = "from bool",
                       .attributes = to(DType::f32),
                       .inputs = {booleans({2}, {true, false})},
                       .outputs = {f32({2}, {1, 0})}},
                      {.about = "the same type",
                       .attributes = to(DType::f32),
                       .inputs = {f32({2}, {1, 2})},
                       .outputs = {f32({2}, {1, 2})}},
                      {.about = "to text",
                       .attributes = to(DType::string),
                       .inputs = {f32({5}, {0.47892547f, 100, kNaN, kInf, -kInf})},
                       .outputs = {strings({5}, {"0.47892547", "100", "NaN", "INF", "-INF"})}},
                      {.about = "whole numbers to text",
                       .attributes = to(DType::string),
                       .inputs = {i64({2}, {INT64_MIN, 7})},
                       .outputs = {strings({2}, {"-9223372036854775808", "7"})}},
                      {.about = "from text",
                       .attributes = to(DType::f32),
                       .inputs = {strings({7}, {"3.14", " 1e-5 ", "1E8", "+INF", "-inf", "NaN", "1000"})},
                       .outputs = {f32({7}, {3.14f, 1e-5f, 1e8f, kInf, -kInf, kNaN, 1000})}},
                      {.about = "text to whole numbers",
                       .attributes = to(DType::i64),
                       .inputs = {strings({3}, {"9223372036854775807", "100.5", "+3"})},
                       .outputs = {i64({3}, {INT64_MAX, 100, 3})}},
                      {.about = "booleans to text",
                       .attributes = to(DType::string),
                       .inputs = {booleans({2}, {true, false})},
                       .outputs = {strings({2}, {"1", "0"})}},
                      {.about = "strings are unchanged",
                       .attributes = to(DType::string),
                       .inputs = {strings({2}, {"a", ""})},
                       .outputs = {strings({2}, {"a", ""})}},
                      {.about = "to float8",
                       .attributes = to(DType::f8e4m3fn),
                       .inputs = {f32({5}, {1, 448, 1000, kNaN, -0.0f})},
                       .outputs = {codes(DType::f8e4m3fn, {5}, {0x38, 0x7e, 0x7e, 0x7f, 0x80})}},
                      {.about = "from float8",
                       .attributes = to(DType::f32),
                       .inputs = {codes(DType::f8e5m2, {4}, {0x3c, 0x7c, 0xbc, 0x01})},
                       .outputs = {f32({4}, {1, kInf, -1, 0x1p-16f})}},
                      {.about = "to four bits",
                       .attributes = to(DType::i4),
                       .inputs = {f32({3}, {-8, 7, -1})},
                       .outputs = {codes(DType::i4, {3}, {0x78, 0x0f})}},
                      {.about = "from four bits",
                       .attributes = to(DType::i64),
                       .inputs = {codes(DType::i4, {3}, {0x78, 0x0f})},
                       .outputs = {i64({3}, {-8, 7, -1})}},
                      {.about = "from two bits",
                       .attributes = to(DType::f32),
                       .inputs = {codes(DType::u2, {5}, {0xe4, 0x01})},
                       .outputs = {f32({5}, {0, 1, 2, 3, 1})}},
                      {.about = "between narrow types",
                       .attributes = to(DType::f4e2m1),
                       .inputs = {codes(DType::f8e4m3fn, {3}, {0x38, 0xc4, 0x7e})},
                       .outputs = {codes(DType::f4e2m1, {3}, {0xd2, 0x07})}},
                      {.about = "text to narrow types",
                       .attributes = to(DType::u4),
                       .inputs = {strings({3}, {"1", "15", "3"})},
                       .outputs = {codes(DType::u4, {3}, {0xf1, 0x03})}},
                      {.about = "large", .attributes = to(DType::i32), .inputs = {random({40001})}, .output_count = 1},
                  });
const OpTest cast_like("CastLike", {{.about = "the second input determines the type",
                                     .inputs = {f32({2}, {1.5f, -2}), i64({}, {0})},
                                     .outputs = {i64({2}, {1, -2})},
                                     .fixed_types = true}});

TEST(Cast, TextThatIsNoNumberIsAnError) {
  OpRun run("", "Cast", to(DType::f32), {strings({1}, {"twelve"})}, 1);
  EXPECT_THROW(run.run(), Error);
}

TEST(Cast, TextOfANumberThatIsTooLargeIsAnError) {
  OpRun run("", "Cast", to(DType::i64), {strings({1}, {"99999999999999999999"})}, 1);
  EXPECT_THROW(run.run(), Error);
}

// Every code of every format survives a round trip, and ties go to the even neighbour.
TEST(SmallFloat, RoundTrip) {
  for (DType type :
       {DType::f8e4m3fn, DType::f8e4m3fnuz, DType::f8e5m2, DType::f8e5m2fnuz, DType::f8e8m0, DType::f4e2m1}) {
    const int count = type == DType::f4e2m1 ? 16 : 256;
    for (int code = 0; code < count; ++code) {
      const float value = decode_small_float(type, uint8_t(code));
      const uint8_t back = encode_small_float(type, value, false, ScaleRounding::nearest);
      if (std::isnan(value))
        EXPECT_TRUE(std::isnan(decode_small_float(type, back))) << dtype_name(type) << " " << code;
      else
        EXPECT_EQ(int(back), code) << dtype_name(type);
    }
  }
}

TEST(SmallFloat, Rounding) {
  const auto e4m3 = [](float v, bool saturate) { return int(encode_small_float(DType::f8e4m3fn, v, saturate, {})); };
  EXPECT_EQ(e4m3(1.0625f, true), 0x38);  // between 1 and 1.125: even
  EXPECT_EQ(e4m3(1.1875f, true), 0x3a);
  EXPECT_EQ(e4m3(464, false), 0x7e);
  EXPECT_EQ(e4m3(465, false), 0x7f);
  EXPECT_EQ(e4m3(kInf, true), 0x7e);
  const auto e8m0 = [](float v, ScaleRounding r) { return int(encode_small_float(DType::f8e8m0, v, true, r)); };
  EXPECT_EQ(e8m0(3, ScaleRounding::up), 129);
  EXPECT_EQ(e8m0(3, ScaleRounding::down), 128);
  EXPECT_EQ(e8m0(3, ScaleRounding::nearest), 129);
  EXPECT_EQ(e8m0(2.5f, ScaleRounding::nearest), 128);
}

}  // namespace
}  // namespace retort::ops
