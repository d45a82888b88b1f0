// The parts of conv_codes that depend on the processor.
#pragma once
#include "kernels/conv/conv_codes.h"

namespace retort::kernels::codes_detail {

/// What both parts do with pixels and results. A pixel is made unsigned by `flip`, which inverts the sign bit or
/// nothing.
struct PixelForm {
  uint8_t flip = 0;
  bool result_signed = false;
  int32_t result_zero = 0;
};

/// Rows of codes times panels of filters: result [lines][rows][columns]. A row has parts that may be apart, so that the
/// rows of neighbouring pixels can overlap.
struct CodesProduct {
  PixelForm form;
  const uint8_t* a = nullptr;  ///< row i of line l starts at l · a_line + i · a_stride
  size_t lines = 1, rows = 0, columns = 0;
  size_t a_line = 0, a_stride = 0;
  size_t parts = 1, part_stride = 0;  ///< bytes from a part to the next
  size_t depth = 0;                   ///< bytes of a part, a multiple of 4
  const int8_t* filters = nullptr;    ///< [panel][part][depth / 4][codes_panel_width()][4]
  const int32_t* bias = nullptr;      ///< these have whole panels
  const float *scale = nullptr, *offset = nullptr;
  uint8_t* y = nullptr;
  size_t y_line = 0, y_stride = 0;
};
void multiply_codes(const CodesProduct& product) noexcept;

/// Channels of a block of a depthwise convolution; their order is such that packing four vectors of 32-bit sums to
/// bytes gives the order of the image.
inline size_t depthwise_block() { return 2 * codes_panel_width(); }
/// The channel of `place` in its block: vector v of four has, in each group of four lanes, channels 4 v to 4 v + 3 of
/// sixteen.
inline size_t depthwise_channel(size_t place) {
  const size_t lanes = codes_panel_width() / 2, lane = place % lanes;
  return lane / 4 * 16 + place / lanes * 4 + lane % 4;
}

/// Lines of the result of a depthwise convolution, one block of channels.
struct CodesDepthwise {
  PixelForm form;
  const ConvShape* shape = nullptr;
  const uint8_t* image = nullptr;   ///< the first channel of the block at pixel 0
  size_t channels = 0;              ///< at most a block
  uint8_t outside = 0;              ///< the code of pixels outside the image
  const int8_t* filters = nullptr;  ///< [kernel row / 4][kernel column][place][4 kernel rows]
  const int32_t* bias = nullptr;
  const float *scale = nullptr, *offset = nullptr;
  uint8_t* y = nullptr;  ///< as `image`
  size_t first = 0, lines = 0;
  uint8_t* quads = nullptr;  ///< depthwise_quads_bytes() of working memory
};
/// Columns of the padded image under one line of results.
inline size_t depthwise_columns(const ConvShape& s) {
  return (s.out_w - 1) * s.stride_w + (s.kernel_w - 1) * s.dilation_w + 1;
}
inline size_t depthwise_quads_bytes(const ConvShape& s) {
  return (s.kernel_h + 3) / 4 * depthwise_columns(s) * depthwise_block() * 4;
}
void convolve_code_lines(const CodesDepthwise& lines) noexcept;

/// Interleaves n bytes of each of 1 to 4 planes, which are `plane` bytes apart.
void interleave_planes(const uint8_t* planes, size_t plane, size_t count, size_t n, uint8_t* to) noexcept;

}  // namespace retort::kernels::codes_detail
