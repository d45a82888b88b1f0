// MeanVarianceNormalization: (x - mean) / (deviation + 1e-9), both taken over `axes`. The default is meant for images;
// axes that the input does not have are left out, as in ONNX Runtime.
#include <algorithm>
#include <cmath>
#include <vector>

#include "base/error.h"
#include "kernels/norm/group_norm.h"
#include "kernels/reduce/reduce.h"
#include "ops/op.h"

namespace retort::ops {
namespace {

struct MeanVarianceNormalization {
  std::vector<int64_t> axes = {0, 2, 3};
  static constexpr std::tuple attributes{attr("axes", &MeanVarianceNormalization::axes)};

  void infer(InferContext& c) const {
    c.set(0, c.dtype(0));
    bool any = axes.empty();
    for (size_t d = 0; d < c.rank(0); ++d) any |= over(d, c.rank(0));
    require(any, ErrorCode::invalid_argument, "an input of shape {} has none of the axes {}", c.dims().text(c.shape(0)),
            to_string(axes));
    c.set(0, c.dtype(0), c.shape(0));
  }
  Cost cost(const CostContext& c) const { return {.operations = 5 * c.count(0)}; }

  template <std::floating_point T>
  void reference(RunContext& c) const {
    const Shape& shape = c.shape(0);
    const auto x = c.input<T>(0);
    const auto y = c.output<T>();
    const auto group_of = [&](size_t i) {
      size_t index = 0, scale = 1;
      for (size_t d = shape.rank(); d-- > 0; i /= size_t(shape[d])) {
        if (over(d, shape.rank())) continue;
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

  size_t scratch(const RunContext& c) const {
    const auto p = c.dtype(0) == DType::f32 ? plan(c) : std::nullopt;
    return p ? 4 * p->outputs * sizeof(float) : 0;
  }

  // Takes the mean twice: the rounding error of the first one must not count where the deviation is tiny.
  void fast(RunContext& c, std::type_identity<float>) const {
    const auto p = plan(c);
    if (!p) return reference<float>(c);
    const size_t groups = p->outputs, spatial = groups == 1 ? p->count : p->kept.strides[0];
    float* mean = static_cast<float*>(c.scratch());
    float *squares = mean + groups, *scale = squares + groups, *shift = scale + groups;
    float* y = c.output<float>().data();
    kernels::reduce(kernels::Reduce::mean, c.input<float>(0).data(), mean, *p, c.parallel());
    for (size_t g = 0; g < groups; ++g) {
      scale[g] = 1;
      shift[g] = -mean[g];
    }
    kernels::ChannelAffine affine{.batch = c.count(0) / groups / spatial, .channels = groups, .spatial = spatial};
    affine.x = c.input<float>(0).data();
    affine.scale = scale;
    affine.shift = shift;
    affine.y = y;
    kernels::channel_affine(affine, c.parallel());
    kernels::reduce(kernels::Reduce::mean, y, mean, *p, c.parallel());
    kernels::reduce(kernels::Reduce::sum_square, y, squares, *p, c.parallel());
    for (size_t g = 0; g < groups; ++g) {
      const double rest = double(mean[g]), variance = double(squares[g]) / double(p->count) - rest * rest;
      scale[g] = float(1 / (std::sqrt(variance > 0 || std::isnan(variance) ? variance : 0.0) + 1e-9));
      shift[g] = -mean[g] * scale[g];
    }
    affine.x = y;
    kernels::channel_affine(affine, c.parallel());
  }

 private:
  // Whether the mean is taken over an axis of an input of this rank.
  bool over(size_t axis, size_t rank) const {
    const auto from_back = int64_t(axis) - int64_t(rank);
    return std::ranges::any_of(axes, [&](int64_t a) { return a == int64_t(axis) || a == from_back; });
  }

  // A plan if the kept axes are neighbours and the input is not empty.
  std::optional<kernels::ReducePlan> plan(const RunContext& c) const {
    const Shape& x = c.shape(0);
    if (c.count(0) == 0) return std::nullopt;
    Shape list;
    for (size_t d = 0; d < x.rank(); ++d) {
      if (over(d, x.rank())) list.push_back(int64_t(d));
    }
    const auto p = kernels::ReducePlan::make(x, list);
    return p && p->kept.rank <= 1 ? p : std::nullopt;
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
