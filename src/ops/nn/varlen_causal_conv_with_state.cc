// com.microsoft.VarlenCausalConvWithState: a causal depthwise convolution of several sequences, whose tokens lie one
// after the other. The state of a sequence has the samples before its first token. Output 2 has the first tokens of
// each sequence.
#include "ops/nn/common/rounded.h"

namespace retort::ops {
namespace {

struct VarlenCausalConvWithState {
  using Self = VarlenCausalConvWithState;
  std::string activation = "none";
  int64_t delta_offset = 0, dilation = 1, group_size = 1, state_update_capacity = 0;
  static constexpr std::tuple attributes{attr("activation", &Self::activation),
                                         attr("delta_offset", &Self::delta_offset), attr("dilation", &Self::dilation),
                                         attr("group_size", &Self::group_size),
                                         attr("state_update_capacity", &Self::state_update_capacity)};
  enum Input : size_t { kX, kWeight, kStarts, kBias, kState, kCount, kDelta, kMask };

  void check() const {
    require(activation == "none" || activation == "silu" || activation == "swish", ErrorCode::invalid_argument,
            "activation \"{}\" is not one of none, silu, swish", activation);
    require(dilation >= 1, ErrorCode::invalid_argument, "dilation is {}, expected a number from 1 on", dilation);
    require(state_update_capacity >= 0 && state_update_capacity <= 8, ErrorCode::invalid_argument,
            "state_update_capacity is {}, expected a number from 0 to 8", state_update_capacity);
  }
  void infer(InferContext& c) const {
    for (const size_t i : {0, 1, 2}) c.set(i, c.dtype(kX));
    require(!c.has(kDelta) && !c.has(kMask), ErrorCode::not_implemented,
            "kernel_delta and previous_mask are not supported");
    require(c.has(kCount) == (state_update_capacity > 0), ErrorCode::invalid_argument,
            "state_update_capacity is {}, capture_count is {}", state_update_capacity,
            c.has(kCount) ? "given" : "missing");
    const Shape &x = c.shape(kX), &w = c.shape(kWeight), &starts = c.shape(kStarts);
    require(x.rank() == 2 && w.rank() == 3 && starts.rank() == 1, ErrorCode::invalid_argument,
            "input, weight and cumulative_sequence_length have {}, {} and {} axes, expected 2, 3 and 1", x.rank(),
            w.rank(), starts.rank());
    require(!is_known(w[2]) || w[2] > 0, ErrorCode::invalid_argument, "weight has no taps");
    require(!is_known(starts[0]) || starts[0] > 0, ErrorCode::invalid_argument,
            "cumulative_sequence_length is empty, expected [sequences + 1]");
    c.set(0, c.dtype(kX), x);
    DimTable& d = c.dims();
    const Dim sequences = d.sub(starts[0], 1), kept = d.mul(d.sub(w[2], 1), dilation);
    expect_shape(c, kWeight, "weight", {x[1], 1, w[2]});
    if (c.has(kBias)) expect_shape(c, kBias, "bias", {x[1]});
    expect_shape(c, kState, "initial_state", {sequences, x[1], kept});
    if (c.has(kCount)) expect_shape(c, kCount, "capture_count", {sequences});
    c.set(1, c.dtype(kX), {sequences, x[1], kept});
    c.set(2, c.dtype(kX), {sequences, state_update_capacity, x[1]});
  }
  Cost cost(const CostContext& c) const { return {.multiply_adds = c.count(kX) * c.extent(kWeight, 2)}; }

  /// The samples of a channel of one sequence: those of its state, then its tokens.
  struct Samples {
    const float *state, *tokens;
    size_t kept, channels;
    float operator[](size_t i) const { return i < kept ? state[i] : tokens[(i - kept) * channels]; }
  };

  template <std::same_as<float> T>
  void reference(RunContext& c) const {
    const Shape &x = c.shape(kX), &w = c.shape(kWeight);
    const auto channels = size_t(x[1]), taps = size_t(w[2]), apart = size_t(dilation), kept = (taps - 1) * apart;
    const auto starts = c.input<int32_t>(kStarts);
    require(starts.front() == 0 && starts.back() == x[0] && std::is_sorted(starts.begin(), starts.end()),
            ErrorCode::invalid_argument, "cumulative_sequence_length does not rise from 0 to {}", x[0]);
    const auto y = c.output<T>(0);
    const T *weights = c.input<T>(kWeight).data(), *bias = c.optional<T>(kBias);
    c.parallel().for_each((starts.size() - 1) * channels, [&](size_t task, int) {
      const size_t sequence = task / channels, channel = task % channels, first = size_t(starts[sequence]);
      const size_t tokens = size_t(starts[sequence + 1]) - first, at = first * channels + channel;
      const Samples samples{c.input<T>(kState).data() + task * kept, c.input<T>(kX).data() + at, kept, channels};
      for (size_t t = 0; t < tokens; ++t) {
        float sum = bias ? bias[channel] : 0;
        for (size_t j = 0; j < taps; ++j) sum += weights[channel * taps + j] * samples[t + j * apart];
        y[at + t * channels] = activation == "none" ? sum : sum * sigmoid(sum);
      }
      if (!c.wants(1)) return;
      for (size_t i = 0; i < kept; ++i) c.output<T>(1)[task * kept + i] = samples[tokens + i];
    });
    if (c.wants(2)) capture(c, channels);
  }
  void capture(const RunContext& c, size_t channels) const {
    const auto y = c.output<float>(2);
    std::fill(y.begin(), y.end(), 0.0f);
    const auto starts = c.input<int32_t>(kStarts);
    const int32_t* counts = c.optional<int32_t>(kCount);
    for (size_t s = 0; counts && s + 1 < starts.size(); ++s) {
      const int64_t most = std::min<int64_t>(state_update_capacity, starts[s + 1] - starts[s]);
      const auto rows = size_t(std::clamp<int64_t>(counts[s], 0, most));
      std::copy_n(c.input<float>(kX).data() + size_t(starts[s]) * channels, rows * channels,
                  y.data() + s * size_t(state_update_capacity) * channels);
    }
  }
};

}  // namespace

extern const OpDef op_varlen_causal_conv_with_state;
constinit const OpDef op_varlen_causal_conv_with_state = define<VarlenCausalConvWithState>({
    .name = "VarlenCausalConvWithState",
    .domain = "com.microsoft",
    .since = {1},
    .inputs = {"input: T", "weight: T", "cumulative_sequence_length: int32", "bias: T?", "initial_state: T",
               "capture_count: int32?", "kernel_delta: T?", "previous_mask: T?"},
    .outputs = {"output: T", "final_state: T", "state_update: T?"},
    .types = kSingleFloats,
});

}  // namespace retort::ops
