// com.microsoft.LinearAttention: that of ai.onnx, whose heads of values may also be more than those of queries.
#include "ops/nn/common/linear_attention.h"

namespace retort::ops {
namespace {

struct MicrosoftLinearAttention : LinearAttentionBase {
  using Self = MicrosoftLinearAttention;
  int64_t state_window = 0;
  static constexpr std::tuple attributes{
      attr("chunk_size", &Self::chunk_size),       required("kv_num_heads", &Self::kv_num_heads),
      required("q_num_heads", &Self::q_num_heads), attr("scale", &Self::scale),
      attr("state_window", &Self::state_window),   attr("update_rule", &Self::update_rule)};
  void check() const {
    check_attributes();
    require(state_window >= 0 && state_window <= 8, ErrorCode::invalid_argument,
            "state_window is {}, expected a number from 0 to 8", state_window);
    require(state_window == 0, ErrorCode::not_implemented, "state_window is not supported");
  }
  template <std::same_as<float> T>
  void reference(RunContext& c) const {
    compute(c);
  }
};

}  // namespace

extern const OpDef op_microsoft_linear_attention;
constinit const OpDef op_microsoft_linear_attention = define<MicrosoftLinearAttention>({
    .name = "LinearAttention",
    .domain = "com.microsoft",
    .since = {1},
    .inputs = {"query: T", "key: T", "value: T", "past_state: S?", "decay: T?", "beta: T?"},
    .outputs = {"output: T", "present_state: S"},
    .types = kSingleFloats,
});

}  // namespace retort::ops
