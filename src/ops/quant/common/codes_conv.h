// The convolution of codes that ConvInteger and QLinearConv share. The image is brought into quads of channels, so that the
// patches of a panel of output positions are copies of lines of quads; padding counts as the image's zero point.
#pragma once
#include "ops/nn/common/window.h"
#include "ops/quant/common/codes.h"

namespace retort::ops {

struct CodesConv : WindowAttributes {
  int64_t group = 1;
  static constexpr auto attributes = std::tuple_cat(window_attributes, std::tuple{attr("group", &CodesConv::group)});

  /// Which inputs are convolved.
  struct Inputs {
    size_t x, w, x_zero, w_zero;
  };
  void check() const;
  /// Packs weights that are constant, with their zero points.
  std::unique_ptr<State> prepare_filters(PrepareContext& c, const Inputs& in) const;
  size_t scratch_bytes(const RunContext& c, const Inputs& in) const;
  /// `finish(row, channel)` sets the bias and the scale of an output channel.
  void convolve(const RunContext& c, const Inputs& in, kernels::CodesResult y,
                FunctionRef<void(kernels::CodeRow&, size_t)> finish) const;

 private:
  struct Sizes;
  struct Memory;
  struct Filters;
  Sizes sizes(const RunContext& c, const Inputs& in) const;
};

}  // namespace retort::ops
