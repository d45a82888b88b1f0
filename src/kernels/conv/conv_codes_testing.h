// Convolutions of codes with random operands, for tests.
#pragma once
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>

#include "kernels/conv/conv_codes.h"
#include "kernels/elementwise/kernel_testing.h"

namespace retort::kernels::testing {

/// A convolution with its operands, each in a block of memory of its own, so that the address sanitizer detects any
/// access beyond them.
struct CodesCase {
  CodesConvShape s;
  bool in_signed, out_signed;
  size_t gap;  ///< bytes between pixels of the image and of the result
  std::vector<uint8_t> image;
  std::vector<int8_t> filters;
  std::vector<int32_t> bias;
  std::vector<float> scale, offset;
  uint8_t zero;
  int32_t out_zero;
  bool adds = false;  ///< the codes of `other`
  std::vector<uint8_t> other;
  enum class Results { codes, sums, floats } results = Results::codes;
  Activation activation;  ///< of floats
  std::vector<float> residual;

  CodesCase(ConvShape shape, bool in_is_signed, bool out_is_signed, size_t between)
      : s{shape}, in_signed(in_is_signed), out_signed(out_is_signed), gap(between) {
    Random random(s.in_c * 31 + s.out_c * 7 + s.kernel_h + s.in_w);
    s.in_pixel_stride = s.in_c + (s.input_is_nchw ? 0 : gap);
    s.out_pixel_stride = s.out_c + gap;
    s.input_signed = in_signed;
    const size_t depth = s.in_c / s.groups * s.kernel_h * s.kernel_w;
    image =
        random.integers<uint8_t>(s.batch * s.in_h * s.in_w * s.in_pixel_stride - (s.input_is_nchw ? 0 : gap), 0, 255);
    filters = random.integers<int8_t>(s.out_c * depth, -128, 127);
    bias = random.integers<int32_t>(s.out_c, -2000, 2000);
    scale = random.floats(s.out_c, 0, 1 / (40 * std::sqrt(float(depth))));
    offset = random.floats(s.out_c, -3, 3);
    if (s.out_c > 4) {
      scale[1] = std::numeric_limits<float>::quiet_NaN();
      scale[2] = 1e30f;
      scale[3] = -1e30f;
    }
    zero = uint8_t(random.integer(0, 255));
    other = random.integers<uint8_t>(s.out_pixels() * s.out_pixel_stride - gap, 0, 255);
    residual = random.floats(s.out_pixels() * (s.out_c + 3), -10, 10);
    out_zero = out_signed ? -7 : 130;
  }
  /// As in most models: no offset is needed, and all scales are plain (before, those of channels 1 to 3 are NaN and
  /// +-1e30). `natural`: the zero point is the smallest code.
  void make_plain(bool natural) {
    offset.assign(offset.size(), 0);
    for (size_t i = 1; s.out_c > 4 && i < 4; ++i) scale[i] = scale[0];
    if (natural) out_zero = out_signed ? -128 : 0;
  }
  static int32_t code(uint8_t byte, bool is_signed) { return is_signed ? int8_t(byte) : byte; }

  /// Everything but the filters, in the order of channels.
  ConvCodesArgs arguments(std::vector<uint8_t>& y) const {
    const size_t size = results == Results::codes ? 1 : 4;
    y.assign((s.out_pixels() * s.out_pixel_stride - gap) * size, 77);
    ConvCodesArgs a{.shape = s, .input = image.data(), .input_zero = zero};
    a.bias = bias.data();
    a.scale = scale.data();
    a.offset = offset.data();
    a.output = y.data();
    a.output_signed = out_signed;
    a.output_zero = out_zero;
    if (results != Results::codes) a.wide.data = y.data();
    if (results == Results::floats) {
      a.wide.scale = scale.data();
      a.wide.epilogue = {.bias = offset.data(), .activation = activation};
      if (adds) a.wide.epilogue.residual = residual.data();
      a.wide.epilogue.residual_stride = s.out_c + 3;
    }
    if (!adds || results != Results::codes) return a;
    y = other;
    a.residual = {.other = {y.data(), in_signed, in_signed ? 5 : 133, 0.5f},
                  .pixel_stride = s.out_pixel_stride,
                  .scale = 0.25f,
                  .sum = {nullptr, out_signed, out_zero / 2, 0.4f}};
    return a;
  }
  std::vector<uint8_t> plain() const {
    std::vector<uint8_t> y;
    ConvCodesArgs a = arguments(y);
    a.packed = filters.data();
    conv_codes_reference(a);
    return y;
  }
  std::vector<uint8_t> kernel(const Parallel& par = Parallel()) const {
    const size_t bytes = conv_codes_packed_bytes(s, filters.data());
    const bool adds_codes = adds && results == Results::codes;
    Lines packed(bytes), scratch(conv_codes_scratch_bytes(s, adds_codes, par.workers()));
    std::memset(packed.data(), 0, bytes);
    pack_conv_codes(s, filters.data(), packed.data());
    const size_t places = conv_codes_places(s), depth = filters.size() / s.out_c;
    std::vector<int32_t> biases(places);
    std::vector<float> scales(places), offsets(places);
    for (size_t place = 0; place < places; ++place) {
      const size_t o = conv_codes_channel(s, place);
      if (o >= s.out_c) continue;
      int32_t total = 0;
      for (size_t i = 0; i < depth; ++i) total += filters[o * depth + i] - s.filter_zero;
      biases[place] = bias[o] - total * conv_codes_zero(s, code(zero, in_signed), in_signed);
      if (results != Results::codes) continue;
      scales[place] = scale[o];
      offsets[place] = offset[o];
    }
    std::vector<uint8_t> y;
    ConvCodesArgs a = arguments(y);
    a.packed = reinterpret_cast<const int8_t*>(packed.data());
    a.bias = biases.data();
    a.scale = scales.data();
    a.offset = offsets.data();
    conv_codes(a, scratch.data(), par);
    return y;
  }
};

struct Geometry {
  size_t in_c, out_c, groups, kernel_h, kernel_w, stride, dilation, pad;
  size_t in_h = 7, in_w = 9, batch = 2;
  bool planes = false;

  ConvShape shape() const {
    ConvShape s{.batch = batch,
                .in_h = in_h,
                .in_w = in_w,
                .in_c = in_c,
                .out_c = out_c,
                .kernel_h = kernel_h,
                .kernel_w = kernel_w};
    s.stride_h = s.stride_w = stride;
    s.dilation_h = s.dilation_w = dilation;
    s.pad_top = s.pad_left = pad;
    s.groups = groups;
    s.input_is_nchw = planes;
    s.out_h = (in_h + 2 * pad - (kernel_h - 1) * dilation - 1) / stride + 1;
    s.out_w = (in_w + 2 * pad - (kernel_w - 1) * dilation - 1) / stride + 1;
    return s;
  }
};

}  // namespace retort::kernels::testing
