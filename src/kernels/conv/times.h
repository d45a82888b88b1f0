// The cost model of 3x3 convolutions with stride 1.
#pragma once
#include "base/checked.h"
#include "kernels/conv/conv_plan.h"

namespace retort::kernels::conv_detail {

/// Times of a 3x3 convolution in units of one multiply-add of 16 lanes.
struct Times3x3 {
  // Cost of both transforms of a tile: half of it per vector of in_c, half per vector of out_c channels. F(4x4): 36
  // loads, 36 stores and 150 operations per vector (measured: 255 and 190 cycles); F(2x2): 16, 16 and 56.
  static constexpr double kTransform4 = 14, kTransform2 = 5;
  // Cost of transforming a vector of filters for one plane: writing it to L2 (measured: 2.5 ns), or beyond L2 if it
  // does not fit. Filters that are packed transformed come from memory while the vector before is multiplied.
  static constexpr double kFilterNear = 9, kFilterFar = 20, kFilterPacked = 3;

  explicit Times3x3(const ConvShape& shape) : s(shape), vectors(double(s.in_c) * double(s.out_c) / 16) {}
  // One multiply-add of a plain sum takes `plain` units.
  double direct(double plain) const { return plain * double(s.out_pixels()) * 9 * vectors; }
  double winograd4() const { return winograd(4, filter(4), kTransform4); }
  double winograd2() const { return winograd(2, filter(2), kTransform2); }
  double winograd2_packed() const { return winograd(2, kFilterPacked, kTransform2); }
  /// Both the products and the bytes of a filter are halved, and transformed inputs take half of the memory. Panels of
  /// pairs are always whole.
  double bf16_winograd() const {
    constexpr double kTransform = 4.5;  // fitted: 64 channels at 56x56 take 0.91 of the time, 128 to 64 0.85; 80 more
    const double padding = double(round_up(s.out_c, gemm_panel_width())) / double(s.out_c);
    return winograd(2, kFilterPacked, kTransform, padding / 2);
  }

 private:
  double winograd(size_t edge, double filter, double transform, double product = 1) const {
    const size_t down = ceil_div(ceil_div(s.out_h, s.dilation_h), edge) * row_phases(s);
    const size_t across = ceil_div(ceil_div(s.out_w, s.dilation_w), edge) * phases(s);
    const double tiles = double(s.batch) * double(down * across), planes = double((edge + 2) * (edge + 2));
    return product * (tiles + filter) * planes * vectors + tiles * transform * double(s.in_c + s.out_c);
  }
  double filter(size_t edge) const {
    constexpr size_t kNearBytes = 768 << 10;
    const size_t part = 2 * (edge + 2);  // planes whose filters are transformed at a time
    return part * s.in_c * gemm_panel_width() * sizeof(float) <= kNearBytes ? kFilterNear : kFilterFar;
  }

  const ConvShape& s;
  double vectors;
};

}  // namespace retort::kernels::conv_detail
