// Rows of cost_test.cc for operators that multiply: products, convolutions, recurrences and attention.
#include "ops/cost_testing.h"

namespace retort::ops::costs {

std::vector<Row> products() {
  constexpr DType u8 = DType::u8;
  const Tensor scale = of({}), zero = of({}, u8);
  const Attributes trans_a{{"transA", int64_t(1)}};
  return {
      {"MatMul", {of({2, 5, 7}), of({7, 3})}, {.multiply_adds = 2 * 5 * 7 * 3, .tiles = true}},
      {"MatMul", {of({5, 7}), of({7})}, {.multiply_adds = 5 * 7, .tiles = true}},
      {"Gemm", {of({7, 5}), of({7, 3})}, {.multiply_adds = 5 * 7 * 3, .tiles = true}, trans_a},
      {"Gemm", {of({5, 7}), of({7, 3}), of({3})}, {.multiply_adds = 5 * 7 * 3, .operations = 15, .tiles = true}},
      {"CDist", {of({5, 7}), of({3, 7})}, {.multiply_adds = 5 * 7 * 3, .operations = 5 * 7 * 3}, {}, "com.microsoft"},
      {"FusedMatMul",
       {of({2, 7, 5}), of({2, 7, 3})},
       {.multiply_adds = 2 * 5 * 7 * 3, .tiles = true},
       trans_a,
       "com.microsoft"},
      {"Linear",
       {of({2, 5, 7}), of({7, 3}), of({3})},
       {.multiply_adds = 2 * 5 * 7 * 3, .operations = 30, .tiles = true},
       {},
       "retort"},
      {"MatMulInteger", {of({5, 7}, u8), of({7, 3}, u8)}, {.multiply_adds = 5 * 7 * 3, .tiles = true}},
      {"QLinearMatMul",
       {of({5, 7}, u8), scale, zero, of({7, 3}, u8), scale, zero, scale, zero},
       {.multiply_adds = 5 * 7 * 3, .tiles = true}},
      {"Einsum",
       {of({2, 5, 7}), of({2, 7, 3})},
       {.multiply_adds = 2 * 5 * 7 * 3, .tiles = true},
       {{"equation", std::string("bij,bjk->bik")}}},
      {"Einsum", {of({5, 7})}, {.operations = 35}, {{"equation", std::string("ij->i")}}},
      {"Einsum", {of({5, 7})}, {}, {{"equation", std::string("ij->ji")}}},
      {"Einsum", {of({5}), of({5}), of({5})}, {.operations = kUnknown}, {{"equation", std::string("i,i,i->")}}},
  };
}

std::vector<Row> linear_models() {
  return {
      {"LinearClassifier",
       {of({5, 2})},
       {.multiply_adds = 5 * 2 * 3},
       {{"coefficients", std::vector<float>(6)},
        {"intercepts", std::vector<float>(3)},
        {"classlabels_ints", std::vector<int64_t>{0, 1, 2}}},
       "ai.onnx.ml",
       2},
      {"LinearRegressor",
       {of({5, 2})},
       {.multiply_adds = 5 * 2 * 3},
       {{"coefficients", std::vector<float>(6)}, {"targets", int64_t(3)}},
       "ai.onnx.ml"},
      {"SVMRegressor",
       {of({5, 2})},
       {.multiply_adds = 5 * (3 * 2 + 3)},
       {{"coefficients", std::vector<float>(3)},
        {"kernel_params", std::vector<float>(3)},
        {"kernel_type", std::string("RBF")},
        {"n_supports", int64_t(3)},
        {"rho", std::vector<float>(1)},
        {"support_vectors", std::vector<float>(6)}},
       "ai.onnx.ml"},
      {"SVMClassifier",
       {of({5, 2})},
       {.multiply_adds = 5 * (3 * 2 + 3)},
       {{"classlabels_ints", std::vector<int64_t>{0, 1}},
        {"coefficients", std::vector<float>(3)},
        {"kernel_params", std::vector<float>(3)},
        {"kernel_type", std::string("RBF")},
        {"rho", std::vector<float>(1)},
        {"support_vectors", std::vector<float>(6)},
        {"vectors_per_class", std::vector<int64_t>{1, 2}}},
       "ai.onnx.ml",
       2},
  };
}

std::vector<Row> convolutions() {
  constexpr DType u8 = DType::u8;
  const Tensor scale = of({}), zero = of({}, u8);
  const double out = 6 * 6 * 6, each = 2 * 3 * 3;  // 4 channels in 2 groups, 8 by 8
  const Attributes group{{"group", int64_t(2)}};
  return {
      {"Conv", {of({1, 4, 8, 8}), of({6, 2, 3, 3})}, {.multiply_adds = out * each}, group},
      {"Conv", {of({1, 4, 8, 8}), of({6, 2, 3, 3}), of({6})}, {.multiply_adds = out * each, .operations = out}, group},
      {"Conv",
       {of({1, 8, 8, 4}), of({6, 2, 3, 3}), of({6})},
       {.multiply_adds = out * each, .operations = out},
       group,
       "retort"},
      {"ConvInteger", {of({1, 4, 8, 8}, u8), of({6, 2, 3, 3}, u8), zero}, {.multiply_adds = out * each}, group},
      {"QLinearConv",
       {of({1, 4, 8, 8}, u8), scale, zero, of({6, 2, 3, 3}, u8), scale, zero, scale, zero, of({6}, DType::i32)},
       {.multiply_adds = out * each, .operations = out},
       group},
      {"QLinearConv",
       {of({1, 4, 8, 8}, u8), scale, zero, of({6, 2, 3, 3}, u8), scale, zero, scale, zero, of({6})},
       {.multiply_adds = out * each, .operations = out},
       group,
       "retort"},
      {"NhwcQLinearConv",
       {of({1, 8, 8, 4}, u8), scale, zero, of({6, 2, 3, 3}, DType::i8), scale, of({}, DType::i8), scale, zero, of({6})},
       {.multiply_adds = out * each, .operations = out},
       group,
       "retort"},
      {"NhwcConvInteger",
       {of({1, 8, 8, 4}, u8), of({6, 2, 3, 3}, DType::i8), zero},
       {.multiply_adds = out * each},
       group,
       "retort"},
      {"DeformConv",
       {of({1, 4, 8, 8}), of({6, 2, 3, 3}), of({1, 2 * 9, 6, 6})},
       {.multiply_adds = out * each, .operations = 8.0 * 4 * 9 * 36},
       group},
      {"DeformConv",
       {of({1, 4, 8, 8}), of({6, 2, 3, 3}), of({1, 2 * 9, 6, 6}), of({6}), of({1, 9, 6, 6})},
       {.multiply_adds = out * each, .operations = 9.0 * 4 * 9 * 36 + out},
       group},
      {"ConvTranspose", {of({1, 4, 8, 8}), of({4, 6, 3, 3})}, {.multiply_adds = 4 * 8 * 8 * (6 * 3 * 3)}},
      {"ConvTranspose",
       {of({1, 8, 8, 4}), of({4, 6, 3, 3}), of({6})},
       {.multiply_adds = 4 * 8 * 8 * (6 * 3 * 3), .operations = 6 * 10 * 10},
       {},
       "retort"},
      {"ConvTranspose",
       {of({1, 4, 8, 8}), of({4, 6, 3, 3}), of({6})},
       {.multiply_adds = 4 * 8 * 8 * (6 * 3 * 3), .operations = 6 * 10 * 10}},
  };
}

std::vector<Row> recurrences() {
  const auto recurrent = [](std::string_view name, int64_t gates) {
    return Row{name,
               {of({5, 2, 3}), of({1, gates * 4, 3}), of({1, gates * 4, 4})},
               {.multiply_adds = 5.0 * 2 * double(gates) * 4 * (3 + 4), .rounds = 5},
               {{"hidden_size", int64_t(4)}}};
  };
  Row batch_major = recurrent("GRU", 3);
  batch_major.inputs[0] = of({2, 5, 3});
  batch_major.attributes.set("layout", int64_t(1));
  return {
      recurrent("RNN", 1),
      recurrent("GRU", 3),
      recurrent("LSTM", 4),
      {"AttnLSTM",
       {of({3, 2, 5}), of({1, 16, 11}), of({1, 16, 4}), kNoInput, kNoInput, kNoInput, kNoInput, kNoInput, of({1, 4, 7}),
        of({1, 6, 7}), of({1, 7}), of({2, 9, 6})},
       {.multiply_adds = 2 * (3 * (16 * 11 + 16 * 4 + 4 * 7 + 9 * (7 + 6)) + 9 * 6 * 7), .rounds = 3},
       {},
       "com.microsoft"},
      batch_major,
  };
}

std::vector<Row> attentions() {
  const Attributes heads{{"num_heads", int64_t(2)}, {"kv_num_heads", int64_t(2)}};
  const Attributes strided{{"q_heads", int64_t(2)},     {"kv_heads", int64_t(2)}, {"head_size", int64_t(4)},
                           {"v_head_size", int64_t(6)}, {"scale", 1.0f},          {"q_split", int64_t(1)},
                           {"k_split", int64_t(1)},     {"v_split", int64_t(1)}};
  const Tensor last = of({1}, DType::i32), total = of({1}, DType::i32);
  return {
      {"Attention", {of({1, 2, 5, 4}), of({1, 2, 9, 4}), of({1, 2, 9, 6})}, {.multiply_adds = 2 * 5 * (4 + 6) * 9}},
      {"Attention",
       {of({1, 5, 8}), of({1, 9, 8}), of({1, 9, 8}), kNoInput, of({1, 2, 3, 4}), of({1, 2, 3, 4})},
       {.multiply_adds = 2 * 5 * (4 + 4) * (9 + 3)},
       {{"q_num_heads", int64_t(2)}, {"kv_num_heads", int64_t(2)}}},
      {"Attention",
       {of({1, 2, 5, 4}), of({1, 2, 9, 4}), of({1, 2, 9, 6})},
       {.multiply_adds = 2 * 5 * (4 + 6) * 9},
       strided,
       "retort"},
      {"GroupQueryAttention",
       {of({1, 5, 8}), of({1, 5, 8}), of({1, 5, 8}), of({1, 2, 3, 4}), of({1, 2, 3, 4}), last, total},
       {.multiply_adds = 2 * 5 * (4 + 4) * (5 + 3)},
       heads,
       "com.microsoft",
       3},
      {"GroupQueryAttention",  // packed keys and values
       {of({1, 5, 24}), kNoInput, kNoInput, kNoInput, kNoInput, last, total},
       {.multiply_adds = 2 * 5 * (4 + 4) * 5},
       heads,
       "com.microsoft",
       3},
      {"SparseAttention",
       {of({1, 5, 8}), of({1, 5, 8}), of({1, 5, 8}), of({1, 2, 9, 4}), of({1, 2, 9, 4}), of({1, 4}), of({1, 6}), total,
        last},
       {.multiply_adds = 2 * 5 * (4 + 4) * 9},
       {{"num_heads", int64_t(2)}, {"kv_num_heads", int64_t(2)}, {"sparse_block_size", int64_t(4)}},
       "com.microsoft",
       3},
      {"RotaryEmbedding",
       {of({1, 2, 5, 8}), of({1, 5, 2}), of({1, 5, 2})},
       {.operations = 3 * 2 * 5 * 4},
       {{"rotary_embedding_dim", int64_t(4)}}},
      {"RotaryEmbedding",
       {of({1, 5, 16}), of({1, 5, 4}), of({1, 5, 4})},
       {.operations = 3 * 2 * 5 * 8},
       {{"num_heads", int64_t(2)}}},
  };
}

}  // namespace retort::ops::costs
