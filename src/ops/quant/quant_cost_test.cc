#include "ops/cost_testing.h"

namespace retort::ops::costs {

std::vector<Row> packed_products() {
  constexpr DType u8 = DType::u8;
  const std::string_view domain = "com.microsoft";
  const auto sized = [](int64_t k, int64_t n) {
    return Attributes{{"K", k}, {"N", n}, {"block_size", int64_t(16)}, {"quant_type", int64_t(0)}};
  };
  Attributes n_bits = sized(20, 3);
  n_bits.erase("quant_type");
  const Attributes top{{"k", int64_t(2)}}, columns{{"quantize_axis", int64_t(1)}, {"block_size", int64_t(16)}};
  const Tensor codes_of_lstm = of({1, 3, 16}, u8), recurrent = of({1, 4, 16}, u8), scale = of({1}), zero = of({1}, u8);
  return {
      {"MatMulNBits",
       {of({5, 20}), of({3, 2, 8}, u8), of({3, 2})},
       {.multiply_adds = 5 * 20 * 3, .tiles = true},
       n_bits,
       domain},
      {"MatMulIntegerToFloat",
       {of({5, 20}, u8), of({20, 3}, u8), of({}), of({})},
       {.multiply_adds = 5 * 20 * 3, .operations = 3 * 5 * 3, .tiles = true},
       {},
       "retort"},
      {"QLinearAdd",
       {of({5, 20}, u8), of({}), of({}, u8), of({5, 20}, u8), of({}), of({}, u8), of({}), of({}, u8)},
       {.operations = 8 * 5 * 20},
       {},
       "retort"},
      {"QLinearMul",
       {of({5, 20}, u8), of({}), of({}, u8), of({5, 20}, u8), of({}), of({}, u8), of({}), of({}, u8)},
       {.operations = 8 * 5 * 20},
       {},
       "retort"},
      {"MapCodes", {of({5, 20}, u8), of({256}, u8)}, {.operations = 5 * 20}, {}, "retort"},
      {"MatMulBnb4",
       {of({5, 20}), of({30}, u8), of({4})},
       {.multiply_adds = 5 * 20 * 3, .tiles = true},
       sized(20, 3),
       domain},
      {"MatMulFpQ4",
       {of({5, 20}), of({63}, u8), i64({2}, {20, 3})},
       {.multiply_adds = 5 * 20 * 3, .tiles = true},
       {},
       domain},
      {"GatherBlockQuantized",
       {of({7, 8}, u8), of({3}, DType::i64), of({7, 1})},
       {.operations = 2 * 3 * 16, .access = Access::rows},
       columns,
       domain},
      {"GatherPacked",
       {of({7, 18}, u8), of({3}, DType::i64)},
       {.operations = 3 * 32, .access = Access::rows},
       {{"K", int64_t(32)}, {"packed_type", int64_t(2)}},
       domain},
      {"MoE",
       {of({5, 4}), of({5, 3}), of({3, 6, 4}), kNoInput, of({3, 4, 6})},
       {.multiply_adds = 5 * 2 * (6 * 4 + 4 * 6), .tiles = true},
       top,
       domain},
      {"QMoE",
       {of({5, 4}), of({5, 3}), of({3, 6, 2}, u8), of({3, 6}), kNoInput, of({3, 4, 3}, u8), of({3, 4})},
       {.multiply_adds = 5 * 2 * (6 * 4 + 4 * 6), .tiles = true},
       top,
       domain},
      {"MoEGroupRouter", {of({5, 4}), of({4})}, {.operations = 20}, {{"top_k", int64_t(1)}}, domain},
      {"DynamicQuantizeLSTM",
       {of({7, 2, 3}), codes_of_lstm, recurrent, kNoInput, kNoInput, kNoInput, kNoInput, kNoInput, scale, zero, scale,
        zero},
       {.multiply_adds = 7 * 2 * (3 * 16 + 4 * 16), .rounds = 7},
       {},
       domain},
  };
}

}  // namespace retort::ops::costs
