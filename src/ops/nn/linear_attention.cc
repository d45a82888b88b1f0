// LinearAttention: attention by a state of fixed size, which each token changes and reads.
#include "ops/nn/common/linear_attention.h"

namespace retort::ops {
namespace {

struct LinearAttention : LinearAttentionBase {
  using Self = LinearAttention;
  static constexpr std::tuple attributes{attr("chunk_size", &Self::chunk_size),
                                         required("kv_num_heads", &Self::kv_num_heads),
                                         required("q_num_heads", &Self::q_num_heads), attr("scale", &Self::scale),
                                         attr("update_rule", &Self::update_rule)};
  void check() const {
    check_attributes();
    require(q_num_heads % kv_num_heads == 0, ErrorCode::invalid_argument,
            "q_num_heads is {}, expected a multiple of kv_num_heads {}", q_num_heads, kv_num_heads);
  }
  template <std::same_as<float> T>
  void reference(RunContext& c) const {
    compute(c);
  }
};

}  // namespace

extern const OpDef op_linear_attention;
constinit const OpDef op_linear_attention = define<LinearAttention>({
    .name = "LinearAttention",
    .since = {27},
    .inputs = {"query: T", "key: T", "value: T", "past_state: S?", "decay: T?", "beta: T?"},
    .outputs = {"output: T", "present_state: S"},
    .types = kSingleFloats,
});

}  // namespace retort::ops
