// com.microsoft.QMoE: a mixture of experts, whose weights have 2, 3, 4 or 8 bits: (code - zero point) · scale,
// with a scale for each row or for each block of a row.
#include <bit>

#include "base/checked.h"
#include "kernels/gemm/gemm_nbits.h"
#include "ops/expect_shape.h"
#include "ops/nn/common/experts.h"
#include "ops/quant/common/decoded_product.h"
#include "ops/quant/common/nbits_input.h"

namespace retort::ops {
namespace {

struct ExpertCodes {
  CodeBlocks blocks;
  size_t rows = 0;
  void operator()(size_t expert, size_t row, float* to) const { blocks.decode(expert * rows + row, to); }
};

/// The weights of a layer, packed for gemm_nbits().
struct PackedNBits : PackedLayer {
  kernels::NBitForm form;  ///< of one expert
  kernels::NBitInput input = kernels::NBitInput::exact;
  std::shared_ptr<const void> memory;
  size_t stride = 0;  ///< bytes of an expert

  size_t scratch(size_t tokens, int workers) const override {
    return kernels::nbits_scratch_bytes(form, tokens, input, workers);
  }
  void multiply(const ExpertProduct& p, void* scratch, const Parallel& parallel) const override {
    kernels::gemm_nbits({.form = form,
                         .packed = static_cast<const char*>(memory.get()) + p.expert * stride,
                         .m = p.tokens,
                         .a = p.x,
                         .input = input,
                         .bias = p.bias,
                         .c = p.y},
                        scratch, parallel);
  }
};

/// The sizes of a layer, and the shapes that its inputs must have.
struct LayerShapes {
  int64_t experts, rows, columns, block, blocks;
  Shape weights, older, scales, zeros;  ///< `older`: with the last two axes of the weights exchanged
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

  // Packs the weights if those of all layers are constant.
  std::unique_ptr<State> prepare(PrepareContext& c) const {
    auto state = std::make_unique<PackedExperts>();
    for (const size_t layer : {kFirst, kSecond, kThird}) {
      auto& packed = state->layers[(layer - kFirst) / 3];
      if (c.has(layer)) packed = pack(c, layer);
      if (c.has(layer) && !packed) return nullptr;
    }
    for (const size_t layer : {kFirst, kSecond, kThird}) {
      for (const size_t i : {layer, layer + 1, zeros_of(layer)}) {
        if (c.has(i)) c.release(i);
      }
    }
    return state;
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
  LayerShapes shapes(size_t layer, size_t experts, size_t rows, size_t columns) const {
    const int64_t b = bits_of(layer), e = int64_t(experts), r = int64_t(rows), n = int64_t(columns);
    const int64_t block = block_size > 0 ? block_size : std::max<int64_t>(n, 1);
    const int64_t blocks = std::max<int64_t>(1, ceil_div(n, block));
    require(n * b % 8 == 0, ErrorCode::invalid_argument, "a row of {} weights of {} bits does not end with a byte", n,
            b);
    require(block_size == 0 || n % block_size == 0, ErrorCode::invalid_argument,
            "rows of {} weights do not consist of whole blocks of {}", n, block_size);
    return {.experts = e,
            .rows = r,
            .columns = n,
            .block = block,
            .blocks = blocks,
            .weights = {e, r, n * b / 8},
            .older = {e, n, r * b / 8},
            .scales = block_size > 0 ? Shape{e, r, blocks} : Shape{e, r},
            .zeros =
                block_size > 0 ? Shape{e, r, ceil_div(blocks * b, int64_t(8))} : Shape{e, ceil_div(r * b, int64_t(8))}};
  }
  // `zeros` may be null.
  CodeBlocks blocks(const LayerShapes& s, size_t layer, const void* codes, const void* scales, DType scale_type,
                    const void* zeros) const {
    CodeBlocks blocks{.bits = size_t(bits_of(layer)),
                      .length = size_t(s.columns),
                      .block = size_t(s.block),
                      .blocks = size_t(s.blocks),
                      .codes = static_cast<const uint8_t*>(codes),
                      .row_bytes = size_t(s.columns * bits_of(layer) / 8),
                      .scales = scales,
                      .scale_type = scale_type};
    if (!zeros) return blocks;
    blocks.zeros = static_cast<const uint8_t*>(zeros);
    blocks.zero_bytes = size_t(s.zeros.back());
    blocks.zero_rows = block_size > 0 ? 0 : size_t(s.rows);
    return blocks;
  }
  ExpertCodes codes(const RunContext& c, size_t layer, size_t experts, size_t rows, size_t columns) const {
    const LayerShapes s = shapes(layer, experts, rows, columns);
    if (c.shape(layer) != s.older) expect_shape(c, layer, "", s.weights);
    expect_shape(c, layer + 1, "", s.scales);
    const size_t zeros = zeros_of(layer);
    const bool triples = bits_of(layer) == 3;
    if (c.has(zeros))
      triples ? check_triples(c, zeros, s.zeros, size_t(s.blocks)) : expect_shape(c, zeros, "", s.zeros);
    return {blocks(s, layer, c.data(layer), c.data(layer + 1), c.dtype(layer + 1),
                   c.has(zeros) && !triples ? c.data(zeros) : nullptr),
            rows};
  }

  // Null unless there is a kernel; a run then reports shapes that do not fit.
  std::unique_ptr<PackedLayer> pack(PrepareContext& c, size_t layer) const {
    const size_t zeros = zeros_of(layer), b = size_t(bits_of(layer));
    const Tensor *weights = c.constant(layer), *scales = c.constant(layer + 1), *zero_points = c.constant(zeros);
    if (!weights || !scales || (c.has(zeros) && !zero_points)) return nullptr;
    const Shape& given = scales->shape();
    if (given.rank() != (block_size > 0 ? 3 : 2) || scales->count() == 0) return nullptr;
    const auto experts = size_t(given[0]), rows = size_t(given[1]), columns = weights->count() * 8 / b / experts / rows;
    auto packed = std::make_unique<PackedNBits>();
    kernels::NBitForm& form = packed->form;
    form = {.bits = b, .n = rows, .k = columns, .block = kernel_block(columns)};
    if (!kernels::nbits_supported(form) || columns % form.block != 0) return nullptr;
    if (block_size > 0 && columns % size_t(block_size) != 0) return nullptr;
    const LayerShapes s = shapes(layer, experts, rows, columns);
    if ((weights->shape() != s.weights && weights->shape() != s.older) || given != s.scales) return nullptr;
    if (zero_points && zero_points->shape() != s.zeros) return nullptr;
    if (zero_points) form.zeros = kernels::NBitZeros::codes;
    const CodeBlocks all =
        blocks(s, layer, weights->data(), scales->data(), scales->dtype(), zero_points ? zero_points->data() : nullptr);
    packed->input = nbits_input(accuracy_level, c.options());
    pack_experts(c, all, experts, *packed);
    return packed;
  }
  // A scale for a whole row, or for a large block, is that of several blocks of the kernel.
  size_t kernel_block(size_t columns) const {
    size_t block = block_size > 0 ? std::min<size_t>(size_t(block_size), 256) : 256;
    while (block_size == 0 && block > 16 && columns % block != 0) block /= 2;
    return block;
  }
  static void pack_experts(const PrepareContext& c, const CodeBlocks& all, size_t experts, PackedNBits& packed) {
    kernels::NBitForm& form = packed.form;
    const auto with_expert = [&](size_t expert, const auto& f) {
      const size_t first = expert * form.n;
      const auto parameters = [&](const kernels::NBitRun& run) {
        const size_t row = first + run.column;
        if (form.block == all.block) return all.parameters(row, run);
        for (size_t i = 0; i < run.count; ++i) {
          const size_t own = (run.first + i) * form.block / all.block;
          run.scales[i * run.stride] = all.scale(row, own);
          run.zeros[i * run.stride] = all.zero(row, own);
        }
      };
      return f(kernels::NBitSource{all.codes + first * all.row_bytes, parameters});
    };
    const auto all_experts = [&](bool (*fit)(const kernels::NBitForm&, const kernels::NBitSource&, const Parallel&)) {
      bool all = true;
      for (size_t e = 0; e < experts && all; ++e)
        all = with_expert(e, [&](const kernels::NBitSource& from) { return fit(form, from, c.parallel()); });
      return all;
    };
    if (all_experts(kernels::nbits_zeros_are_middle)) form.zeros = kernels::NBitZeros::middle;
    form.halves = all_experts(kernels::nbits_fit_halves);
    packed.stride = round_up(kernels::nbits_packed_bytes(form), 64);
    packed.memory = c.packed(checked_mul(packed.stride, experts, "packed weights"), [&](void* to) {
      for (size_t e = 0; e < experts; ++e) {
        with_expert(e, [&](const kernels::NBitSource& from) {
          kernels::nbits_pack(form, from, static_cast<char*>(to) + e * packed.stride, c.parallel());
        });
      }
    });
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
    m.packed = c.state<PackedExperts>();
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
