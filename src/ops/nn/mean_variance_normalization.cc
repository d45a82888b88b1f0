// MeanVarianceNormalization: (x - mean) / (deviation + 1e-9), both taken over `axes`.
#include <cmath>
#include <vector>

#include "ops/op.h"

namespace retort::ops {
namespace {

struct MeanVarianceNormalization {
  std::vector<int64_t> axes = {0, 2, 3};
  static constexpr std::tuple attributes{attr("axes", &MeanVarianceNormalization::axes)};

  void infer(InferContext& c) const {
    c.set(0, c.dtype(0));
    for (int64_t a : axes) c.axis(a, c.rank(0));
    c.set(0, c.dtype(0), c.shape(0));
  }

  template <std::floating_point T>
  void reference(RunContext& c) const {
    const Shape& shape = c.shape(0);
    std::vector<bool> reduced(shape.rank(), false);
    for (int64_t a : axes) reduced[normalize_axis(a, shape.rank())] = true;
    const auto x = c.input<T>(0);
    const auto y = c.output<T>();
    const auto group_of = [&](size_t i) {
      size_t index = 0, scale = 1;
      for (size_t d = shape.rank(); d-- > 0; i /= size_t(shape[d])) {
        if (reduced[d]) continue;
        index += i % size_t(shape[d]) * scale;
        scale *= size_t(shape[d]);
      }
      return index;
    };
    std::vector<double> sum(x.size()), squares(x.size()), count(x.size());
    for (size_t i = 0; i < x.size(); ++i) {
      const size_t g = group_of(i);
      sum[g] += double(x[i]);
      count[g] += 1;
    }
    for (size_t i = 0; i < x.size(); ++i) {
      const size_t g = group_of(i);
      const double off = double(x[i]) - sum[g] / count[g];
      squares[g] += off * off;
    }
    for (size_t i = 0; i < x.size(); ++i) {
      const size_t g = group_of(i);
      y[i] = T((double(x[i]) - sum[g] / count[g]) / (std::sqrt(squares[g] / count[g]) + 1e-9));
    }
  }
};

}  // namespace

extern const OpDef op_mean_variance_normalization;
constinit const OpDef op_mean_variance_normalization = define<MeanVarianceNormalization>({
    .name = "MeanVarianceNormalization",
    .since = {9, 13},
    .inputs = {"X: T"},
    .outputs = {"Y: T"},
    .types = kFloats,
});

}  // namespace retort::ops
