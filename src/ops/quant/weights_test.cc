// Products and rows of weights that are stored in few bits, beside plain loops over the same codes.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "ops/op_test.h"
#include "ops/quant/common/packed_format.h"

namespace retort::ops {
namespace {

Tensor bytes_of(Shape shape, uint32_t seed) {
  Tensor t(DType::u8, std::move(shape));
  for (size_t i = 0; i < t.count(); ++i) t.mutable_data<uint8_t>()[i] = uint8_t((i + seed) * 2654435761u >> 24);
  return t;
}
int code_at(const Tensor& t, size_t row, size_t i, size_t bits) {
  const size_t width = size_t(t.count() / size_t(t.shape()[0]));
  return t.data<uint8_t>()[row * width + i * bits / 8] >> (i * bits % 8) & ((1 << bits) - 1);
}

/// A case of MatMulNBits with the product by plain loops.
struct NBits {
  int64_t rows, k, n, bits, block;
  bool zeros = false, real_zeros = false, bias = false, groups = false;

  OpCase test(std::string about) const {
    const int64_t blocks = (k + block - 1) / block;
    const Tensor a = random({rows, k}, 3), b = bytes_of({n, blocks, block * bits / 8}, 7);
    const Tensor scales = random({n, blocks}, 5, 0.125, 1), added = random({n}, 9);
    const Tensor packed = bytes_of({n, (blocks * bits + 7) / 8}, 11), real = random({n, blocks}, 13, 0, 3);
    Tensor group(DType::i32, {k}), y(DType::f32, {rows, n});
    for (int64_t i = 0; i < k; ++i) group.mutable_data<int32_t>()[i] = int32_t(groups ? i % blocks : i / block);
    for (int64_t r = 0; r < rows; ++r) {
      for (int64_t j = 0; j < n; ++j) {
        double sum = bias ? double(added.data<float>()[j]) : 0;
        for (int64_t i = 0; i < k; ++i) {
          const int64_t g = group.data<int32_t>()[i], at = j * blocks + g;
          const double zero = real_zeros ? double(real.data<float>()[at])
                              : zeros    ? code_at(packed, size_t(j), size_t(g), size_t(bits))
                                         : 1 << (bits - 1);
          const double weight =
              (code_at(b, size_t(j), size_t(i), size_t(bits)) - zero) * double(scales.data<float>()[at]);
          sum += double(a.data<float>()[r * k + i]) * weight;
        }
        y.mutable_data<float>()[r * n + j] = float(sum);
      }
    }
    return {.about = std::move(about),
            .attributes = {{"K", k}, {"N", n}, {"bits", bits}, {"block_size", block}},
            .inputs = {a, b, scales,
                       real_zeros ? real
                       : zeros    ? packed
                                  : Tensor(),
                       groups ? group : Tensor(), bias ? added : Tensor()},
            .outputs = {y},
            .fixed_types = true,
            .tolerance = double(k << bits)};
  }
};

const OpTest matmul_n_bits("MatMulNBits",
                           {NBits{2, 20, 3, 4, 16}.test("4 bits, the last block short"),
                            NBits{1, 33, 40, 2, 16, true}.test("2 bits with zero points"),
                            NBits{5, 64, 70, 8, 32, true, false, true}.test("8 bits with zero points and a bias"),
                            NBits{3, 48, 5, 4, 16, false, true}.test("zero points of the type of A"),
                            NBits{4, 40, 6, 4, 16, true, false, false, true}.test("blocks by element"),
                            NBits{17, 300, 65, 4, 128, true, false, true}.test("several panels"),
                            {.about = "omitted weights: the bias",
                             .attributes = {{"K", int64_t(16)}, {"N", int64_t(2)}, {"block_size", int64_t(16)}},
                             .inputs = {random({1, 16}), u8({0, 1, 8}, {}), f32({0}, {}), {}, {}, f32({2}, {3, -1})},
                             .outputs = {f32({1, 2}, {3, -1})}}},
                           {.domain = "com.microsoft"});

// Two rows of B are 1 and -1 (FP4), and the first codes of NF4.
const OpTest matmul_bnb4(
    "MatMulBnb4",
    {{.about = "FP4",
      .attributes = {{"K", int64_t(2)}, {"N", int64_t(2)}, {"block_size", int64_t(16)}, {"quant_type", int64_t(0)}},
      .inputs = {f32({1, 2}, {1, 2}), u8({2}, {0x3b, 0x57}), f32({1}, {2})},
      .outputs = {f32({1, 2}, {-2, 2})}},
     {.about = "NF4, not transposed",
      .attributes = {{"K", int64_t(2)},
                     {"N", int64_t(2)},
                     {"block_size", int64_t(16)},
                     {"quant_type", int64_t(1)},
                     {"transB", int64_t(0)}},
      .inputs = {f32({1, 2}, {1, 2}), u8({2}, {0x0f, 0x77}), f32({1}, {2})},
      .outputs = {f32({1, 2}, {-2, 2})}},
     {.about = "several panels",
      .attributes = {{"K", int64_t(33)}, {"N", int64_t(70)}, {"block_size", int64_t(64)}, {"quant_type", int64_t(1)}},
      .inputs = {random({7, 33}), bytes_of({1155}, 1), random({37}, 2, 0.125, 1)},
      .fixed_types = true}},
    {.domain = "com.microsoft", .tolerance = 8});

// A block of 32 codes: scale, zero point if there is one, then byte i holds elements i and i + 16.
Tensor blob(float scale, int zero, const std::vector<uint8_t>& first) {
  std::vector<uint8_t> bytes(sizeof scale + (zero >= 0 ? 1 : 0) + 16, 0);
  std::memcpy(bytes.data(), &scale, sizeof scale);
  if (zero >= 0) bytes[sizeof scale] = uint8_t(zero);
  std::copy(first.begin(), first.end(), bytes.end() - 16);
  return u8({int64_t(bytes.size())}, bytes);
}
const OpTest matmul_fp_q4("MatMulFpQ4",
                          {{.about = "no zero point: 8",
                            .attributes = {{"blk_quant_type", int64_t(0)}},
                            .inputs = {f32({1, 2}, {1, 10}), blob(0.5f, -1, {0x0a, 0x06}), i64({2}, {2, 1})},
                            .outputs = {f32({1, 1}, {-9})}},
                           {.about = "a zero point, and the upper half of a block",
                            .inputs = {f32({1, 17}, {1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 10}),
                                       blob(2, 3, {0x45, 0x03}), i64({2}, {17, 1})},
                            .outputs = {f32({1, 1}, {24})}}},
                          {.domain = "com.microsoft", .tolerance = 8});

Tensor packed4(DType type, Shape shape, const std::vector<uint8_t>& bytes) {
  Tensor t(type, std::move(shape));
  std::copy(bytes.begin(), bytes.end(), static_cast<uint8_t*>(t.mutable_data()));
  return t;
}
Attributes blocked(int64_t block, int64_t bits = 4, int64_t quantized = 1) {
  return {{"bits", bits}, {"block_size", block}, {"quantize_axis", quantized}};
}
// Rows of three blocks of 16 codes, of which the last is short; with zero points or without.
OpCase many_blocks(int64_t bits, bool zeros, const std::vector<int64_t>& rows) {
  const size_t width = 40, blocks = 3, per_byte = size_t(8 / bits), height = 5;
  std::vector<uint8_t> codes(height * width / per_byte), zero(height * ((blocks + per_byte - 1) / per_byte));
  for (size_t i = 0; i < codes.size(); ++i) codes[i] = uint8_t(i * 37 + 11);
  for (size_t i = 0; i < zero.size(); ++i) zero[i] = uint8_t(i * 53 + 7);
  std::vector<float> scales(height * blocks), y;
  for (size_t i = 0; i < scales.size(); ++i) scales[i] = float(i % 4 + 1) / 8;
  const auto code = [&](const std::vector<uint8_t>& of, size_t row, size_t line, size_t i) {
    const unsigned byte = of[row * line + i / per_byte];
    return int(byte >> (i % per_byte * size_t(bits)) & ((1u << bits) - 1));
  };
  for (const int64_t row : rows) {
    for (size_t i = 0; i < width; ++i) {
      const size_t r = size_t(row), middle = size_t(1) << (bits - 1);
      const int from = zeros ? code(zero, r, zero.size() / height, i / 16) : int(middle);
      y.push_back(float(code(codes, r, width / per_byte, i) - from) * scales[r * blocks + i / 16]);
    }
  }
  const auto n = int64_t(rows.size());
  OpCase c{.about = cat("{} bits{}", bits, zeros ? " and zero points" : ""),
           .attributes = blocked(16, bits),
           .inputs = {u8({5, int64_t(width / per_byte)}, codes), i64({n}, rows), f32({5, 3}, scales)},
           .outputs = {f32({n, int64_t(width)}, y)}};
  if (zeros) c.inputs.push_back(u8({5, int64_t(zero.size() / height)}, zero));
  return c;
}
const OpTest gather_block_quantized(
    "GatherBlockQuantized",
    {{.about = "bytes of two codes; an index from the end and one outside",
      .attributes = blocked(16),
      .inputs = {u8({2, 1}, {0x21, 0xf8}), i64({3}, {1, -2, 5}), f32({2, 1}, {1, 2})},
      .outputs = {f32({3, 2}, {0, 14, -7, -6, 0, 0})},
      .fixed_types = true},
     {.about = "zero points",
      .attributes = blocked(16),
      .inputs = {u8({1, 1}, {0x21}), i64({}, {0}), f32({1, 1}, {0.5f}), u8({1, 1}, {0x04})},
      .outputs = {f32({2}, {-1.5f, -1})},
      .fixed_types = true},
     {.about = "bytes of one code: zero point 128",
      .attributes = blocked(16, 8),
      .inputs = {u8({1, 2}, {0, 255}), i32({1}, {0}), f32({1, 1}, {1})},
      .outputs = {f32({1, 2}, {-128, 127})},
      .fixed_types = true},
     many_blocks(2, false, {3, 0}),
     many_blocks(4, false, {1, 4, 4}),
     many_blocks(4, true, {2}),
     many_blocks(8, false, {0, 3}),
     many_blocks(8, true, {4, 1}),
     {.about = "signed codes, scales along the first axis, gathered along the last",
      .attributes = {{"block_size", int64_t(16)}, {"quantize_axis", int64_t(0)}, {"gather_axis", int64_t(1)}},
      .inputs = {packed4(DType::i4, {2, 2}, {0xf1, 0x87}), i64({1}, {1}), f32({1, 2}, {1, 2})},
      .outputs = {f32({2, 1}, {-2, -16})},
      .fixed_types = true},
     {.about = "float8, one scale for all",
      .attributes = blocked(0),
      .inputs = {packed4(DType::f8e4m3fn, {2, 2}, {0x38, 0xc0, 0x38, 0x40}), i64({1}, {0}), f32({1, 1}, {3})},
      .outputs = {f32({1, 2}, {3, -6})},
      .fixed_types = true},
     {.about = "nothing",
      .attributes = blocked(16),
      .inputs = {u8({2, 1}, {0x21, 0xf8}), i64({0}, {}), f32({2, 1}, {1, 2})},
      .outputs = {f32({0, 2}, {})},
      .fixed_types = true}},
    {.domain = "com.microsoft"});

// A row of one block whose bytes are `bytes` after a scale of 1, and zeros.
Tensor packed_row(int64_t format, const std::vector<uint8_t>& bytes) {
  Tensor t(DType::u8, {1, int64_t(find_packed_format(format)->bytes)});
  std::memset(t.mutable_data(), 0, t.bytes());
  t.mutable_data<uint8_t>()[1] = 0x3c;
  std::copy(bytes.begin(), bytes.end(), t.mutable_data<uint8_t>() + 2);
  return t;
}
OpCase packed_case(int64_t format, const std::vector<uint8_t>& bytes, const std::vector<float>& first, float rest) {
  std::vector<float> y(find_packed_format(format)->block, rest);
  std::copy(first.begin(), first.end(), y.begin());
  const auto k = int64_t(y.size());
  return {.about = cat("format {}", format),
          .attributes = {{"K", k}, {"packed_type", format}, {"output_dtype", int64_t(1)}},
          .inputs = {packed_row(format, bytes), i64({1}, {0})},
          .outputs = {f32({1, k}, y)},
          .fixed_types = true};
}
const OpTest gather_packed(
    "GatherPacked",
    {{.about = "floats; an index outside means row 0",
      .attributes = {{"K", int64_t(1)}, {"packed_type", int64_t(0)}, {"output_dtype", int64_t(1)}},
      .inputs = {u8({2, 4}, {0, 0, 0x80, 0x3f, 0, 0, 0, 0x40}), i64({3}, {1, -1, 2})},
      .outputs = {f32({3, 1}, {2, 1, 1})},
      .fixed_types = true},
     packed_case(8, {1, 255}, {1, -1}, 0),
     packed_case(42, {0xe4}, {-1, 0, 1, 2}, -1)},
    {.domain = "com.microsoft"});

std::vector<float> decoded(int64_t format, const std::vector<uint8_t>& bytes) {
  const PackedFormat* f = find_packed_format(format);
  const Tensor row = packed_row(format, bytes);
  std::vector<float> y(f->block);
  f->decode(row.data<uint8_t>(), y.data());
  return y;
}

TEST(PackedFormats, FirstElementsByHand) {
  EXPECT_EQ(decoded(2, {0x79})[0], 1);
  EXPECT_EQ(decoded(2, {0x79})[16], -1);
  const std::vector<float> q5 = decoded(6, {1, 0, 0, 0, 0x21});  // the fifth bit of the first element
  EXPECT_EQ(q5[0], 1);
  EXPECT_EQ(q5[16], -14);
  EXPECT_EQ(decoded(20, {0xf0})[0], -127);
  EXPECT_EQ(decoded(20, {0xf0})[16], 113);
}

TEST(PackedFormats, AllBlocksHaveFiniteElements) {
  for (int64_t id = 0; id < 64; ++id) {
    const PackedFormat* f = find_packed_format(id);
    if (!f || f->block == 1) continue;
    const Tensor bytes = bytes_of({int64_t(f->bytes)}, 5);
    std::vector<uint8_t> block(bytes.data<uint8_t>(), bytes.data<uint8_t>() + f->bytes);
    block[1] &= 0x3f;  // a scale below 2
    if (id == 13) block[3] &= 0x3f;
    if (id == 14) block[209] &= 0x3f;
    std::vector<float> y(f->block, NAN);
    f->decode(block.data(), y.data());
    for (const float v : y) EXPECT_TRUE(std::isfinite(v)) << id;
  }
}

}  // namespace
}  // namespace retort::ops
