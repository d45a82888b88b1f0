// com.microsoft.BranchwiseRMSNorm: x / sqrt(mean of x² + epsilon) · scale for each branch of hyper-connections.
#include "ops/nn/common/load.h"
#include "ops/nn/common/normalize.h"
#include "ops/nn/common/streams.h"

namespace retort::ops {
namespace {

struct BranchwiseRMSNorm {
  float epsilon = 1e-5f;
  int64_t num_branches = 0;
  static constexpr std::tuple attributes{attr("epsilon", &BranchwiseRMSNorm::epsilon),
                                         attr("num_branches", &BranchwiseRMSNorm::num_branches)};

  void infer(InferContext& c) const {
    c.set(0, c.dtype(0));
    const auto [branches, width] = stream_extents(c, 0, num_branches);
    c.set(0, c.dtype(0), c.shape(0));
    if (!c.has(1)) return;
    const Shape& scale = c.shape(1);
    if (scale.rank() == 2) return expect_shape(c, 1, "scale", {branches, width});
    const bool row = scale.rank() == 1 && may_equal(scale[0], width);
    expect_shape(c, 1, "scale", {row ? width : c.dims().mul(branches, width)});
  }
  Cost cost(const CostContext& c) const { return normalisation_cost(c); }

  template <std::same_as<float> T>
  void reference(RunContext& c) const {
    const Streams s = streams_of(c.shape(0), num_branches);
    const auto x = c.input<T>(0);
    const auto y = c.output<T>();
    const std::vector<double> scale = c.has(1) ? load_floats(c, 1) : std::vector<double>(s.width, 1.0);
    const size_t period = scale.size() == s.width ? 1 : s.branches;
    c.parallel().for_each(s.rows * s.branches, [&](size_t row, int) {
      const auto from = x.subspan(row * s.width, s.width);
      const double factor = inverse_rms(from, epsilon);
      const double* by = scale.data() + row % period * s.width;
      for (size_t i = 0; i < s.width; ++i) y[row * s.width + i] = float(double(from[i]) * factor * by[i]);
    });
  }
};

}  // namespace

extern const OpDef op_branchwise_rms_norm;
constinit const OpDef op_branchwise_rms_norm = define<BranchwiseRMSNorm>({
    .name = "BranchwiseRMSNorm",
    .domain = "com.microsoft",
    .since = {1},
    .inputs = {"X: T", "scale: M?"},
    .outputs = {"Y: T"},
    .types = kSingleFloats,
});

}  // namespace retort::ops
