// The windows of a convolution.
#pragma once
#include "operators.h"

namespace onednn {

struct Window {
  Dims strides, dilations, begin, end;
  std::string auto_pad;
  int64_t groups = 1;

  /// Reads the attributes of a node whose first input has a known rank.
  explicit Window(const Node& node);
  bool sound() const;
  int64_t span(size_t i, int64_t kernel) const { return (kernel - 1) * dilations[i] + 1; }
  /// Dilations as the library counts them, from 0.
  Dims gaps() const;
  /// Shape of the result; computes pads that depend on the input. Throws providers::Error if shapes do not fit.
  Dims settle(const Dims& x, const Dims& w);
  /// Shape of the weights, with an additional dimension for the groups if there are several.
  Dims grouped(const Dims& w) const;
};

}  // namespace onednn
