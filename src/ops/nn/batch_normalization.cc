// BatchNormalization over axis 1. In training mode the statistics are those of the batch, and the running ones are
// updated.
#include <algorithm>
#include <cmath>

#include "kernels/norm/group_norm.h"
#include "ops/elementwise.h"
#include "ops/nn/common/load.h"

namespace retort::ops {
namespace {

struct BatchNormalization {
  float epsilon = 1e-5f, momentum = 0.9f;
  bool training_mode = false;
  static constexpr std::tuple attributes{attr("epsilon", &BatchNormalization::epsilon),
                                         attr("momentum", &BatchNormalization::momentum),
                                         attr("training_mode", &BatchNormalization::training_mode)};

  void infer(InferContext& c) const {
    c.set(0, c.dtype(0));
    const DType statistics = c.dtype(3);
    for (size_t i : {1u, 2u}) c.set(i, statistics);
    const Shape& x = c.shape(0);
    require(x.rank() >= 1, ErrorCode::invalid_argument, "the input has no axes, expected at least 1");
    const Dim channels = x.rank() > 1 ? x[1] : 1;
    for (size_t i = 1; i < 5; ++i) {
      if (!c.ranked(i)) continue;
      if (!(c.rank(i) == 1 && (!is_known(channels) || !is_known(c.shape(i)[0]) || c.shape(i)[0] == channels)))
        fail(ErrorCode::invalid_argument, "input {} has shape {} for {} channels", i, c.dims().text(c.shape(i)),
             c.dims().text(channels));
    }
    c.set(0, c.dtype(0), x);
    for (size_t i : {1u, 2u}) c.set(i, statistics, {channels});
  }
  Cost cost(const CostContext& c) const { return {.operations = 5 * c.count(0)}; }

  template <OneOf<float, double> T>
  void fast(RunContext& c, std::type_identity<T>) const {
    const Shape& shape = c.shape(0);
    const size_t channels = shape.rank() > 1 ? size_t(shape[1]) : 1;
    const size_t pixels = size_t(extent_product(shape, 2, shape.rank()));
    if (training_mode || channels == 0 || pixels == 0) return reference<T>(c);
    const auto scale = load_floats(c, 1), bias = load_floats(c, 2), means = load_floats(c, 3),
               variance = load_floats(c, 4);
    std::vector<Channel<T>> of(channels);  // a mean that is part of the bias would cost digits
    for (size_t ch = 0; ch < channels; ++ch)
      of[ch] = {T(means[ch]), T(scale[ch] / std::sqrt(variance[ch] + double(epsilon))), T(bias[ch])};
    const T* x = c.input<T>(0).data();
    T* y = c.output<T>().data();
    for_output_chunks(c, [&](size_t begin, size_t end) {
      if (pixels == 1) return scale_columns(x, y, begin, end, of);
      for (size_t i = begin; i < end;) {
        const size_t ch = i / pixels % channels, n = std::min(end, (i / pixels + 1) * pixels);
        const Channel<T> one = of[ch];
        if constexpr (std::is_same_v<T, float>) {
          kernels::affine({one.mean, one.factor, one.bias}, x + i, y + i, n - i);
          i = n;
        }
        for (; i < n; ++i) y[i] = one(x[i]);
      }
    });
  }

  template <std::floating_point T>
  void reference(RunContext& c) const {
    const Shape& shape = c.shape(0);
    const size_t batch = size_t(shape[0]), channels = shape.rank() > 1 ? size_t(shape[1]) : 1;
    const size_t pixels = size_t(extent_product(shape, 2, shape.rank()));
    const auto scale = load_floats(c, 1), bias = load_floats(c, 2);
    auto mean = load_floats(c, 3), variance = load_floats(c, 4);
    if (training_mode) update_statistics<T>(c, mean, variance, batch, pixels);
    const auto x = c.input<T>(0);
    const auto y = c.output<T>();
    for (size_t i = 0; i < x.size(); ++i) {
      const size_t ch = i / pixels % channels;
      const double factor = scale[ch] / std::sqrt(variance[ch] + double(epsilon));
      y[i] = T((double(x[i]) - mean[ch]) * factor + bias[ch]);
    }
  }

 private:
  template <typename T>
  struct Channel {
    T mean, factor, bias;
    T operator()(T x) const { return (x - mean) * factor + bias; }
  };
  // The elements from `begin` to `end` of rows of one element per channel.
  template <typename T>
  static void scale_columns(const T* x, T* y, size_t begin, size_t end, const std::vector<Channel<T>>& of) {
    const size_t columns = of.size();
    for (size_t i = begin; i < end;) {
      const size_t ch = i % columns, n = std::min(columns - ch, end - i);
      for (size_t k = 0; k < n; ++k) y[i + k] = of[ch + k](x[i + k]);
      i += n;
    }
  }

  template <typename T>
  void update_statistics(RunContext& c, std::vector<double>& mean, std::vector<double>& variance, size_t batch,
                         size_t pixels) const {
    const T* x = c.input<T>(0).data();
    const size_t channels = mean.size();
    const double count = double(batch * pixels), keep = momentum;
    std::vector<double> running_mean = mean, running_variance = variance;
    for (size_t ch = 0; ch < channels; ++ch) {
      const auto each = [&](auto&& f) {
        for (size_t i = 0; i < batch * pixels; ++i) f(double(x[(i / pixels * channels + ch) * pixels + i % pixels]));
      };
      double sum = 0, squares = 0;
      each([&](double v) { sum += v; });
      mean[ch] = sum / count;
      each([&](double v) { squares += (v - mean[ch]) * (v - mean[ch]); });
      variance[ch] = squares / count;
      running_mean[ch] = running_mean[ch] * keep + mean[ch] * (1 - keep);
      running_variance[ch] = running_variance[ch] * keep + variance[ch] * (1 - keep);
    }
    store_floats(c, 1, running_mean);
    store_floats(c, 2, running_variance);
  }
};

}  // namespace

extern const OpDef op_batch_normalization;
constinit const OpDef op_batch_normalization = define<BatchNormalization>({
    .name = "BatchNormalization",
    .since = {1, 6, 7, 9, 14, 15},
    .inputs = {"X: T", "scale: T1", "B: T1", "input_mean: T2", "input_var: T2"},
    .outputs = {"Y: T", "running_mean: T2?", "running_var: T2?"},
    .types = kFloats,
    .traits = kMayAliasInput0,
});

}  // namespace retort::ops
