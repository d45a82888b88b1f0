// com.microsoft.HyperConnectionPreMix: the sum of streams, each times its gate.
#include "ops/nn/common/load.h"
#include "ops/nn/common/streams.h"

namespace retort::ops {
namespace {

struct HyperConnectionPreMix {
  int64_t num_branches = 0;
  float reduction_scale = 1;
  static constexpr std::tuple attributes{attr("num_branches", &HyperConnectionPreMix::num_branches),
                                         attr("reduction_scale", &HyperConnectionPreMix::reduction_scale)};

  void infer(InferContext& c) const {
    c.set(0, c.dtype(0));
    const Dim width = stream_extents(c, 0, num_branches).second;
    c.set(0, c.dtype(0), leading(c.shape(0), leading_axes(c.shape(0), num_branches), {width}));
    expect_gates(c, 1, num_branches, true);
  }
  Cost cost(const CostContext& c) const { return {.multiply_adds = c.count(0)}; }

  template <std::same_as<float> T>
  void reference(RunContext& c) const {
    const Streams s = streams_of(c.shape(0), num_branches);
    const auto x = c.input<T>(0);
    const auto y = c.output<T>();
    const std::vector<double> gates = load_floats(c, 1);
    const GateSteps step = gate_steps(gates.size(), s);
    c.parallel().for_each(s.rows, [&](size_t row, int) {
      const double* gate = gates.data() + row * s.branches * step.branch;
      for (size_t h = 0; h < s.width; ++h) {
        double sum = 0;
        for (size_t b = 0; b < s.branches; ++b)
          sum += double(x[(row * s.branches + b) * s.width + h]) * gate[b * step.branch + h * step.element];
        y[row * s.width + h] = float(sum * double(reduction_scale));
      }
    });
  }
};

}  // namespace

extern const OpDef op_hyper_connection_pre_mix;
constinit const OpDef op_hyper_connection_pre_mix = define<HyperConnectionPreMix>({
    .name = "HyperConnectionPreMix",
    .domain = "com.microsoft",
    .since = {1},
    .inputs = {"streams: T", "pre_mix: M"},
    .outputs = {"output: T"},
    .types = kSingleFloats,
});

}  // namespace retort::ops
