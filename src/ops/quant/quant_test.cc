#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "ops/op_test.h"

namespace retort::ops {
namespace {

Tensor i8_values(Shape shape, const std::vector<int8_t>& values) { return Tensor::of(std::move(shape), values); }
Tensor scalar_u8(uint8_t value) { return u8({}, {value}); }
Tensor packed(DType type, Shape shape, const std::vector<uint8_t>& bytes) {
  Tensor t(type, std::move(shape));
  std::copy(bytes.begin(), bytes.end(), static_cast<uint8_t*>(t.mutable_data()));
  return t;
}

const OpTest quantize_linear("QuantizeLinear",
                             {{.about = "half to even, both ends, NaN",
                               .inputs = {f32({8}, {1, 3, -5, 2000, -2000, 5, 254, NAN}), f32({}, {2}), scalar_u8(128)},
                               .outputs = {u8({8}, {128, 130, 126, 255, 0, 130, 255, 0})},
                               .fixed_types = true},
                              {.about = "no zero point: uint8",
                               .inputs = {f32({2}, {3, -1}), f32({}, {1})},
                               .outputs = {u8({2}, {3, 0})},
                               .fixed_types = true},
                              {.about = "an axis with elements after it",
                               .attributes = {{"axis", int64_t(0)}},
                               .inputs = {f32({2, 2}, {1, 2, 3, 4}), f32({2}, {1, 0.5f}), i8_values({2}, {0, -1})},
                               .outputs = {i8_values({2, 2}, {1, 2, 5, 7})},
                               .fixed_types = true},
                              {.about = "the last axis",
                               .inputs = {f32({2, 2}, {1, 2, 3, 4}), f32({2}, {1, 0.5f}), i8_values({2}, {0, -1})},
                               .outputs = {i8_values({2, 2}, {1, 3, 3, 7})},
                               .fixed_types = true},
                              {.about = "blocks, the last one short",
                               .attributes = {{"block_size", int64_t(2)}},
                               .inputs = {f32({1, 3}, {2, 4, 6}), f32({1, 2}, {2, 3})},
                               .outputs = {u8({1, 3}, {1, 2, 2})},
                               .fixed_types = true},
                              {.about = "the quotient has the type of the scale: 2.5 in float16, as 2.5014 is none",
                               .inputs = {f32({1}, {0.3426f}), cast_to(f32({}, {0.137f}), DType::f16)},
                               .outputs = {u8({1}, {2})},
                               .fixed_types = true},
                              {.about = "the quotient has the given type",
                               .attributes = {{"precision", int64_t(1)}},
                               .inputs = {f32({1}, {0.3426f}), cast_to(f32({}, {0.137f}), DType::f16)},
                               .outputs = {u8({1}, {3})},
                               .fixed_types = true},
                              {.about = "four bits",
                               .attributes = {{"output_dtype", int64_t(22)}},
                               .inputs = {f32({3}, {-20, 3, 20}), f32({}, {1})},
                               .outputs = {packed(DType::i4, {3}, {0x38, 0x07})},
                               .fixed_types = true},
                              {.about = "float8",
                               .attributes = {{"output_dtype", int64_t(17)}},
                               .inputs = {f32({3}, {2, -4, 1e6f}), f32({}, {2})},
                               .outputs = {packed(DType::f8e4m3fn, {3}, {0x38, 0xc0, 0x7e})},
                               .fixed_types = true},
                              {.about = "float8, whose zero point is ignored",
                               .inputs = {f32({2}, {2, -4}), f32({}, {2}), packed(DType::f8e4m3fn, {}, {0x38})},
                               .outputs = {packed(DType::f8e4m3fn, {2}, {0x38, 0xc0})},
                               .fixed_types = true},
                              {.about = "nothing",
                               .inputs = {f32({0, 3}, {}), f32({3}, {1, 2, 3})},
                               .outputs = {u8({0, 3}, {})},
                               .fixed_types = true},
                              {.about = "more than a chunk",
                               .inputs = {random({5, 7001}), f32({}, {0.25f}), scalar_u8(100)},
                               .fixed_types = true}});

// Unsigned codes of four bits, from 0 to 15.
int32_t nibble(size_t i) { return int32_t((i * 7 + i / 5) % 16); }
Tensor nibbles(Shape shape) {
  Tensor t(DType::u4, std::move(shape));
  auto* bytes = t.mutable_data<uint8_t>();
  std::fill_n(bytes, t.bytes(), uint8_t(0));
  for (size_t i = 0; i < t.count(); ++i) bytes[i / 2] = uint8_t(bytes[i / 2] | nibble(i) << (i % 2 * 4));
  return t;
}
// With the scales and zero points of the rows.
Tensor plain_nibbles(Shape shape) {
  constexpr float kScales[] = {1, 0.5f, 2};
  constexpr int32_t kZeros[] = {0, 1, 15};
  Tensor t(DType::f32, std::move(shape));
  for (size_t i = 0; i < t.count(); ++i) {
    const size_t row = i / size_t(t.shape()[1]);
    t.mutable_data<float>()[i] = float(nibble(i) - kZeros[row]) * kScales[row];
  }
  return t;
}
Tensor half_nibbles(Shape shape) {
  Tensor t(DType::f32, std::move(shape));
  for (size_t i = 0; i < t.count(); ++i) t.mutable_data<float>()[i] = float(nibble(i)) * 0.5f;
  return t;
}

const OpTest dequantize_linear(
    "DequantizeLinear",
    {{.about = "one scale",
      .inputs = {u8({3}, {0, 128, 255}), f32({}, {2}), scalar_u8(128)},
      .outputs = {f32({3}, {-256, 0, 254})},
      .fixed_types = true},
     {.about = "an axis",
      .attributes = {{"axis", int64_t(0)}},
      .inputs = {i8_values({2, 2}, {1, 2, -3, 4}), f32({2}, {1, 0.5f})},
      .outputs = {f32({2, 2}, {1, 2, -1.5f, 2})},
      .fixed_types = true},
     {.about = "blocks along the first axis",
      .attributes = {{"axis", int64_t(0)}, {"block_size", int64_t(2)}},
      .inputs = {i8_values({3, 2}, {1, 2, 3, 4, 5, 6}), f32({2, 2}, {1, 2, 3, 4}), i8_values({2, 2}, {0, 1, 0, 1})},
      .outputs = {f32({3, 2}, {1, 2, 3, 6, 15, 20})},
      .fixed_types = true},
     {.about = "32 bits",
      .inputs = {i32({2}, {-2000000000, 7}), f32({}, {0.5f})},
      .outputs = {f32({2}, {-1e9f, 3.5f})},
      .fixed_types = true},
     {.about = "four bits, signed",
      .inputs = {packed(DType::i4, {3}, {0x38, 0x07}), f32({}, {2})},
      .outputs = {f32({3}, {-16, 6, 14})},
      .fixed_types = true},
     {.about = "two bits, signed, in rows that begin within a byte",
      .attributes = {{"axis", int64_t(0)}},
      .inputs = {packed(DType::i2, {2, 3}, {0b11'10'01'00, 0b0110}), f32({2}, {1, 0.5f})},
      .outputs = {f32({2, 3}, {0, 1, -2, -0.5f, -1, 0.5f})},
      .fixed_types = true},
     {.about = "16 bits",
      .inputs = {Tensor::of<uint16_t>({3}, {0, 40000, 65535}), f32({}, {0.5f}), Tensor::of<uint16_t>({}, {40000})},
      .outputs = {f32({3}, {-20000, 0, 12767.5f})},
      .fixed_types = true},
     {.about = "rows of four bits, longer than those that are widened at a time",
      .attributes = {{"axis", int64_t(0)}},
      .inputs = {nibbles({3, 1237}), f32({3}, {1, 0.5f, 2}), packed(DType::u4, {3}, {0x10, 0xf})},
      .outputs = {plain_nibbles({3, 1237})},
      .fixed_types = true},
     {.about = "columns of four bits, longer than those that are widened at a time",
      .inputs = {nibbles({2, 701}), f32({701}, std::vector<float>(701, 0.5f))},
      .outputs = {half_nibbles({2, 701})},
      .fixed_types = true},
     {.about = "float8",
      .inputs = {packed(DType::f8e4m3fn, {2}, {0x38, 0xc0}), f32({}, {2})},
      .outputs = {f32({2}, {2, -4})},
      .fixed_types = true}});

const OpTest dynamic_quantize_linear(
    "DynamicQuantizeLinear",
    {{.about = "both signs",
      .inputs = {f32({3}, {-1, 0, 1.55f})},
      .outputs = {u8({3}, {0, 100, 255}), f32({}, {0.01f}), u8({}, {100})}},
     {.about = "all positive",
      .inputs = {f32({2}, {51, 255})},
      .outputs = {u8({2}, {51, 255}), f32({}, {1}), u8({}, {0})}},
     {.about = "all zero", .inputs = {f32({2}, {0, 0})}, .outputs = {u8({2}, {0, 0}), f32({}, {1}), u8({}, {0})}},
     {.about = "nothing", .inputs = {f32({0}, {})}, .outputs = {u8({0}, {}), f32({}, {1}), u8({}, {0})}}});

// Codes over the whole range of their type.
Tensor codes(Shape shape) {
  Tensor t(DType::u8, std::move(shape));
  for (size_t i = 0; i < t.count(); ++i) t.mutable_data<uint8_t>()[i] = uint8_t(i * 89 + i / 7);
  return t;
}
// The same bits as int8.
Tensor signed_codes(Shape shape) {
  const Tensor from = codes(shape);
  Tensor t(DType::i8, std::move(shape));
  std::memcpy(t.mutable_data(), from.data(), from.count());
  return t;
}
int32_t code(const Tensor& t, int64_t i) { return t.dtype() == DType::i8 ? t.data<int8_t>()[i] : t.data<uint8_t>()[i]; }
Tensor plain_product(const Tensor& a, const Tensor& b, int32_t a_zero, int32_t b_zero) {
  const int64_t m = a.shape()[0], k = a.shape()[1], n = b.shape()[1];
  Tensor y(DType::i32, {m, n});
  for (int64_t i = 0; i < m * n; ++i) {
    int32_t sum = 0;
    for (int64_t l = 0; l < k; ++l) sum += (code(a, i / n * k + l) - a_zero) * (code(b, l * n + i % n) - b_zero);
    y.mutable_data<int32_t>()[i] = sum;
  }
  return y;
}

Tensor plain_vectors(const Tensor& a, const Tensor& b, int32_t a_zero) {
  int32_t sum = 0;
  for (int64_t i = 0; i < a.shape()[0]; ++i) sum += (code(a, i) - a_zero) * code(b, i);
  return i32({}, {sum});
}
// A reference for square images and weights with one group.
Tensor plain_conv(const Tensor& x, const Tensor& w, int64_t stride, int64_t pad, int32_t x_zero, int32_t w_zero) {
  const int64_t in_c = x.shape()[1], in = x.shape()[2], out_c = w.shape()[0], kernel = w.shape()[2];
  const int64_t out = (in + 2 * pad - kernel) / stride + 1;
  Tensor y(DType::i32, {x.shape()[0], out_c, out, out});
  for (int64_t i = 0; i < int64_t(y.count()); ++i) {
    const int64_t n = i / out / out / out_c, o = i / out / out % out_c, top = i / out % out * stride - pad;
    const int64_t left = i % out * stride - pad;
    int32_t sum = 0;
    for (int64_t t = 0; t < in_c * kernel * kernel; ++t) {
      const int64_t c = t / kernel / kernel, r = top + t / kernel % kernel, l = left + t % kernel;
      if (r < 0 || r >= in || l < 0 || l >= in) continue;
      sum +=
          (code(x, ((n * in_c + c) * in + r) * in + l) - x_zero) * (code(w, o * in_c * kernel * kernel + t) - w_zero);
    }
    y.mutable_data<int32_t>()[i] = sum;
  }
  return y;
}
// The reference for the depthwise example below.
Tensor plain_depthwise() {
  const Tensor x = codes({2, 3, 11, 17}), w = signed_codes({6, 1, 3, 2});
  Tensor y(DType::i32, {2, 6, 6, 7});
  for (int64_t i = 0; i < int64_t(y.count()); ++i) {
    const int64_t left = i % 7 * 3 - 1, top = i / 7 % 6 * 2 - 2, o = i / 42 % 6, n = i / 252;
    int32_t sum = 0;
    for (int64_t t = 0; t < 6; ++t) {
      const int64_t r = top + t / 2, l = left + t % 2 * 2;
      if (r < 0 || r >= 11 || l < 0 || l >= 17) continue;
      sum += (code(x, ((n * 3 + o / 2) * 11 + r) * 17 + l) - 100) * (code(w, o * 6 + t) - 4);
    }
    y.mutable_data<int32_t>()[i] = sum;
  }
  return y;
}
// Quantises sums times a scale.
Tensor plain_codes(const Tensor& sums, float scale, int32_t zero) {
  Tensor y(DType::u8, sums.shape());
  for (size_t i = 0; i < y.count(); ++i)
    y.mutable_data<uint8_t>()[i] =
        uint8_t(std::clamp(std::nearbyint(float(sums.data<int32_t>()[i]) * scale) + float(zero), 0.0f, 255.0f));
  return y;
}

const OpTest matmul_integer(
    "MatMulInteger",
    {{.about = "zero points by row and column",
      .inputs = {u8({2, 2}, {1, 2, 3, 4}), i8_values({2, 2}, {1, -1, 2, -2}), u8({2}, {1, 2}), i8_values({2}, {0, 1})},
      .outputs = {i32({2, 2}, {2, -3, 5, -8})},
      .fixed_types = true},
     {.about = "a batch times one matrix, no zero points",
      .inputs = {u8({2, 1, 2}, {1, 2, 255, 255}), u8({2, 1}, {255, 255})},
      .outputs = {i32({2, 1, 1}, {765, 130050})},
      .fixed_types = true},
     {.about = "sums beyond what a float holds",
      .inputs = {codes({3, 700}), codes({700, 37}), scalar_u8(3), scalar_u8(255)},
      .outputs = {plain_product(codes({3, 700}), codes({700, 37}), 3, 255)},
      .fixed_types = true},
     {.about = "signed times unsigned",
      .inputs = {signed_codes({33, 130}), codes({130, 65}), i8_values({}, {-5}), scalar_u8(9)},
      .outputs = {plain_product(signed_codes({33, 130}), codes({130, 65}), -5, 9)},
      .fixed_types = true},
     {.about = "a batch of each, the second broadcast",
      .inputs = {codes({2, 2, 3, 4}), signed_codes({2, 1, 4, 5})},
      .fixed_types = true},
     {.about = "zero points of each matrix of a batch",
      .inputs = {u8({2, 1, 2}, {1, 2, 3, 4}), i8_values({2, 2, 2}, {1, -1, 2, -2, 3, 0, -4, 5}), u8({2, 1, 1}, {1, 2}),
                 i8_values({2, 1, 2}, {0, 1, 1, -1})},
      .outputs = {i32({2, 1, 2}, {2, -3, -8, 13})},
      .fixed_types = true},
     {.about = "zero points by row, for each matrix the same, and one matrix for all",
      .inputs = {u8({2, 2, 1}, {5, 6, 7, 8}), i8_values({1, 2}, {1, -2}), u8({2}, {1, 2})},
      .outputs = {i32({2, 2, 2}, {4, -8, 4, -8, 6, -12, 6, -12})},
      .fixed_types = true},
     {.about = "zero points of each row of a batch, one matrix for all",
      .inputs = {u8({2, 2, 1}, {5, 6, 7, 8}), i8_values({1, 2}, {1, -2}), u8({2, 2, 1}, {1, 2, 4, 3})},
      .outputs = {i32({2, 2, 2}, {4, -8, 4, -8, 3, -6, 5, -10})},
      .fixed_types = true},
     {.about = "zero points of matrices that are broadcast",
      .inputs = {u8({2, 2, 1, 1}, {1, 2, 3, 4}), i8_values({2, 1, 1}, {10, 20}), {}, i8_values({2, 1, 1}, {1, 2})},
      .outputs = {i32({2, 2, 1, 1}, {9, 36, 27, 72})},
      .fixed_types = true},
     {.about = "vectors",
      .inputs = {codes({70}), signed_codes({70}), scalar_u8(3)},
      .outputs = {plain_vectors(codes({70}), signed_codes({70}), 3)},
      .fixed_types = true},
     {.about = "nothing to sum",
      .inputs = {u8({2, 0}, {}), u8({0, 1}, {})},
      .outputs = {i32({2, 1}, {0, 0})},
      .fixed_types = true}});

const OpTest conv_integer(
    "ConvInteger",
    {{.about = "padding is the zero point",
      .attributes = {{"pads", std::vector<int64_t>{1, 1, 1, 1}}},
      .inputs = {u8({1, 1, 2, 2}, {2, 3, 4, 5}), u8({1, 1, 2, 2}, {1, 1, 1, 1}), scalar_u8(1)},
      .outputs = {i32({1, 1, 3, 3}, {1, 3, 2, 4, 10, 6, 3, 7, 4})},
      .fixed_types = true},
     {.about = "groups, zero points by output",
      .attributes = {{"group", int64_t(2)}},
      .inputs = {u8({1, 2, 1, 2}, {1, 2, 3, 4}), i8_values({2, 1, 1, 1}, {2, -3}), scalar_u8(0),
                 i8_values({2}, {1, -1})},
      .outputs = {i32({1, 2, 1, 2}, {1, 2, -6, -8})},
      .fixed_types = true},
     {.about = "strides, channels and positions that do not fill a quad or a panel",
      .attributes = {{"pads", std::vector<int64_t>{2, 2, 2, 2}}, {"strides", std::vector<int64_t>{2, 2}}},
      .inputs = {codes({2, 6, 13, 13}), codes({37, 6, 5, 5}), scalar_u8(100), scalar_u8(90)},
      .outputs = {plain_conv(codes({2, 6, 13, 13}), codes({37, 6, 5, 5}), 2, 2, 100, 90)},
      .fixed_types = true},
     {.about = "signed, one position per filter",
      .inputs = {signed_codes({1, 70, 6, 6}), signed_codes({5, 70, 1, 1}), i8_values({}, {-3})},
      .outputs = {plain_conv(signed_codes({1, 70, 6, 6}), signed_codes({5, 70, 1, 1}), 1, 0, -3, 0)},
      .fixed_types = true},
     {.about = "few filters for each channel, strides, dilation, padding",
      .attributes = {{"group", int64_t(3)},
                     {"pads", std::vector<int64_t>{2, 1, 0, 3}},
                     {"dilations", std::vector<int64_t>{1, 2}},
                     {"strides", std::vector<int64_t>{2, 3}}},
      .inputs = {codes({2, 3, 11, 17}), signed_codes({6, 1, 3, 2}), scalar_u8(100), i8_values({}, {4})},
      .outputs = {plain_depthwise()},
      .fixed_types = true},
     {.about = "one filter, more than a strip",
      .attributes = {{"pads", std::vector<int64_t>{1, 1, 1, 1}}},
      .inputs = {signed_codes({1, 1, 150, 150}), codes({1, 1, 3, 3}), i8_values({}, {7}), scalar_u8(30)},
      .outputs = {plain_conv(signed_codes({1, 1, 150, 150}), codes({1, 1, 3, 3}), 1, 1, 7, 30)},
      .fixed_types = true},
     {.about = "one axis, dilated",
      .attributes = {{"dilations", std::vector<int64_t>{2}}},
      .inputs = {u8({1, 1, 5}, {1, 2, 3, 4, 5}), i8_values({1, 1, 3}, {1, -1, 2})},
      .outputs = {i32({1, 1, 1}, {8})},
      .fixed_types = true},
     {.about = "no channels",
      .inputs = {u8({1, 0, 2, 2}, {}), u8({3, 0, 2, 2}, {})},
      .outputs = {i32({1, 3, 1, 1}, {0, 0, 0})},
      .fixed_types = true}});

const OpTest q_linear_matmul(
    "QLinearMatMul",
    {{.about = "half to even",
      .inputs = {u8({2, 2}, {10, 0, 200, 3}), f32({}, {0.5f}), scalar_u8(0), i8_values({2, 2}, {1, 3, 2, -5}),
                 f32({}, {1}), i8_values({}, {0}), f32({}, {2}), scalar_u8(7)},
      .outputs = {u8({2, 2}, {9, 15, 59, 153})},
      .fixed_types = true},
     {.about = "scales and zero points by row and column, signed codes",
      .inputs = {u8({2, 1}, {10, 20}), f32({2}, {1, 2}), u8({2}, {0, 10}), i8_values({1, 2}, {3, -3}),
                 f32({2}, {1, 0.5f}), i8_values({2}, {1, 0}), f32({}, {1}), i8_values({}, {-1})},
      .outputs = {i8_values({2, 2}, {19, -16, 39, -31})},
      .fixed_types = true},
     {.about = "scales and zero points of each matrix of a batch",
      .inputs = {u8({2, 1, 1}, {10, 20}), f32({2, 1, 1}, {1, 2}), u8({2, 1, 1}, {0, 10}),
                 i8_values({2, 1, 2}, {3, -3, 1, 2}), f32({2, 1, 2}, {1, 0.5f, 0.5f, 1}),
                 i8_values({2, 1, 2}, {1, 0, 0, 1}), f32({}, {1}), i8_values({}, {-1})},
      .outputs = {i8_values({2, 1, 2}, {19, -16, 9, 19})},
      .fixed_types = true},
     {.about = "more than a tile",
      .inputs = {codes({50, 70}), f32({}, {0.01f}), scalar_u8(120), signed_codes({70, 40}), f32({}, {0.5f}),
                 i8_values({}, {0}), f32({}, {2}), scalar_u8(128)},
      .outputs = {plain_codes(plain_product(codes({50, 70}), signed_codes({70, 40}), 120, 0), 0.01f * 0.5f / 2, 128)},
      .fixed_types = true}});

const OpTest q_linear_conv(
    "QLinearConv",
    {{.about = "bias, scales by output",
      .inputs = {u8({1, 1, 1, 2}, {10, 20}), f32({}, {2}), scalar_u8(10), i8_values({2, 1, 1, 1}, {2, -3}),
                 f32({2}, {1, 0.5f}), i8_values({2}, {0, 0}), f32({}, {4}), scalar_u8(100), i32({2}, {5, 0})},
      .outputs = {u8({1, 2, 1, 2}, {102, 112, 100, 92})},
      .fixed_types = true},
     {.about = "more than a tile, padded",
      .attributes = {{"pads", std::vector<int64_t>{1, 1, 1, 1}}},
      .inputs = {codes({2, 5, 9, 9}), f32({}, {0.01f}), scalar_u8(120), signed_codes({40, 5, 3, 3}), f32({}, {0.5f}),
                 i8_values({}, {2}), f32({}, {2}), scalar_u8(128)},
      .outputs = {plain_codes(plain_conv(codes({2, 5, 9, 9}), signed_codes({40, 5, 3, 3}), 1, 1, 120, 2),
                              0.01f * 0.5f / 2, 128)},
      .fixed_types = true}});

// The parameters have the right number of elements but the wrong shape.
TEST(CodesMatMul, ParametersOfAnotherShapeAreRejected) {
  const auto run = [](const Tensor& a_zero, const Tensor& b_zero) {
    return OpRun("", "MatMulInteger", {}, {codes({3, 3, 4}), codes({3, 4, 2}), a_zero, b_zero}, 1).run();
  };
  for (const Shape& fits : {Shape{}, Shape{1, 1}, Shape{3}, Shape{3, 3, 1}}) EXPECT_NO_THROW(run(codes(fits), {}));
  for (const Shape& wrong : {Shape{4}, Shape{9}, Shape{3, 1}, Shape{3, 1, 1}, Shape{1, 3, 1}, Shape{3, 1, 3}})
    EXPECT_THROW(run(codes(wrong), {}), Error);
  for (const Shape& fits : {Shape{}, Shape{1, 1}, Shape{2}, Shape{3, 1, 2}}) EXPECT_NO_THROW(run({}, codes(fits)));
  for (const Shape& wrong : {Shape{4}, Shape{6}, Shape{1, 2}, Shape{2, 1}, Shape{3, 2, 1}, Shape{1, 1, 2}})
    EXPECT_THROW(run({}, codes(wrong)), Error);
}

}  // namespace
}  // namespace retort::ops
