// com.microsoft.DecoderMaskedMultiHeadAttention: MultiHeadAttention with one query per row of the batch, whose past
// tokens may come from other beams.
#include "ops/nn/common/head_attention.h"

namespace retort::ops {
namespace {

struct DecoderMaskedMultiHeadAttention {
  using Self = DecoderMaskedMultiHeadAttention;
  int64_t num_heads = 0;
  float mask_filter_value = -10000, scale = 0;
  bool output_qk = false, past_present_share_buffer = false;
  static constexpr std::tuple attributes{attr("mask_filter_value", &Self::mask_filter_value),
                                         required("num_heads", &Self::num_heads), attr("output_qk", &Self::output_qk),
                                         attr("past_present_share_buffer", &Self::past_present_share_buffer),
                                         attr("scale", &Self::scale)};

  void check() const {
    require(num_heads > 0, ErrorCode::invalid_argument, "num_heads is {}, expected a positive number", num_heads);
  }
  HeadAttention attention() const {
    return {.in = {.q = 0,
                   .k = 1,
                   .v = 2,
                   .projection = 10,
                   .mask = 3,
                   .bias = 4,
                   .past_k = 5,
                   .past_v = 6,
                   .past_rows = 7,
                   .beam = 8,
                   .cache = 9},
            .heads = num_heads,
            .filter = mask_filter_value,
            .scale = scale,
            .one_row = true,
            .flat_packs = true};
  }
  void infer(InferContext& c) const {
    const HeadAttention a = attention();
    require(!c.has(a.in.past_k) || c.has(a.in.past_rows) == past_present_share_buffer, ErrorCode::invalid_argument,
            "past_present_share_buffer is {}, past_sequence_length is {}", int(past_present_share_buffer),
            c.has(a.in.past_rows) ? "given" : "missing");
    a.infer(c);
  }
  Cost cost(const CostContext& c) const { return attention().cost(c); }
  size_t scratch(const RunContext& c) const { return attention().scratch(c); }
  template <std::same_as<float> T>
  void reference(RunContext& c) const {
    attention().reference(c);
  }
  void fast(RunContext& c, std::type_identity<float>) const { attention().fast(c); }
};

}  // namespace

extern const OpDef op_decoder_masked_multi_head_attention;
constinit const OpDef op_decoder_masked_multi_head_attention = define<DecoderMaskedMultiHeadAttention>({
    .name = "DecoderMaskedMultiHeadAttention",
    .domain = "com.microsoft",
    .since = {1},
    .inputs = {"query: T", "key: T?", "value: T?", "mask_index: int32?", "attention_bias: T?", "past_key: T?",
               "past_value: T?", "past_sequence_length: int32?", "beam_width: int32?", "cache_indirection: int32?",
               "bias: T?"},
    .outputs = {"output: T", "present_key: T?", "present_value: T?", "qk: QK?"},
    .types = types({DType::f32, DType::f16, DType::bf16}),
    .in_place = {{{1, 5, false}, {2, 6, false}}},
});

}  // namespace retort::ops
