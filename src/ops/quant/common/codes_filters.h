// The packed filters of a convolution of codes that is computed as a product of matrices.
#pragma once
#include "ops/quant/common/codes.h"

namespace retort::ops {

/// Whether patches have the order [tap][channel] without padding: elsewhere, pairs that saturate would have other
/// products than those of ONNX Runtime.
inline bool joins_channels(kernels::CodesSums sums, size_t channels) {
  return sums != kernels::CodesSums::exact && channels % 2 != 0;
}

/// Extents of filters, and the order of the elements of k: [quad of channels][tap][4], or if joined, [tap][channel].
struct FilterSizes {
  size_t out_c, channels, taps;
  bool joined;
  size_t k() const {
    const size_t padded = joined ? channels : checked_mul(ceil_div(channels, size_t(4)), size_t(4), "weights");
    return checked_mul(padded, taps, "weights");
  }
  size_t depth() const { return kernels::codes_depth(k()); }
  size_t place(size_t channel, size_t tap) const {
    return joined ? tap * channels + channel : (channel / 4 * taps + tap) * 4 + channel % 4;
  }
};

/// Memory for filters in the form of A, [output channel][depth].
struct FilterCodes {
  kernels::CodeRow* rows;
  int8_t* codes;
};
void pack_filters(const kernels::Codes& w, const kernels::Codes& zeros, const FilterSizes& s, const FilterCodes& to,
                  const Parallel& parallel);

}  // namespace retort::ops
