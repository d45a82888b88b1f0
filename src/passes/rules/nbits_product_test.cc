// Tests that products by constant codes read the codes.
#include <array>
#include <vector>

#include "passes/passes_testing.h"

namespace retort {
namespace {

Tensor codes(DType type, Shape shape) {
  Tensor t(type, std::move(shape));
  for (size_t i = 0; i < t.bytes(); ++i) t.mutable_data<uint8_t>()[i] = uint8_t(i * 37 + 11);
  return t;
}

void a_product_by_columns(TestGraph& t) {
  const ValueId w = t.g.add_constant("w", codes(DType::i8, {40, 3}));
  const ValueId zeros = t.g.add_constant("z", Tensor::of<int8_t>({3}, {0, -5, 7}));
  const ValueId b = t.add("DequantizeLinear", {w, t.floats({3}, {0.5f, 0.25f, 2}), zeros}, {{"axis", int64_t(1)}});
  t.output(t.add("MatMul", {t.input("x", {2, 40}), b}), "y");
}
const RuleExample example_of_a_product_by_columns("nbits_product_by_columns", {"nbits_matmul"}, a_product_by_columns,
                                                  R"(graph(x: float32[2,40]) {
  y: float32[2,3] = com.microsoft.MatMulNBits(x, codes#1, scales#1, zeros#1) {K=40, N=3, bits=8, block_size=64}
  return y
}
)");

void a_turned_product_by_blocks(TestGraph& t) {
  const ValueId w = t.g.add_constant("w", codes(DType::u4, {3, 48}));
  const ValueId b =
      t.add("DequantizeLinear", {w, t.weight("s", {3, 3})}, {{"axis", int64_t(1)}, {"block_size", int64_t(16)}});
  t.output(t.add("Gemm", {t.input("x", {2, 48}), b, t.weight("bias", {3})}, {{"transB", int64_t(1)}}), "y");
}
const RuleExample example_of_a_turned_product_by_blocks("nbits_turned_product_by_blocks", {"nbits_gemm"},
                                                        a_turned_product_by_blocks, R"(graph(x: float32[2,48]) {
  y: float32[2,3] = com.microsoft.MatMulNBits(x, codes#1, scales#1, zeros#1, _, bias) {K=48, N=3, bits=4, block_size=16}
  return y
}
)");

/// The factor is one of the scales.
void a_product_with_a_factor(TestGraph& t) {
  const ValueId w = t.g.add_constant("w", codes(DType::i8, {40, 3}));
  const ValueId b = t.add("DequantizeLinear", {w, t.floats({3}, {0.5f, 0.25f, 2})}, {{"axis", int64_t(1)}});
  t.output(t.add("Gemm", {t.input("x", {2, 40}), b, t.weight("bias", {3})}, {{"alpha", 0.375f}}), "y");
}
const RuleExample example_of_a_product_with_a_factor("nbits_product_with_a_factor", {"nbits_gemm"},
                                                     a_product_with_a_factor, R"(graph(x: float32[2,40]) {
  y: float32[2,3] = com.microsoft.MatMulNBits(x, codes#1, scales#1, _, _, bias) {K=40, N=3, bits=8, block_size=64}
  return y
}
)");

TEST(NBitsProduct, FactorsThatScalesMayNotHoldStay) {
  for (const float alpha : {0.0f, 1e-12f, -1e12f}) {
    TestGraph t;
    const ValueId b = t.add("DequantizeLinear", {t.g.add_constant("w", codes(DType::i8, {40, 3})), t.scalar(0.5f)});
    t.output(t.add("Gemm", {t.input("x", {2, 40}), b}, {{"alpha", alpha}}), "y");
    expect_no_rewrite(t, {"nbits_gemm"});
  }
}

/// An axis that no scale needs, and that the matrix does not have.
void a_product_with_one_scale(TestGraph& t) {
  const ValueId w = t.g.add_constant("w", codes(DType::u8, {40, 3}));
  t.output(
      t.add("MatMul", {t.input("x", {2, 40}), t.add("DequantizeLinear", {w, t.scalar(0.5f)}, {{"axis", int64_t(7)}})}),
      "y");
}
const RuleExample example_of_a_product_with_one_scale("nbits_product_with_one_scale", {"nbits_matmul"},
                                                      a_product_with_one_scale, R"(graph(x: float32[2,40]) {
  y: float32[2,3] = com.microsoft.MatMulNBits(x, codes#1, scales#1, zeros#1) {K=40, N=3, bits=8, block_size=64}
  return y
}
)");

/// As tools write weights of 4 bits with a scale for each column.
void a_block_for_each_column(TestGraph& t) {
  const ValueId w = t.g.add_constant("w", codes(DType::i4, {3, 48}));
  const ValueId b =
      t.add("DequantizeLinear", {w, t.weight("s", {3, 1})}, {{"axis", int64_t(1)}, {"block_size", int64_t(48)}});
  t.output(t.add("MatMul", {t.input("x", {2, 48}), t.add("Transpose", {b}, {{"perm", std::vector<int64_t>{1, 0}}})}),
           "y");
}
const RuleExample example_of_a_block_for_each_column("nbits_product_with_a_block_for_each_column", {"nbits_matmul"},
                                                     a_block_for_each_column, R"(graph(x: float32[2,48]) {
  y: float32[2,3] = com.microsoft.MatMulNBits(x, codes#1, scales#1, _) {K=48, N=3, bits=4, block_size=64}
  return y
}
)");

TEST(NBitsProduct, ATransposeThatMovesNothingStays) {
  TestGraph t;
  const ValueId b = t.add("DequantizeLinear", {t.g.add_constant("w", codes(DType::i8, {48, 48})), t.scalar(0.5f)});
  t.output(t.add("MatMul", {t.input("x", {2, 48}), t.add("Transpose", {b}, {{"perm", std::vector<int64_t>{0, 1}}})}),
           "y");
  expect_no_rewrite(t, {"nbits_matmul"});
}

TEST(NBitsProduct, LongBlocksStay) {
  TestGraph t;
  const ValueId b =
      t.add("DequantizeLinear", {t.g.add_constant("w", codes(DType::i8, {3, 100})), t.weight("s", {3, 2})},
            {{"axis", int64_t(1)}, {"block_size", int64_t(60)}});
  t.output(t.add("Gemm", {t.input("x", {2, 100}), b}, {{"transB", int64_t(1)}}), "y");
  expect_no_rewrite(t, {"nbits_gemm"});
}

/// Checks the codes and scales that the rule gives to MatMulNBits for codes in blocks of 16.
void check_rows_of_columns(DType type, int64_t k, int64_t n, bool turned) {
  constexpr int64_t kBlock = 16;
  const int64_t blocks = (k + kBlock - 1) / kBlock;
  const auto shape = [turned](int64_t rows, int64_t columns) {
    return turned ? Shape{columns, rows} : Shape{rows, columns};
  };
  const Tensor from = codes(type, shape(k, n));
  TestGraph t;
  const ValueId s = t.weight("s", shape(blocks, n));
  const ValueId b =
      t.add("DequantizeLinear", {t.g.add_constant("w", from), s}, {{"axis", int64_t(turned)}, {"block_size", kBlock}});
  t.output(t.add("Gemm", {t.input("x", {2, k}), b}, {{"transB", int64_t(turned)}}), "y");
  const Tensor scales = *t.g.constant(s);
  const std::string_view rule = "nbits_gemm";
  PassOptions options;
  PassContext context(options);
  rewrite(t.g, rules_named({&rule, 1}), context);
  const Node& product = *t.g.producer(t.g.outputs[0]);
  ASSERT_EQ(product.type, "MatMulNBits");
  const auto bits = size_t(product.attributes.get_or<int64_t>("bits", 0));
  const auto code = [bits](const Tensor& of, size_t i) {
    const auto* bytes = static_cast<const uint8_t*>(of.data());
    return bits == 8 ? unsigned(bytes[i]) : bytes[i / 2] >> (i % 2 * 4) & 0xfu;
  };
  const unsigned sign = type == DType::i8 ? 0x80 : type == DType::i4 ? 8 : 0;
  for (int64_t j = 0; j < n; ++j) {
    for (int64_t i = 0; i < k; ++i) {
      const size_t at = size_t(turned ? j * k + i : i * n + j), to = size_t(j * blocks * kBlock + i);
      ASSERT_EQ(code(*t.g.constant(product.inputs[1]), to), code(from, at) ^ sign) << "column " << j << " step " << i;
    }
    for (int64_t i = 0; i < blocks; ++i) {
      const float want = scales.at<float>(size_t(turned ? j * blocks + i : i * n + j));
      ASSERT_EQ(t.g.constant(product.inputs[2])->at<float>(size_t(j * blocks + i)), want);
    }
  }
}

// Sizes that are whole words and blocks of the loops, and others; columns and steps that begin inside of a byte.
TEST(NBitsProduct, CodesOfColumnsBecomeRows) {
  for (const DType type : {DType::u4, DType::i4, DType::u8, DType::i8}) {
    for (const auto& [k, n] : std::vector<std::array<int64_t, 2>>{
             {16, 1}, {17, 2}, {32, 16}, {34, 18}, {48, 150}, {66, 17}, {33, 130}, {100, 7}}) {
      for (const bool turned : {false, true}) {
        SCOPED_TRACE(testing::Message() << dtype_name(type) << " " << k << " x " << n << ", turned: " << turned);
        check_rows_of_columns(type, k, n, turned);
      }
    }
  }
}

/// The graph after a rule that rounds, whose numbers differ: session/engine_tests/rounded_products_test.cc has them.
std::string rounded(void (*build)(TestGraph&), std::string_view rule) {
  TestGraph t;
  build(t);
  PassOptions options;
  PassContext context(options);
  rewrite(t.g, rules_named({&rule, 1}), context);
  verify(t.g);
  return renumbered(print(t.g));
}

void a_product_by_blocks(TestGraph& t) {
  const ValueId w = t.g.add_constant("w", codes(DType::u4, {48, 3}));
  const ValueId b =
      t.add("DequantizeLinear", {w, t.weight("s", {3, 3})}, {{"axis", int64_t(0)}, {"block_size", int64_t(16)}});
  t.output(t.add("Gemm", {t.input("x", {2, 48}), b, t.weight("bias", {3})}), "y");
}
const RuleExample example_of_a_product_by_blocks("nbits_product_by_blocks", {"nbits_gemm"}, a_product_by_blocks,
                                                 R"(graph(x: float32[2,48]) {
  y: float32[2,3] = com.microsoft.MatMulNBits(x, codes#1, scales#1, zeros#1, _, bias) {K=48, N=3, bits=4, block_size=16}
  return y
}
)");

/// A Transpose between DequantizeLinear with one scale and the product.
void build_turned(TestGraph& t, DType type, bool zero) {
  std::vector<ValueId> inputs = {t.g.add_constant("w", codes(type, {3, 48})), t.scalar(0.5f)};
  if (zero) inputs.push_back(t.g.add_constant("z", codes(type, {})));
  const ValueId b = t.add("Transpose", {t.add("DequantizeLinear", inputs)}, {{"perm", std::vector<int64_t>{1, 0}}});
  t.output(t.add("MatMul", {t.input("x", {2, 48}), b}), "y");
}
template <DType kType, bool kZero>
void a_turned_product(TestGraph& t) {
  build_turned(t, kType, kZero);
}

TEST(NBitsProduct, RoundedProductsHaveSmallBlocks) {
  EXPECT_EQ(rounded(a_product_by_columns, "rounded_matmul"), R"(graph(x: float32[2,40]) {
  y: float32[2,3] = com.microsoft.MatMulNBits(x, codes#1, scales#1, zeros#1) {K=40, N=3, accuracy_level=4, bits=8, block_size=32}
  return y
}
)");
  EXPECT_EQ(rounded(a_product_by_blocks, "rounded_gemm"), R"(graph(x: float32[2,48]) {
  y: float32[2,3] = com.microsoft.MatMulNBits(x, codes#1, scales#1, zeros#1, _, bias) {K=48, N=3, accuracy_level=4, bits=4, block_size=16}
  return y
}
)");
}

/// One whose codes have a scale for each column, or one for all.
template <int64_t kAxis, bool kOneScale, bool kShared>
void a_product_along(TestGraph& t) {
  const ValueId w = t.g.add_constant("w", codes(DType::i8, {40, 3}));
  const ValueId scales = kOneScale ? t.scalar(0.5f) : t.floats({3}, {0.5f, 0.25f, 2});
  const ValueId b = t.add("DequantizeLinear", {w, scales}, {{"axis", kAxis}});
  t.output(t.add("MatMul", {t.input("x", {2, 40}), b}), "y");
  if constexpr (kShared) t.output(t.add("Relu", {b}), "other");
}

void a_shared_transpose(TestGraph& t) {
  const ValueId b = t.add("DequantizeLinear", {t.g.add_constant("w", codes(DType::i8, {3, 48})), t.scalar(0.5f)});
  const ValueId turned = t.add("Transpose", {b}, {{"perm", std::vector<int64_t>{1, 0}}});
  t.output(t.add("MatMul", {t.input("x", {2, 48}), turned}), "y");
  t.output(t.add("Relu", {turned}), "other");
}

/// ONNX Runtime computes the others in floats.
TEST(NBitsProduct, ProductsOfSharedCodesAndOfAxesFromTheLastAreNotRounded) {
  const auto is_rounded = [](void (*build)(TestGraph&)) {
    return rounded(build, "rounded_matmul").find("accuracy_level=4") != std::string::npos;
  };
  EXPECT_TRUE(is_rounded(a_product_along<1, false, false>));
  EXPECT_FALSE(is_rounded(a_product_along<1, false, true>));
  EXPECT_FALSE(is_rounded(a_product_along<-1, false, false>));
  EXPECT_TRUE(is_rounded(a_product_along<-1, true, false>));
  EXPECT_FALSE(is_rounded(a_product_along<-1, true, true>));
  EXPECT_FALSE(is_rounded(a_shared_transpose));
}

/// ONNX Runtime computes the others in floats.
TEST(NBitsProduct, ProductsOfTurnedCodesAreRoundedIfTheTransposeMoves) {
  const auto is_rounded = [](void (*build)(TestGraph&), const char* rule) {
    return rounded(build, rule).find("accuracy_level=4") != std::string::npos;
  };
  EXPECT_TRUE(is_rounded(a_turned_product<DType::i8, false>, "rounded_matmul"));
  EXPECT_TRUE(is_rounded(a_turned_product<DType::u4, true>, "rounded_matmul"));
  EXPECT_FALSE(is_rounded(a_turned_product<DType::u4, false>, "rounded_matmul"));
  EXPECT_FALSE(is_rounded(a_turned_product_by_blocks, "rounded_gemm"));
  EXPECT_FALSE(is_rounded(a_block_for_each_column, "rounded_matmul"));
}

TEST(NBitsProduct, OnlyThoseWhoAskGetRoundedProducts) {
  for (const bool asked : {false, true}) {
    TestGraph t;
    a_product_by_columns(t);
    PassOptions options;
    options.round_products = asked;
    optimize(t.g, options);
    EXPECT_EQ(print(t.g).find("accuracy_level=4") != std::string::npos, asked);
  }
}

/// Scales along K that are not those of blocks belong to rows of B.
TEST(NBitsProduct, ScalesOfRowsStay) {
  TestGraph t;
  const ValueId w = t.g.add_constant("w", codes(DType::i8, {40, 3}));
  const ValueId b = t.add("DequantizeLinear", {w, t.weight("s", {40})}, {{"axis", int64_t(0)}});
  t.output(t.add("MatMul", {t.input("x", {2, 40}), b}), "y");
  expect_no_rewrite(t, {"nbits_matmul"});
}

TEST(NBitsProduct, TwoSidesOfCodesAreAnIntegerProduct) {
  TestGraph t;
  const ValueId w = t.g.add_constant("w", codes(DType::i8, {40, 3}));
  const ValueId a = t.add("DequantizeLinear", {t.input("x", {2, 40}, DType::u8), t.scalar(0.5f)});
  t.output(t.add("MatMul", {a, t.add("DequantizeLinear", {w, t.scalar(0.25f)})}), "y");
  expect_no_rewrite(t, {"nbits_matmul"});
}

}  // namespace
}  // namespace retort
