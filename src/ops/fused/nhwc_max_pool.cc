// retort.MaxPool: largest element of a window over channels-last images, one to three spatial axes.
#include <algorithm>
#include <cstring>
#include <limits>

#include "ops/fused/common/nhwc_pool.h"

namespace retort::ops {
namespace {

struct NhwcMaxPool : NhwcPool<NhwcMaxPool> {
  static constexpr auto attributes = pool_attributes;

  kernels::PoolArgs arguments(const RunContext& c) const {
    return pool_arguments(c, *this, kernels::PoolKind::max, true);
  }

  using NhwcPool<NhwcMaxPool>::fast;
  using NhwcPool<NhwcMaxPool>::reference;
  void fast(RunContext& c, std::type_identity<uint8_t>) const { of_codes(c, false); }
  void fast(RunContext& c, std::type_identity<int8_t>) const { of_codes(c, true); }

  template <std::integral T>
  void reference(RunContext& c) const {
    const kernels::PoolShape s = arguments(c).shape;
    for_each_pixel(s, [&](size_t b, size_t y, size_t x) {
      T* to = static_cast<T*>(c.out_data()) + pixel_of(s, b, y, x) * s.out_pixel_stride;
      std::fill_n(to, s.channels, std::numeric_limits<T>::lowest());
      for_each_tap(s, y, x, [&](size_t pixel) {
        const T* from = static_cast<const T*>(c.data(0)) + (b * s.height.in * s.width.in + pixel) * s.in_pixel_stride;
        for (size_t i = 0; i < s.channels; ++i) to[i] = std::max(to[i], from[i]);
      });
    });
  }

 private:
  static size_t pixel_of(const kernels::PoolShape& s, size_t b, size_t y, size_t x) {
    return (b * s.height.out + y) * s.width.out + x;
  }
  template <typename F>
  static void for_each_pixel(const kernels::PoolShape& s, F&& f) {
    for (size_t i = 0; i < s.batch * s.height.out * s.width.out; ++i)
      f(i / s.width.out / s.height.out, i / s.width.out % s.height.out, i % s.width.out);
  }
  /// Calls f(pixel of the image) for the taps of a window that lie inside the image.
  template <typename F>
  static void for_each_tap(const kernels::PoolShape& s, size_t y, size_t x, F&& f) {
    const kernels::PoolAxis &v = s.height, &h = s.width;
    for (size_t i = 0; i < v.kernel; ++i) {
      const size_t row = y * v.stride + i * v.dilation - v.pad_begin;  // wraps around outside the image
      for (size_t j = 0; j < h.kernel && row < v.in; ++j) {
        const size_t column = x * h.stride + j * h.dilation - h.pad_begin;
        if (column < h.in) f(row * h.in + column);
      }
    }
  }
  void of_codes(RunContext& c, bool is_signed) const {
    constexpr size_t kMostTaps = 256;
    const kernels::PoolShape s = arguments(c).shape;
    if (s.height.kernel * s.width.kernel > kMostTaps) return is_signed ? reference<int8_t>(c) : reference<uint8_t>(c);
    const auto* x = static_cast<const uint8_t*>(c.data(0));
    auto* y = static_cast<uint8_t*>(c.out_data());
    c.parallel().for_each(s.batch * s.height.out, [&](size_t line, int) {
      const size_t b = line / s.height.out;
      const uint8_t* image = x + b * s.height.in * s.width.in * s.in_pixel_stride;
      for (size_t j = 0; j < s.width.out; ++j) {
        const uint8_t* taps[kMostTaps];
        size_t count = 0;
        for_each_tap(s, line % s.height.out, j,
                     [&](size_t pixel) { taps[count++] = image + pixel * s.in_pixel_stride; });
        uint8_t* to = y + (line * s.width.out + j) * s.out_pixel_stride;
        kernels::largest_codes({taps, count}, is_signed, s.channels, to);
      }
    });
  }
};

}  // namespace

extern const OpDef op_nhwc_max_pool;
constinit const OpDef op_nhwc_max_pool = define<NhwcMaxPool>({
    .name = "MaxPool",
    .domain = "retort",
    .inputs = {"X: T"},
    .outputs = {"Y: T"},
    .types = types({DType::f32, DType::i8, DType::u8}),
    .traits = kInternal | kImagewise,
});

}  // namespace retort::ops
