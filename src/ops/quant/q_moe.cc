// com.microsoft.QMoE: a mixture of experts, whose weights have 2, 3, 4 or 8 bits: (code - zero point) · scale,
// with a scale for each row or for each block of a row.
#include <bit>

#include "ops/expect_shape.h"
#include "ops/nn/common/experts.h"
#include "ops/quant/common/decoded_product.h"

namespace retort::ops {
namespace {

struct ExpertCodes {
  CodeBlocks blocks;
  size_t rows = 0;
  void operator()(size_t expert, size_t row, float* to) const { blocks.decode(expert * rows + row, to); }
};

struct QMoE : ExpertAttributes {
  int64_t accuracy_level = 0, bits = 4, block_size = 0, prepacked = -1;
  std::optional<int64_t> first_bits, second_bits, third_bits;
  std::string quant_type = "int";
  static constexpr auto attributes = std::tuple_cat(
      expert_attributes,
      std::tuple{attr("accuracy_level", &QMoE::accuracy_level), attr("block_size", &QMoE::block_size),
                 attr("expert_weight_bits", &QMoE::bits), attr("fc1_expert_weight_bits", &QMoE::first_bits),
                 attr("fc2_expert_weight_bits", &QMoE::second_bits), attr("fc3_expert_weight_bits", &QMoE::third_bits),
                 attr("quant_type", &QMoE::quant_type), attr("weights_prepacked", &QMoE::prepacked)});
  enum Input : size_t { kX, kScores, kFirst, kSecond = 5, kThird = 8, kFirstZeros = 11, kWeights = 14, kScale1 = 15 };

  void check() const {
    ExpertAttributes::check();
    require(quant_type == "int", ErrorCode::not_implemented,
            "quant_type '{}' is not supported; export the model with quant_type 'int'", quant_type);
    for (const size_t layer : {kFirst, kSecond, kThird}) {
      const int64_t b = bits_of(layer);
      require(b == 2 || b == 3 || b == 4 || b == 8, ErrorCode::invalid_argument,
              "weights have {} bits, expected 2, 3, 4 or 8", b);
    }
    const bool profile = activation == "swiglu" && fusion == 1 && prepacked == 0 &&
                         bits_of(kThird) == bits_of(kFirst) &&
                         (block_size == 32 || block_size == 64 || block_size == 128);
    require(
        !has_triples() || profile, ErrorCode::invalid_argument,
        "weights of 3 bits require activation_type swiglu, swiglu_fusion 1, weights_prepacked 0, block_size 32, 64 or "
        "128, and as many bits of fc3 as of fc1; these are {}, {}, {}, {}, {} and {}",
        activation, fusion, prepacked, block_size, bits_of(kThird), bits_of(kFirst));
    require(prepacked == 0 || prepacked == -1, ErrorCode::not_implemented,
            "weights_prepacked is {}: weights in a layout of one provider; export the model with 0", prepacked);
    require(block_size == 0 || (block_size >= 16 && std::has_single_bit(uint64_t(block_size))),
            ErrorCode::invalid_argument, "block_size is {}, expected a power of two from 16 on", block_size);
  }

  void infer(InferContext& c) const {
    infer_experts(c, *this, kThird);
    require(!has_triples() || c.dtype(kX) != DType::f32, ErrorCode::invalid_argument,
            "weights of 3 bits require an input of float16 or bfloat16, but it is float32");
    for (const size_t i : {kFirst, kSecond, kThird}) check_types(c, i);
    require(!c.has(kWeights) || c.dtype(kWeights) == c.dtype(kX), ErrorCode::invalid_argument,
            "router_weights are {}, input {}", dtype_name(c.has(kWeights) ? c.dtype(kWeights) : DType::undefined),
            dtype_name(c.dtype(kX)));
    for (size_t i = kScale1; i < kScale1 + 6; ++i)
      require(!c.has(i), ErrorCode::invalid_argument, "input {} is only used with another quant_type than 'int'", i);
  }
  Cost cost(const CostContext& c) const {
    const double weights = c.count(kFirst) * 8 / double(first_bits.value_or(bits)) +
                           c.count(kSecond) * 8 / double(second_bits.value_or(bits)) +
                           c.count(kThird) * 8 / double(third_bits.value_or(bits));
    return expert_cost(c, *this, weights);
  }

  size_t scratch(const RunContext& c) const { return call(c, nullptr).scratch(c, *this, c.has(kThird)); }
  void run(RunContext& c) const { call(c, c.scratch()).run(c, *this, c.has(kThird)); }

 private:
  // Layer i has its weights in input i, scales and bias in those after it, and zero points in one of three later ones.
  static size_t zeros_of(size_t layer) { return kFirstZeros + (layer - kFirst) / 3; }
  int64_t bits_of(size_t layer) const {
    return (layer == kFirst ? first_bits : layer == kSecond ? second_bits : third_bits).value_or(bits);
  }

  bool has_triples() const { return bits_of(kFirst) == 3 || bits_of(kSecond) == 3 || bits_of(kThird) == 3; }

  static void check_types(const InferContext& c, size_t layer) {
    if (!c.has(layer)) return;
    require(c.dtype(layer) == DType::u8, ErrorCode::invalid_argument, "weights (input {}) are {}, expected uint8",
            layer, dtype_name(c.dtype(layer)));
    require(c.has(layer + 1), ErrorCode::invalid_argument, "scales (input {}) are missing", layer + 1);
    const DType scales = c.dtype(layer + 1);
    require(is_float(scales) && scales != DType::f64, ErrorCode::invalid_argument,
            "scales (input {}) are {}, expected float32, float16 or bfloat16", layer + 1, dtype_name(scales));
    require(!c.has(layer + 2) || c.dtype(layer + 2) == c.dtype(kX), ErrorCode::invalid_argument,
            "bias (input {}) is {}, input 0 {}", layer + 2,
            dtype_name(c.has(layer + 2) ? c.dtype(layer + 2) : DType::undefined), dtype_name(c.dtype(kX)));
    const size_t zeros = zeros_of(layer);
    require(!c.has(zeros) || c.dtype(zeros) == DType::u8, ErrorCode::invalid_argument,
            "zero points (input {}) are {}, expected uint8", zeros,
            dtype_name(c.has(zeros) ? c.dtype(zeros) : DType::undefined));
  }
  ExpertCodes codes(const RunContext& c, size_t layer, size_t experts, size_t rows, size_t columns) const {
    const int64_t b = bits_of(layer), e = int64_t(experts), r = int64_t(rows), n = int64_t(columns);
    const int64_t block = block_size > 0 ? block_size : std::max<int64_t>(n, 1);
    const int64_t blocks = std::max<int64_t>(1, ceil_div(n, block));
    require(n * b % 8 == 0, ErrorCode::invalid_argument, "a row of {} weights of {} bits does not end with a byte", n,
            b);
    require(block_size == 0 || n % block_size == 0, ErrorCode::invalid_argument,
            "rows of {} weights do not consist of whole blocks of {}", n, block_size);
    const bool older = c.shape(layer) == Shape{e, n, r * b / 8};  // with the last two axes exchanged
    if (!older) expect_shape(c, layer, "", {e, r, n * b / 8});
    expect_shape(c, layer + 1, "", block_size > 0 ? Shape{e, r, blocks} : Shape{e, r});
    ExpertCodes codes{{.bits = size_t(b),
                       .length = columns,
                       .block = size_t(block),
                       .blocks = size_t(blocks),
                       .codes = c.input<uint8_t>(layer).data(),
                       .row_bytes = size_t(n * b / 8),
                       .scales = c.data(layer + 1),
                       .scale_type = c.dtype(layer + 1)},
                      rows};
    const size_t zeros = zeros_of(layer);
    if (!c.has(zeros)) return codes;
    if (b == 3) return check_triples(c, zeros, {e, r, ceil_div(blocks * 3, int64_t(8))}, size_t(blocks)), codes;
    codes.blocks.zeros = c.input<uint8_t>(zeros).data();
    codes.blocks.zero_rows = block_size > 0 ? 0 : rows;
    const int64_t bytes = ceil_div((block_size > 0 ? blocks : r) * b, int64_t(8));
    codes.blocks.zero_bytes = size_t(bytes);
    expect_shape(c, zeros, "", block_size > 0 ? Shape{e, r, bytes} : Shape{e, bytes});
    return codes;
  }
  // Zero points of 3 bits are all 4, as if they were omitted.
  static void check_triples(const RunContext& c, size_t zeros, const Shape& wanted, size_t blocks) {
    expect_shape(c, zeros, "", wanted);
    const auto all = c.input<uint8_t>(zeros);
    const auto bytes = size_t(wanted[2]);
    for (size_t i = 0; i < all.size() / std::max<size_t>(bytes, 1) * blocks; ++i) {
      const uint8_t* row = all.data() + i / blocks * bytes;
      const size_t at = i % blocks * 3;
      const unsigned pair = row[at / 8] | (at % 8 > 5 ? unsigned(row[at / 8 + 1]) << 8 : 0u);
      require((pair >> at % 8 & 7) == 4, ErrorCode::invalid_argument, "a zero point of 3 bits is {}, expected 4",
              pair >> at % 8 & 7);
    }
  }
  static const float* bias(const RunContext& c, size_t i, ScratchParts& parts, size_t experts, size_t rows) {
    expect_shape(c, i, "", {int64_t(experts), int64_t(rows)});
    return float_input(c, i, parts);
  }

  ExpertCall<ExpertCodes> call(const RunContext& c, void* base) const {
    const Shape& second = c.shape(kSecond);
    const int64_t hidden = c.shape(kX).back();
    require(second.rank() == 3 && hidden > 0, ErrorCode::invalid_argument,
            "fc2_experts_weights have shape {}, input {}; expected [experts, hidden, bytes of a row]", second,
            c.shape(kX));
    const int64_t inner = checked_mul(second[1], second[2], "weights") * 8 / bits_of(kSecond) / hidden;
    ExpertCall<ExpertCodes> m{ScratchParts(base), expert_shape(c, size_t(inner))};
    const ExpertShape& s = m.s;
    m.among_chosen = !has_triples();  // with 3 bits, shares are among all experts
    m.first = codes(c, kFirst, s.experts, s.inner * size_t(fused()), s.hidden);
    m.second = codes(c, kSecond, s.experts, s.hidden, s.inner);
    if (c.has(kThird)) m.third = codes(c, kThird, s.experts, s.inner, s.hidden);
    m.x = float_input(c, kX, m.parts);
    m.scores = float_input(c, kScores, m.parts);
    expect_shape(c, kWeights, "router_weights", c.shape(kScores));
    m.weights = float_input(c, kWeights, m.parts);
    m.first_bias = bias(c, kFirst + 2, m.parts, s.experts, s.inner * size_t(fused()));
    m.second_bias = bias(c, kSecond + 2, m.parts, s.experts, s.hidden);
    m.third_bias = bias(c, kThird + 2, m.parts, s.experts, s.inner);
    m.y = float_output(c, m.parts);
    return m;
  }
};

}  // namespace

extern const OpDef op_q_moe;
constinit const OpDef op_q_moe = define<QMoE>({
    .name = "QMoE",
    .domain = "com.microsoft",
    .since = {1},
    .inputs = {"input: T",
               "router_probs: T",
               "fc1_experts_weights: uint8",
               "fc1_scales: S?",
               "fc1_experts_bias: T?",
               "fc2_experts_weights: uint8",
               "fc2_scales: S?",
               "fc2_experts_bias: T?",
               "fc3_experts_weights: uint8?",
               "fc3_scales: S?",
               "fc3_experts_bias: T?",
               "fc1_zero_points: uint8?",
               "fc2_zero_points: uint8?",
               "fc3_zero_points: uint8?",
               "router_weights: T?",
               "fc1_global_scale: float32?",
               "fc2_global_scale: float32?",
               "fc1_act_scale: float32?",
               "fc2_act_scale: float32?",
               "fc1_act_block_scale: B?",
               "fc2_act_block_scale: B?"},
    .outputs = {"output: T"},
    .types = types({DType::f32, DType::f16, DType::bf16}),
    .traits = kConverts,
});

}  // namespace retort::ops
