// The convolution of codes that ConvInteger and QLinearConv share: as a product of matrices, or plane by plane if each
// channel of the image has only a few filters. For the product, the image is rearranged into quads of channels, so that
// the patches of a panel of output positions are copies of lines of quads; padding is the image's zero point.
#pragma once
#include "ops/nn/common/window.h"
#include "ops/quant/common/codes.h"

namespace retort::ops {

struct CodesConv : WindowAttributes {
  int64_t group = 1;
  static constexpr auto attributes = std::tuple_cat(window_attributes, std::tuple{attr("group", &CodesConv::group)});

  /// The indices of the inputs.
  struct Inputs {
    size_t x, w, x_zero, w_zero;
  };
  void check() const;
  /// Packs weights if they and their zero points are constant. `saturates`: the products of signed ones add up as in
  /// ONNX Runtime on processors without VNNI, except if they are depthwise.
  std::unique_ptr<State> prepare_filters(PrepareContext& c, const Inputs& in, bool saturates) const;
  size_t scratch_bytes(const RunContext& c, const Inputs& in) const;
  /// `finish(row, channel)` sets the bias and the scale of an output channel.
  void convolve(const RunContext& c, const Inputs& in, kernels::CodesResult y,
                FunctionRef<void(kernels::CodeRow&, size_t)> finish) const;

 private:
  struct Sizes;
  struct Memory;
  struct Filters;
  struct Strips;
  struct PaddedPlane;
  using Finish = FunctionRef<void(kernels::CodeRow&, size_t)>;
  Sizes sizes(const RunContext& c, const Inputs& in) const;
  bool by_planes(const RunContext& c, const Inputs& in) const;
  bool has_few_filters(const Shape& weights) const;
  bool signed_filters(const RunContext& c, const Inputs& in, size_t channels) const;
  std::pair<const int8_t*, bool> rows_of(const RunContext& c, const Inputs& in, const Sizes& s, const Memory& memory,
                                         Finish finish) const;
  void convolve_panels(const RunContext& c, const Inputs& in, const Sizes& s, kernels::CodesResult y,
                       Finish finish) const;
  void convolve_windows(const RunContext& c, const Inputs& in, const Sizes& s, const kernels::CodesResult& y,
                        Finish finish) const;
  void convolve_planes(const RunContext& c, const Inputs& in, const Sizes& s, kernels::CodesResult y,
                       Finish finish) const;
};

}  // namespace retort::ops
