// Tests that constants of quantised models become codes that operators on codes can read.
#include <cstring>

#include "passes/passes_testing.h"

namespace retort {
namespace {

Tensor bytes_of(DType type, Shape shape, const std::vector<uint8_t>& bytes) {
  Tensor t(type, std::move(shape));
  std::memcpy(t.mutable_data(), bytes.data(), bytes.size());
  return t;
}

/// The numbers of an input, rounded to codes.
ValueId quantized_input(TestGraph& t, Shape shape) {
  const ValueId zero = t.g.add_constant("z", Tensor::of<uint8_t>({}, {3}));
  const ValueId codes = t.add("QuantizeLinear", {t.input("x", std::move(shape)), t.scalar(0.25f), zero});
  return t.add("DequantizeLinear", {codes, t.scalar(0.25f), zero});
}

// Unsigned codes from 0 to 15, and zero points 8 and 15.
void filters_of_four_bits(TestGraph& t) {
  const ValueId x = quantized_input(t, {1, 1, 4, 4});
  const ValueId codes = t.g.add_constant("w", bytes_of(DType::u4, {2, 1, 2, 3}, {0xf0, 0x81, 0x37, 0x0f, 0x42, 0x9a}));
  const ValueId zeros = t.g.add_constant("w_zero", bytes_of(DType::u4, {2}, {0xf8}));
  const ValueId w = t.add("DequantizeLinear", {codes, t.floats({2}, {0.5f, 0.25f}), zeros}, {{"axis", int64_t(0)}});
  const ValueId zero = t.g.add_constant("y_zero", Tensor::of<uint8_t>({}, {100}));
  t.output(t.add("QuantizeLinear", {t.add("Conv", {x, w}), t.scalar(0.5f), zero}), "y");
}
const RuleExample example_of_filters_of_four_bits("constants_filters_of_four_bits", {"qdq_narrow", "qdq_conv"},
                                                  filters_of_four_bits, R"(graph(x: float32[1,1,4,4]) {
  QuantizeLinear#1: uint8[1,1,4,4] = QuantizeLinear(x, c#1, z)
  y: uint8[1,2,3,2] = QLinearConv(QuantizeLinear#1, c#2, z, codes#1, w#1, const#1, c#3, y_zero)
  return y
}
)");

void weights_of_a_product(TestGraph& t) {
  const ValueId x = quantized_input(t, {2, 3});
  const ValueId codes = t.g.add_constant("w", bytes_of(DType::u8, {3, 2}, {0, 155, 128, 28, 200, 100}));
  const ValueId zeros = t.g.add_constant("w_zero", bytes_of(DType::u8, {2}, {128, 28}));
  t.output(t.add("MatMul", {x, t.add("DequantizeLinear", {codes, t.floats({2}, {0.5f, 0.25f}), zeros})}), "y");
}
const RuleExample example_of_weights_of_a_product("constants_weights_of_a_product", {"qdq_narrow"},
                                                  weights_of_a_product, R"(graph(x: float32[2,3]) {
  QuantizeLinear#1: uint8[2,3] = QuantizeLinear(x, c#1, z)
  DequantizeLinear#1: float32[2,3] = DequantizeLinear(QuantizeLinear#1, c#2, z)
  DequantizeLinear#2: float32[3,2] = DequantizeLinear(codes#1, w#1)
  y: float32[2,2] = MatMul(DequantizeLinear#1, DequantizeLinear#2)
  return y
}
)");

TEST(QuantizedConstants, CodesFarFromTheirZeroPointStay) {
  TestGraph t;
  const ValueId x = quantized_input(t, {2, 3});
  const ValueId codes = t.g.add_constant("w", bytes_of(DType::u8, {3, 1}, {0, 228, 128}));
  const ValueId zero = t.g.add_constant("w_zero", bytes_of(DType::u8, {}, {100}));
  t.output(t.add("MatMul", {x, t.add("DequantizeLinear", {codes, t.scalar(0.5f), zero})}), "y");
  expect_no_rewrite(t, {"qdq_narrow"});
}

// MatMulNBits reads its weights of 4 bits as they are.
TEST(QuantizedConstants, WeightsOfFloatsStay) {
  TestGraph t;
  const ValueId codes = t.g.add_constant("w", bytes_of(DType::i4, {3, 2}, {0x71, 0x92, 0x03}));
  t.output(t.add("MatMul", {t.input("x", {2, 3}), t.add("DequantizeLinear", {codes, t.scalar(0.5f)})}), "y");
  expect_no_rewrite(t, {"qdq_narrow"});
}

TEST(QuantizedConstants, SignedWeightsWithoutZeroPointStay) {
  TestGraph t;
  const ValueId x = quantized_input(t, {2, 3});
  const ValueId codes = t.g.add_constant("w", bytes_of(DType::i8, {3, 1}, {0, 228, 128}));
  const ValueId zero = t.g.add_constant("w_zero", bytes_of(DType::i8, {}, {0}));
  t.output(t.add("MatMul", {x, t.add("DequantizeLinear", {codes, t.scalar(0.5f), zero})}), "y");
  expect_no_rewrite(t, {"qdq_narrow"});
}

void unsigned_filters(TestGraph& t) {
  const ValueId zero = t.g.add_constant("z", Tensor::of<uint8_t>({}, {3}));
  const ValueId codes = t.add("QuantizeLinear", {t.input("x", {1, 1, 4, 4}), t.scalar(0.25f), zero});
  const ValueId w = t.g.add_constant("w", bytes_of(DType::u8, {2, 1, 1, 2}, {0, 255, 27, 100}));
  const ValueId w_zeros = t.g.add_constant("w_zero", bytes_of(DType::u8, {2}, {128, 100}));
  t.output(
      t.add("QLinearConv", {codes, t.scalar(0.25f), zero, w, t.floats({2}, {0.5f, 0.25f}), w_zeros, t.scalar(1), zero}),
      "y");
  t.output(t.add("ConvInteger", {codes, w, zero, t.g.add_constant("one", bytes_of(DType::u8, {}, {128}))}), "sums");
  const ValueId small = t.g.add_constant("small", bytes_of(DType::u8, {1, 1, 1, 2}, {0, 127}));
  t.output(t.add("ConvInteger", {codes, small}), "others");
}
const RuleExample example_of_unsigned_filters("constants_unsigned_filters",
                                              {"narrow_filters", "narrow_integer_filters"}, unsigned_filters,
                                              R"(graph(x: float32[1,1,4,4]) {
  QuantizeLinear#1: uint8[1,1,4,4] = QuantizeLinear(x, c#1, z)
  y: uint8[1,2,4,3] = QLinearConv(QuantizeLinear#1, c#2, z, codes#1, w#1, const#1, c#3, z)
  sums: int32[1,2,4,3] = ConvInteger(QuantizeLinear#1, codes#2, z, const#2)
  others: int32[1,1,4,3] = ConvInteger(QuantizeLinear#1, codes#3, _, const#3)
  return y, sums, others
}
)");

// As tools write it that quantise weights when the model runs.
void weights_in_floats(TestGraph& t) {
  const ValueId x = quantized_input(t, {2, 3}), scale = t.scalar(0.5f);
  const ValueId zero = t.g.add_constant("w_zero", bytes_of(DType::i8, {}, {0}));
  const ValueId codes = t.add("QuantizeLinear", {t.floats({3, 2}, {1, -2, 3, 100, -0.2f, 0.3f}), scale, zero});
  t.output(t.add("MatMul", {x, t.add("DequantizeLinear", {codes, scale, zero})}), "y");
}
const RuleExample example_of_weights_in_floats("constants_weights_in_floats", {"qdq_constant", "qdq_matmul"},
                                               weights_in_floats, R"(graph(x: float32[2,3]) {
  QuantizeLinear#1: uint8[2,3] = QuantizeLinear(x, c#1, z)
  MatMulInteger#1: int32[2,2] = MatMulInteger(QuantizeLinear#1, codes#1, z, w_zero)
  Cast#1: float32[2,2] = Cast(MatMulInteger#1) {to=1}
  y: float32[2,2] = Mul(Cast#1, const#1)
  return y
}
)");

void a_pair_for_each_user(TestGraph& t) {
  const ValueId a = quantized_input(t, {2, 3});
  const ValueId b = t.add("DequantizeLinear", {t.input("b", {2, 3}, DType::u8), t.scalar(2)});
  const ValueId sum = t.add("Add", {a, b});
  for (const char* name : {"y", "z"}) {
    const ValueId zero = t.g.add_constant(t.g.unique_name("pair_zero"), Tensor::of<uint8_t>({}, {7}));
    const ValueId scale = t.scalar(0.5f), codes = t.add("QuantizeLinear", {sum, scale, zero});
    t.output(t.add("DequantizeLinear", {codes, scale, zero}), name);
  }
}
const RuleExample example_of_a_pair_for_each_user("constants_a_pair_for_each_user", {"qdq_twin", "qdq_add"},
                                                  a_pair_for_each_user, R"(graph(x: float32[2,3], b: uint8[2,3]) {
  QuantizeLinear#1: uint8[2,3] = QuantizeLinear(x, c#1, z)
  QLinearAdd#1: uint8[2,3] = retort.QLinearAdd(QuantizeLinear#1, c#2, z, b, c#3, const#1, c#4, pair_zero#1)
  y: float32[2,3] = DequantizeLinear(QLinearAdd#1, c#4, pair_zero#1)
  z: float32[2,3] = DequantizeLinear(QLinearAdd#1, c#5, pair_zero#2)
  return y, z
}
)");

TEST(QuantizedConstants, OtherCodesOfATensorStay) {
  const auto unchanged = [](float other_scale, uint8_t other_zero, bool seen) {
    TestGraph t;
    const ValueId x = t.input("x", {2, 3});
    const ValueId zero = t.g.add_constant("z", Tensor::of<uint8_t>({}, {7}));
    const ValueId other = t.g.add_constant("other", Tensor::of<uint8_t>({}, {other_zero}));
    const ValueId a = t.add("QuantizeLinear", {x, t.scalar(0.5f), zero});
    const ValueId b = t.add("QuantizeLinear", {x, t.scalar(other_scale), other});
    t.output(seen ? a : t.add("DequantizeLinear", {a, t.scalar(0.5f), zero}), "y");
    t.output(t.add("DequantizeLinear", {b, t.scalar(0.5f), zero}), "b");
    expect_no_rewrite(t, {"qdq_twin"});
  };
  unchanged(0.25f, 7, false);
  unchanged(0.5f, 8, false);
  unchanged(0.5f, 7, true);  // the program reads the codes
}

TEST(QuantizedConstants, CodesAlongAnotherAxisStay) {
  TestGraph t;
  const ValueId x = t.input("x", {2, 2}), scales = t.floats({2}, {0.5f, 0.25f});
  for (const int64_t axis : {0, 1}) {
    const Attributes attributes{{"axis", axis}};
    const ValueId codes = t.add("QuantizeLinear", {x, scales}, attributes);
    t.output(t.add("DequantizeLinear", {codes, scales}, attributes), "y" + std::to_string(axis));
  }
  expect_no_rewrite(t, {"qdq_twin"});
}

void chosen_rows(TestGraph& t) {
  const ValueId codes = t.g.add_constant("w", Tensor::of<uint16_t>({3, 2}, {0, 65535, 7, 40000, 5, 3}));
  const ValueId zero = t.g.add_constant("w_zero", Tensor::of<uint16_t>({}, {40000}));
  const ValueId w = t.add("DequantizeLinear", {codes, t.scalar(0.5f), zero});
  t.output(t.add("Gather", {w, t.g.add_constant("rows", Tensor::of<int64_t>({2, 1}, {2, -3}))}), "y");
}
const RuleExample example_of_chosen_rows("constants_chosen_rows", {"qdq_gather"}, chosen_rows, R"(graph() {
  Gather#1: uint16[2,1,2] = Gather(w, rows)
  y: float32[2,1,2] = DequantizeLinear(Gather#1, c#1, w_zero)
  return y
}
)");

// A scale and a zero point for each row, which is a block then.
void rows_with_scales(TestGraph& t) {
  const ValueId codes = t.g.add_constant("w", bytes_of(DType::i8, {3, 2}, {0, 228, 128, 7, 9, 100}));
  const ValueId zeros = t.g.add_constant("w_zero", bytes_of(DType::i8, {3}, {5, 128, 0}));
  const ValueId w = t.add("DequantizeLinear", {codes, t.floats({3}, {1, 2, 3}), zeros}, {{"axis", int64_t(0)}});
  t.output(t.add("Gather", {w, t.input("x", {1, 2}, DType::i64)}), "y");
}
const RuleExample example_of_rows_with_scales("constants_rows_with_scales", {"qdq_gather"}, rows_with_scales,
                                              R"(graph(x: int64[1,2]) {
  Gather#1: int8[1,2,2] = Gather(w, x)
  Gather#2: float32[1,2,1] = Gather(rows#1, x)
  Gather#3: int8[1,2,1] = Gather(rows#2, x)
  y: float32[1,2,2] = DequantizeLinear(Gather#1, Gather#2, Gather#3) {axis=2, block_size=2}
  return y
}
)");

// Blocks of two codes of four bits along the last axis.
void rows_of_blocks(TestGraph& t) {
  const ValueId codes = t.g.add_constant("w", bytes_of(DType::u4, {3, 4}, {0xf0, 0x81, 0x37, 0x0f, 0x42, 0x9a}));
  const ValueId zeros = t.g.add_constant("w_zero", bytes_of(DType::u4, {3, 2}, {0x3f, 0x21, 0x80}));
  const ValueId scales = t.floats({3, 2}, {1, 2, 3, 0.5f, 0.25f, 4});
  const ValueId w =
      t.add("DequantizeLinear", {codes, scales, zeros}, {{"axis", int64_t(-1)}, {"block_size", int64_t(2)}});
  t.output(t.add("Gather", {w, t.input("x", {}, DType::i64)}), "y");
}
const RuleExample example_of_rows_of_blocks("constants_rows_of_blocks", {"qdq_gather"}, rows_of_blocks,
                                            R"(graph(x: int64[]) {
  Gather#1: uint4[4] = Gather(w, x)
  Gather#2: float32[2] = Gather(w#1, x)
  Gather#3: uint4[2] = Gather(w_zero, x)
  y: float32[4] = DequantizeLinear(Gather#1, Gather#2, Gather#3) {axis=0, block_size=2}
  return y
}
)");

// The axis of the scales is moved by those of the indices.
void columns_of_filters(TestGraph& t) {
  const ValueId codes = t.g.add_constant("w", bytes_of(DType::u8, {2, 2, 2}, {0, 228, 128, 7, 9, 100, 255, 3}));
  const ValueId x = t.input("x", {1, 2}, DType::i64);
  for (const int64_t axis : {0, 2}) {
    const ValueId w = t.add("DequantizeLinear", {codes, t.floats({2}, {1, 2})}, {{"axis", axis}});
    t.output(t.add("Gather", {w, t.add("Min", {x, t.ints({1})})}, {{"axis", int64_t(1)}}), "y" + std::to_string(axis));
  }
}
const RuleExample example_of_columns_of_filters("constants_columns_of_filters", {"qdq_gather"}, columns_of_filters,
                                                R"(graph(x: int64[1,2]) {
  Min#1: int64[1,2] = Min(x, i#1)
  Gather#1: uint8[2,1,2,2] = Gather(w, Min#1) {axis=1}
  y0: float32[2,1,2,2] = DequantizeLinear(Gather#1, w#1) {axis=0}
  Min#2: int64[1,2] = Min(x, i#2)
  Gather#2: uint8[2,1,2,2] = Gather(w, Min#2) {axis=1}
  y2: float32[2,1,2,2] = DequantizeLinear(Gather#2, w#2) {axis=3}
  return y0, y2
}
)");

// A table with fewer rows than are chosen, such as that of token types, has fewer elements to dequantise than the result.
TEST(QuantizedConstants, TablesOfFewRowsStay) {
  const auto stays = [](int64_t rows, Shape indices) {
    TestGraph t;
    const Tensor w(DType::i8, Shape{rows, 4});
    std::memset(Tensor(w).mutable_data(), 1, w.bytes());
    const ValueId real = t.add("DequantizeLinear", {t.g.add_constant("w", w), t.scalar(0.5f)});
    indices[0] = t.symbol("n");
    const ValueId x = t.input("x", std::move(indices), DType::i64);
    t.output(t.add("Gather", {real, t.add("Min", {x, t.ints({1})})}), "y");
    expect_no_rewrite(t, {"qdq_gather"});
  };
  stays(2, {1});
  stays(500, {1, 16});
}

TEST(QuantizedConstants, RowsThatCannotBeChosenStay) {
  const auto stays = [](DType type, Shape shape, Shape scales, Attributes attributes, int64_t axis) {
    TestGraph t;
    const Tensor w(type, shape);
    std::memset(Tensor(w).mutable_data(), 0x12, w.bytes());
    const ValueId scale = t.weight("scale", std::move(scales));
    const ValueId real = t.add("DequantizeLinear", {t.g.add_constant("w", w), scale}, std::move(attributes));
    t.output(t.add("Gather", {real, t.ints({1})}, {{"axis", axis}}), "y");
    expect_no_rewrite(t, {"qdq_gather"});
  };
  stays(DType::u4, {3, 3}, {}, {}, 0);                                                      // parts of bytes
  stays(DType::u4, {3, 4}, {}, {}, 1);                                                      // parts of bytes
  stays(DType::i8, {3, 4}, {4}, {{"axis", int64_t(1)}}, 1);                                 // not rows
  stays(DType::i8, {3, 4, 2}, {3}, {{"axis", int64_t(0)}}, 0);                              // not matrices
  stays(DType::i8, {4, 4}, {2, 4}, {{"axis", int64_t(0)}, {"block_size", int64_t(2)}}, 0);  // of several rows
}

}  // namespace
}  // namespace retort
