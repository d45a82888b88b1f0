// Windows of convolutions and pools: their attributes, and the sizes that follow from them.
#pragma once
#include <array>

#include "cuda/core/operators.h"

namespace providers::cuda {

/// One spatial axis of a window over `in` elements.
struct WindowAxis {
  int64_t in = 1, out = 1, filter = 1, stride = 1, dilation = 1, begin = 0, end = 0;
  int64_t span() const { return (filter - 1) * dilation + 1; }
};
/// Three spatial axes; those that a tensor lacks come first and have the size 1.
using WindowAxes = std::array<WindowAxis, 3>;

/// The attributes of a node.
struct Window {
  explicit Window(const Node& node);
  Window() = default;
  std::string auto_pad;
  Dims filter, strides, dilations, pads;  ///< empty: the default
  bool ceil = false;

  /// Of a convolution or pool over a tensor of these dims, {batch, channels, spatial...}. `sizes`: of the filter, one
  /// per spatial axis. Throws Error where the window does not fit.
  WindowAxes axes(const Dims& x, const Dims& sizes) const;
  /// "" or why attributes do not suit `spatial` axes.
  std::string refuses(size_t spatial) const;
};

/// {batch, channels, spatial...} with the outputs of the axes, of the rank of `x`.
Dims window_dims(const Dims& x, int64_t channels, const WindowAxes& axes);
/// Of the dims from axis `from` on.
int64_t product(const Dims& dims, size_t from = 0);

/// The type in which a kernel counts `count` elements of a tensor, with room for a block more.
inline const char* index_type(int64_t count) { return count < 0x7fff0000 ? "int" : "i64"; }

void add_pools(Kinds& kinds);                  // pools.cc
void add_integer_convolutions(Kinds& kinds);   // convolutions_integer.cc
void add_deformed_convolutions(Kinds& kinds);  // convolutions_deform.cc

}  // namespace providers::cuda
