// com.microsoft.MultiHeadAttention: softmax(scale · Q · Kᵀ + masks) · V for heads that lie side by side, with a bias of
// Q, K and V, masks of padding, and caches. The new rows are appended to a cache, or written to a buffer of which
// past_sequence_length rows are filled. If the attention is causal, query i attends to the past and to the new keys 0
// to i.
#include "ops/nn/common/head_attention.h"

namespace retort::ops {
namespace {

struct MultiHeadAttention {
  int64_t num_heads = 0;
  float mask_filter_value = -10000, scale = 0;
  bool unidirectional = false;
  static constexpr std::tuple attributes{attr("mask_filter_value", &MultiHeadAttention::mask_filter_value),
                                         required("num_heads", &MultiHeadAttention::num_heads),
                                         attr("scale", &MultiHeadAttention::scale),
                                         attr("unidirectional", &MultiHeadAttention::unidirectional)};
  static constexpr size_t kNone = 99;  // no such input

  void check() const {
    require(num_heads > 0, ErrorCode::invalid_argument, "num_heads is {}, expected a positive number", num_heads);
  }
  HeadAttention attention() const {
    return {.in = {.q = 0,
                   .k = 1,
                   .v = 2,
                   .projection = 3,
                   .mask = 4,
                   .bias = 5,
                   .past_k = 6,
                   .past_v = 7,
                   .past_rows = 8,
                   .beam = kNone,
                   .cache = 9},
            .heads = num_heads,
            .filter = mask_filter_value,
            .scale = scale,
            .causal = unidirectional};
  }
  void infer(InferContext& c) const { attention().infer(c); }
  Cost cost(const CostContext& c) const { return attention().cost(c); }
  std::unique_ptr<State> prepare(PrepareContext& c) const { return prepare_attention(c); }
  size_t scratch(const RunContext& c) const { return attention().scratch(c); }
  template <std::same_as<float> T>
  void reference(RunContext& c) const {
    attention().reference(c);
  }
  void fast(RunContext& c, std::type_identity<float>) const { attention().fast(c); }
};

}  // namespace

extern const OpDef op_multi_head_attention;
constinit const OpDef op_multi_head_attention = define<MultiHeadAttention>({
    .name = "MultiHeadAttention",
    .domain = "com.microsoft",
    .since = {1},
    .inputs = {"query: T", "key: T?", "value: T?", "bias: T?", "key_padding_mask: int32?", "attention_bias: T?",
               "past_key: T?", "past_value: T?", "past_sequence_length: int32?", "cache_indirection: int32?"},
    .outputs = {"output: T", "present_key: T?", "present_value: T?", "qk: QK?"},
    .types = types({DType::f32, DType::f16, DType::bf16}),
    .in_place = {{{1, 6, false}, {2, 7, false}}},
});

}  // namespace retort::ops
