// Normalisation of images by groups of channels, with scale and bias per channel; in instance normalisation each
// channel is a group.
#pragma once
#include "kernels/norm/group_norm.h"
#include "ops/nn/common/normalize.h"

namespace retort::ops {

inline void infer_group_norm(InferContext& c) {
  c.set(0, c.dtype(0));
  const Shape& x = c.shape(0);
  require(x.rank() >= 2, ErrorCode::invalid_argument, "the input has {} axes, expected at least 2", x.rank());
  for (size_t i : {1u, 2u}) {
    if (c.ranked(i) && all_known(c.shape(i)) && is_known(x[1]))
      if (!(c.shape(i) == Shape{x[1]}))
        fail(ErrorCode::invalid_argument, "input {} has shape {} for {} channels", i, to_string(c.shape(i)), x[1]);
  }
  c.set(0, c.dtype(0), x);
}

/// `groups` divides the number of channels.
template <std::floating_point T>
void group_norm_reference(RunContext& c, size_t groups, float epsilon) {
  const Shape& shape = c.shape(0);
  const auto x = c.input<T>(0), scale = c.input<T>(1), bias = c.input<T>(2);
  const auto y = c.output<T>();
  const size_t channels = size_t(shape[1]), pixels = size_t(extent_product(shape, 2, shape.rank()));
  const size_t group = groups ? channels / groups * pixels : 0;
  for (size_t start = 0; start < x.size(); start += group) {
    const Moments m = moments(x.subspan(start, group), epsilon);
    for (size_t i = start; i < start + group; ++i) {
      const size_t ch = i / pixels % channels;
      y[i] = T((double(x[i]) - m.mean) * m.inverse_deviation * double(scale[ch]) + double(bias[ch]));
    }
  }
}

inline void group_norm_fast(RunContext& c, size_t groups, float epsilon) {
  const Shape& shape = c.shape(0);
  kernels::group_norm({.batch = size_t(shape[0]),
                       .channels = size_t(shape[1]),
                       .spatial = size_t(extent_product(shape, 2, shape.rank())),
                       .groups = groups,
                       .x = c.input<float>(0).data(),
                       .gamma = c.input<float>(1).data(),
                       .beta = c.input<float>(2).data(),
                       .epsilon = epsilon,
                       .y = c.output<float>().data()},
                      c.parallel());
}

}  // namespace retort::ops
