// retort.MaxPool: largest element of a window over channels-last images, one or two spatial axes.
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
  template <std::integral T>
  void reference(RunContext& c) const {
    of_codes<T>(c);
  }
  void fast(RunContext& c, std::type_identity<uint8_t>) const { of_codes<uint8_t>(c); }
  void fast(RunContext& c, std::type_identity<int8_t>) const { of_codes<int8_t>(c); }

 private:
  /// One pixel of the result: a loop over channels for each tap, which the compiler vectorises.
  template <typename T>
  static void largest(const kernels::PoolShape& s, const T* image, size_t y, size_t x, T* to) {
    const kernels::PoolAxis &v = s.height, &h = s.width;
    std::fill_n(to, s.channels, std::numeric_limits<T>::lowest());
    for (size_t i = 0; i < v.kernel; ++i) {
      const size_t row = y * v.stride + i * v.dilation - v.pad_begin;  // wraps around outside the image
      for (size_t j = 0; j < h.kernel && row < v.in; ++j) {
        const size_t column = x * h.stride + j * h.dilation - h.pad_begin;
        if (column >= h.in) continue;
        const T* from = image + (row * h.in + column) * s.in_pixel_stride;
        for (size_t k = 0; k < s.channels; ++k) to[k] = std::max(to[k], from[k]);
      }
    }
  }
  template <typename T>
  void of_codes(RunContext& c) const {
    const kernels::PoolShape s = arguments(c).shape;
    const auto* x = static_cast<const T*>(c.data(0));
    auto* y = static_cast<T*>(c.out_data());
    c.parallel().for_each(s.batch * s.height.out, [&](size_t line, int) {
      const T* image = x + line / s.height.out * s.height.in * s.width.in * s.in_pixel_stride;
      for (size_t j = 0; j < s.width.out; ++j)
        largest(s, image, line % s.height.out, j, y + (line * s.width.out + j) * s.out_pixel_stride);
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
