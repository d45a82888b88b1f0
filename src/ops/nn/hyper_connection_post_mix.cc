// com.microsoft.HyperConnectionPostMix: mixes streams by a matrix, and adds the output of a block to each, times its
// gate.
#include "ops/nn/common/load.h"
#include "ops/nn/common/streams.h"

namespace retort::ops {
namespace {

struct HyperConnectionPostMix {
  int64_t num_branches = 0;
  static constexpr std::tuple attributes{attr("num_branches", &HyperConnectionPostMix::num_branches)};
  enum Input : size_t { kStreams, kBlock, kGates, kMix };

  void infer(InferContext& c) const {
    c.set(0, c.dtype(kStreams));
    const Shape& s = c.shape(kStreams);
    const auto [branches, width] = stream_extents(c, kStreams, num_branches);
    c.set(0, c.dtype(kStreams), s);
    const size_t lead = leading_axes(s, num_branches);
    expect_shape(c, kBlock, "block_output", leading(s, lead, {width}));
    expect_gates(c, kGates, num_branches, false);
    if (c.has(kMix)) expect_shape(c, kMix, "stream_mix", leading(s, lead, {branches, branches}));
  }
  Cost cost(const CostContext& c) const {
    const double branches = c.rank(kMix) > 0 ? c.extent(kMix, -1) : 1;
    return {.multiply_adds = c.count(kStreams) * (branches + 1)};
  }

  template <std::same_as<float> T>
  void reference(RunContext& c) const {
    const Streams s = streams_of(c.shape(kStreams), num_branches);
    const auto x = c.input<T>(kStreams), block = c.input<T>(kBlock);
    const auto y = c.output<T>();
    const std::vector<double> gates = load_floats(c, kGates);
    const std::vector<double> mix = c.has(kMix) ? load_floats(c, kMix) : std::vector<double>();
    const GateSteps step = gate_steps(gates.size(), s);
    c.parallel().for_each(s.rows * s.branches, [&](size_t task, int) {
      const size_t row = task / s.branches, k = task % s.branches, first = row * s.branches;
      for (size_t h = 0; h < s.width; ++h) {
        double sum = gates[task * step.branch + h * step.element] * double(block[row * s.width + h]);
        for (size_t b = 0; !mix.empty() && b < s.branches; ++b)
          sum += mix[(first + b) * s.branches + k] * double(x[(first + b) * s.width + h]);
        if (mix.empty()) sum += double(x[task * s.width + h]);
        y[task * s.width + h] = float(sum);
      }
    });
  }
};

}  // namespace

extern const OpDef op_hyper_connection_post_mix;
constinit const OpDef op_hyper_connection_post_mix = define<HyperConnectionPostMix>({
    .name = "HyperConnectionPostMix",
    .domain = "com.microsoft",
    .since = {1},
    .inputs = {"streams: T", "block_output: T", "post_mix: M", "stream_mix: M?"},
    .outputs = {"output: T"},
    .types = kSingleFloats,
});

}  // namespace retort::ops
