// InstanceNormalization: each channel of each image is normalised, then scaled and shifted.
#include "kernels/norm/group_norm.h"
#include "ops/nn/common/normalize.h"

namespace retort::ops {
namespace {

struct InstanceNormalization {
  float epsilon = 1e-5f;
  static constexpr std::tuple attributes{attr("epsilon", &InstanceNormalization::epsilon)};

  void infer(InferContext& c) const {
    c.set(0, c.dtype(0));
    const Shape& x = c.shape(0);
    require(x.rank() >= 2, ErrorCode::invalid_argument, "input of rank {}", x.rank());
    for (size_t i : {1u, 2u}) {
      if (c.ranked(i) && all_known(c.shape(i)) && is_known(x[1]))
        require(c.shape(i) == Shape{x[1]}, ErrorCode::invalid_argument, "input {} of shape {} for {} channels", i,
                to_string(c.shape(i)), x[1]);
    }
    c.set(0, c.dtype(0), x);
  }

  template <std::floating_point T>
  void reference(RunContext& c) const {
    const Shape& shape = c.shape(0);
    const auto x = c.input<T>(0), scale = c.input<T>(1), bias = c.input<T>(2);
    const auto y = c.output<T>();
    const size_t channels = size_t(shape[1]), pixels = size_t(extent_product(shape, 2, shape.rank()));
    for (size_t p = 0; p < size_t(shape[0]) * channels; ++p) {
      const Moments m = moments(x.subspan(p * pixels, pixels), epsilon);
      const double factor = m.inverse_deviation * double(scale[p % channels]);
      for (size_t i = p * pixels; i < (p + 1) * pixels; ++i)
        y[i] = T((double(x[i]) - m.mean) * factor + double(bias[p % channels]));
    }
  }

  void fast(RunContext& c, std::type_identity<float>) const {
    const Shape& shape = c.shape(0);
    const size_t channels = size_t(shape[1]);
    kernels::group_norm({.batch = size_t(shape[0]),
                         .channels = channels,
                         .spatial = size_t(extent_product(shape, 2, shape.rank())),
                         .groups = channels,
                         .x = c.input<float>(0).data(),
                         .gamma = c.input<float>(1).data(),
                         .beta = c.input<float>(2).data(),
                         .epsilon = epsilon,
                         .y = c.output<float>().data()},
                        c.parallel());
  }
};

}  // namespace

extern const OpDef op_instance_normalization;
constinit const OpDef op_instance_normalization = define<InstanceNormalization>({
    .name = "InstanceNormalization",
    .since = {1, 6, 22},
    .inputs = {"input: T", "scale: T", "B: T"},
    .outputs = {"Y: T"},
    .types = kFloats,
});

}  // namespace retort::ops
