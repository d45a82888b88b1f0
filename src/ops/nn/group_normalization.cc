// GroupNormalization: groups of channels are normalised together; scale and bias are per channel.
#include "kernels/norm/group_norm.h"
#include "ops/nn/common/normalize.h"

namespace retort::ops {
namespace {

struct GroupNormalization {
  int64_t num_groups = 1, stash_type = 1;
  float epsilon = 1e-5f;
  static constexpr std::tuple attributes{required("num_groups", &GroupNormalization::num_groups),
                                         attr("epsilon", &GroupNormalization::epsilon),
                                         attr("stash_type", &GroupNormalization::stash_type)};

  void check() const { require(num_groups > 0, ErrorCode::invalid_argument, "num_groups is {}", num_groups); }

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
    require(channels % size_t(num_groups) == 0, ErrorCode::invalid_argument, "{} channels in {} groups", channels,
            num_groups);
    const size_t group = channels / size_t(num_groups) * pixels;
    for (size_t start = 0; start < x.size(); start += group) {
      const Moments m = moments(x.subspan(start, group), epsilon);
      for (size_t i = start; i < start + group; ++i) {
        const size_t ch = i / pixels % channels;
        y[i] = T((double(x[i]) - m.mean) * m.inverse_deviation * double(scale[ch]) + double(bias[ch]));
      }
    }
  }

  void fast(RunContext& c, std::type_identity<float>) const {
    const Shape& shape = c.shape(0);
    const size_t channels = size_t(shape[1]);
    require(shape[1] % num_groups == 0, ErrorCode::invalid_argument, "{} channels in {} groups", shape[1], num_groups);
    kernels::group_norm({.batch = size_t(shape[0]),
                         .channels = channels,
                         .spatial = size_t(extent_product(shape, 2, shape.rank())),
                         .groups = size_t(num_groups),
                         .x = c.input<float>(0).data(),
                         .gamma = c.input<float>(1).data(),
                         .beta = c.input<float>(2).data(),
                         .epsilon = epsilon,
                         .y = c.output<float>().data()},
                        c.parallel());
  }
};

}  // namespace

extern const OpDef op_group_normalization;
constinit const OpDef op_group_normalization = define<GroupNormalization>({
    .name = "GroupNormalization",
    .since = {18, 21},
    .inputs = {"X: T", "scale: T", "bias: T"},
    .outputs = {"Y: T"},
    .types = kFloats,
});

}  // namespace retort::ops
