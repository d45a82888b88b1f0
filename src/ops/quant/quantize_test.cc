// QuantizeLinear and DequantizeLinear of all types, with scales of all kinds, beside plain arithmetic.
#include <cmath>

#include "ops/op_test.h"
#include "ops/quant/common/quantization.h"
#include "ops/shape/common/element.h"

namespace retort::ops {
namespace {

constexpr int64_t kLines = 5, kLineLength = 1133;  // several parts of a run, and a tail
constexpr DType kTypes[] = {DType::u8, DType::i8, DType::u16, DType::i16, DType::u4, DType::i4, DType::u2, DType::i2};

/// Which scale an element has.
struct Grid {
  const char* about;
  Shape shape;
  Attributes attributes;
  int64_t row_step, column_step;  ///< rows and columns that share a scale; 0: all
  int64_t lines = kLines, line_length = kLineLength;
  int64_t count() const { return lines * line_length; }
  size_t at(int64_t i) const {
    const int64_t row = i / line_length, column = i % line_length;
    const int64_t r = row_step ? row / row_step : 0, c = column_step ? column / column_step : 0;
    const int64_t width = column_step ? (line_length + column_step - 1) / column_step : 1;
    return size_t(r * width + c);
  }
};

std::vector<Grid> grids() {
  const auto blocks = [](const char* about, Shape shape, int64_t axis, int64_t block) {
    const Attributes attributes{{"axis", axis}, {"block_size", block}};
    return Grid{about, std::move(shape), attributes, axis == 0 ? block : 1, axis == 0 ? 1 : block};
  };
  constexpr int64_t kLong = 4001;
  const Attributes blocks_of_3{{"axis", int64_t(1)}, {"block_size", int64_t(3)}};
  return {{"one", {}, {}, 0, 0},
          {"rows", {kLines}, {{"axis", int64_t(0)}}, 1, 0},
          {"columns", {kLineLength}, {{"axis", int64_t(1)}}, 0, 1},
          blocks("pairs of rows", {3, kLineLength}, 0, 2),
          blocks("short blocks", {kLines, 378}, 1, 3),
          blocks("long blocks", {kLines, 17}, 1, 70),
          blocks("a block", {kLines, 1}, 1, 2000),
          {"short rows", {kLineLength}, {{"axis", int64_t(0)}}, 1, 0, kLineLength, kLines},
          // Several tasks along the axis, and a tail.
          {"many short rows", {kLong}, {{"axis", int64_t(0)}}, 1, 0, kLong, 5},
          {"a long row", {kLong * 5}, {{"axis", int64_t(1)}}, 0, 1, 1, kLong * 5},
          {"short blocks of a long row", {1, kLong * 2}, blocks_of_3, 1, 3, 1, kLong * 6 - 2}};
}

Tensor converted(const Tensor& x, DType type) { return OpRun("", "Cast", {{"to", int64_t(type)}}, {x}, 1).run()[0]; }
float rounded_to(DType type, float x) {
  if (type == DType::f16) return float(float16(x));
  return type == DType::bf16 ? float(bfloat16(x)) : x;
}

Tensor scales_of(const Grid& grid) {
  Tensor t(DType::f32, grid.shape);
  for (size_t i = 0; i < t.count(); ++i) t.mutable_data<float>()[i] = 0.125f + float(i * 37 % 64) / 32;
  return t;
}
Tensor zeros_of(const Grid& grid, DType type) {
  Tensor t(DType::i32, grid.shape);
  for (size_t i = 0; i < t.count(); ++i) t.mutable_data<int32_t>()[i] = int32_t(i * 5 % 2);
  return converted(t, type);
}
/// Whole numbers, so that those of int32 are the same, one of which is in the middle between two codes.
Tensor numbers(const Grid& grid) {
  Tensor t(DType::f32, {grid.lines, grid.line_length});
  for (size_t i = 0; i < t.count(); ++i) t.mutable_data<float>()[i] = float(int64_t(i * 7919 % 601) - 300);
  return t;
}

int32_t plain_code(float quotient, int32_t zero, DType type) {
  const auto [low, high] = code_range(type);
  const float code = std::nearbyint(quotient) + float(zero);
  return code >= float(high) ? high : code > float(low) ? int32_t(code) : low;
}

void compare(const Grid& grid, DType type, DType from, DType precision) {
  const bool half = from == DType::f16 || from == DType::bf16;
  const DType scale_type = half ? from : DType::f32;
  const DType division = precision == DType::undefined ? scale_type : precision;
  SCOPED_TRACE(cat("{} of {} from {} by {}", grid.about, dtype_name(type), dtype_name(from), dtype_name(division)));
  Tensor x = converted(numbers(grid), from);
  if (half) {
    Tensor with_nan = numbers(grid);
    with_nan.mutable_data<float>()[9] = NAN;
    x = converted(with_nan, from);
  }
  const Tensor scale = converted(scales_of(grid), scale_type), zero = zeros_of(grid, type);
  Attributes attributes = grid.attributes;
  if (precision != DType::undefined) attributes.set("precision", int64_t(precision));
  const Tensor y = OpRun("", "QuantizeLinear", attributes, {x, scale, zero}, 1).run()[0];
  const Tensor real = OpRun("", "DequantizeLinear", grid.attributes, {y, scale, zero}, 1).run()[0];
  const Tensor x_floats = converted(x, DType::f32), s = converted(scale, DType::f32);
  const Tensor real_floats = converted(real, DType::f32);
  ASSERT_EQ(y.dtype(), type);
  ASSERT_EQ(real.dtype(), scale_type);
  for (int64_t i = 0; i < grid.count(); ++i) {
    const size_t k = grid.at(i);
    const float at = rounded_to(division, x_floats.at<float>(size_t(i)));
    const float quotient = rounded_to(division, at / rounded_to(division, s.at<float>(k)));
    const int32_t z = integer_code(zero.data(), type, k), code = integer_code(y.data(), type, size_t(i));
    ASSERT_EQ(code, plain_code(quotient, z, type)) << "element " << i;
    ASSERT_EQ(real_floats.at<float>(size_t(i)), rounded_to(scale_type, float(code - z) * s.at<float>(k))) << i;
  }
}

TEST(Quantize, AllTypesHaveTheCodesOfPlainArithmetic) {
  for (const Grid& grid : grids()) {
    for (const DType type : kTypes) {
      for (const DType from : {DType::f32, DType::f16, DType::bf16, DType::i32})
        compare(grid, type, from, DType::undefined);
      compare(grid, type, DType::f32, DType::f16);
      compare(grid, type, DType::f16, DType::f32);
    }
  }
}

TEST(Quantize, FloatCodesHaveQuotientsOfTheirScale) {
  const auto codes = [](const Grid& grid, DType from, const Tensor& x) {
    Attributes attributes = grid.attributes;
    attributes.set("output_dtype", int64_t(DType::f8e4m3fn));
    return OpRun("", "QuantizeLinear", attributes, {converted(x, from), converted(scales_of(grid), from)}, 1).run()[0];
  };
  for (const Grid& grid : grids()) {
    for (const DType from : {DType::f32, DType::f16}) {
      const Tensor scale = scales_of(grid);
      Tensor quotients = numbers(grid);
      for (int64_t i = 0; i < grid.count(); ++i) {
        float& x = quotients.mutable_data<float>()[i];
        x = rounded_to(from, x / scale.at<float>(grid.at(i)));
      }
      const Tensor y = codes(grid, from, numbers(grid)), wanted = converted(quotients, DType::f8e4m3fn);
      ASSERT_EQ(std::memcmp(y.data(), wanted.data(), y.bytes()), 0) << grid.about << " from " << dtype_name(from);
    }
  }
}

TEST(Dequantize, SumsOfProducts) {
  for (const Grid& grid : grids()) {
    for (const int32_t zero : {0, 3}) {
      const Tensor x = converted(numbers(grid), DType::i32), scale = scales_of(grid);
      Tensor zeros(DType::i32, grid.shape);
      std::fill_n(zeros.mutable_data<int32_t>(), zeros.count(), zero);
      const Tensor y = OpRun("", "DequantizeLinear", grid.attributes, {x, scale, zeros}, 1).run()[0];
      for (int64_t i = 0; i < grid.count(); ++i) {
        const float s = scale.at<float>(grid.at(i));
        ASSERT_EQ(y.at<float>(size_t(i)), float(x.at<int32_t>(size_t(i)) - zero) * s) << grid.about << ' ' << i;
      }
    }
  }
}

}  // namespace
}  // namespace retort::ops
