// com.microsoft.CausalConvWithState where only a run tells the number of channels: a causal depthwise convolution whose
// samples follow those that the state keeps. With known channels it is a Conv (lift/rules/causal_conv.cc).
#include "base/checked.h"
#include "ops/nn/common/rounded.h"

namespace retort::ops {
namespace {

struct MicrosoftCausalConvWithState {
  using Self = MicrosoftCausalConvWithState;
  std::string activation = "none";
  int64_t dilation = 1, ndim = 1;
  bool channels_last = false;
  static constexpr std::tuple attributes{attr("activation", &Self::activation),
                                         attr("channels_last", &Self::channels_last), attr("dilation", &Self::dilation),
                                         attr("ndim", &Self::ndim)};
  enum Input : size_t { kX, kWeight, kBias, kState };

  void check() const {
    require(activation == "none" || activation == "silu" || activation == "swish", ErrorCode::invalid_argument,
            "activation \"{}\" is not one of none, silu, swish", activation);
    require(dilation >= 1, ErrorCode::invalid_argument, "dilation is {}, expected a number from 1 on", dilation);
    require(ndim == 1, ErrorCode::not_implemented, "ndim is {}, 1 is supported", ndim);
  }
  void infer(InferContext& c) const {
    require(!c.wants(2), ErrorCode::not_implemented, "the output state_update is not supported; remove it");
    for (const size_t i : {0, 1}) c.set(i, c.dtype(kX));
    const Shape& x = c.shape(kX);
    require(channels_last ? x.rank() >= 3 : x.rank() == 3, ErrorCode::invalid_argument,
            "input has shape {}, expected 3 axes, or more with channels last", c.dims().text(x));
    c.set(0, c.dtype(kX), x);
    const Shape& w = c.shape(kWeight);
    require(w.rank() == 3 && (!is_known(w[2]) || w[2] > 0), ErrorCode::invalid_argument,
            "weight has shape {}, expected [channels, 1, k]", c.dims().text(w));
    DimTable& d = c.dims();
    Dim channels = 1;
    for (size_t i = channels_last ? 2 : 1; i < (channels_last ? x.rank() : 2); ++i) channels = d.mul(channels, x[i]);
    expect_shape(c, kWeight, "weight", {channels, 1, w[2]});
    if (c.has(kBias)) expect_shape(c, kBias, "bias", {channels});
    Shape state = x;
    state[channels_last ? 1 : 2] = d.mul(d.sub(w[2], 1), dilation);
    if (c.has(kState)) expect_shape(c, kState, "past_state", state);
    c.set(1, c.dtype(kX), state);
  }
  Cost cost(const CostContext& c) const { return {.multiply_adds = c.count(kX) * c.extent(kWeight, 2)}; }

  /// Where the samples of one channel lie: `rows` of them, `step` apart.
  struct Layout {
    size_t batch, channels, rows, step;
    size_t first(size_t b, size_t channel) const { return b * channels * rows + channel * (step == 1 ? rows : 1); }
  };
  Layout layout(const Shape& s) const {
    const auto rows = size_t(s[channels_last ? 1 : 2]);
    size_t channels = 1;
    for (size_t i = channels_last ? 2 : 1; i < (channels_last ? s.rank() : 2); ++i) channels *= size_t(s[i]);
    return {size_t(s[0]), channels, rows, channels_last ? channels : 1};
  }

  template <std::same_as<float> T>
  void reference(RunContext& c) const {
    const auto taps = size_t(c.shape(kWeight)[2]), apart = size_t(dilation);
    const Layout rows = layout(c.shape(kX));
    const size_t kept = checked_mul(taps - 1, apart, "positions to keep");
    const Layout past{rows.batch, rows.channels, kept, rows.step};
    const T *x = c.input<T>(kX).data(), *weights = c.input<T>(kWeight).data();
    const T *bias = c.optional<T>(kBias), *state = c.optional<T>(kState);
    c.parallel().for_each(rows.batch * rows.channels, [&](size_t task, int) {
      const size_t b = task / rows.channels, channel = task % rows.channels;
      const size_t from = rows.first(b, channel), before = past.first(b, channel);
      const auto sample = [&](size_t i) {
        if (i >= kept) return x[from + (i - kept) * rows.step];
        return state ? state[before + i * past.step] : 0.0f;
      };
      for (size_t t = 0; t < rows.rows; ++t) {
        float sum = bias ? bias[channel] : 0;
        for (size_t j = 0; j < taps; ++j) sum += weights[channel * taps + j] * sample(t + j * apart);
        c.output<T>(0)[from + t * rows.step] = activation == "none" ? sum : sum * sigmoid(sum);
      }
      for (size_t i = 0; c.wants(1) && i < kept; ++i) c.output<T>(1)[before + i * past.step] = sample(rows.rows + i);
    });
  }
};

}  // namespace

extern const OpDef op_microsoft_causal_conv_with_state;
constinit const OpDef op_microsoft_causal_conv_with_state = define<MicrosoftCausalConvWithState>({
    .name = "CausalConvWithState",
    .domain = "com.microsoft",
    .since = {1},
    .inputs = {"input: T", "weight: T", "bias: T?", "past_state: T?"},
    .outputs = {"output: T", "present_state: T?", "state_update: T?"},
    .types = kSingleFloats,
});

}  // namespace retort::ops
