// Convolutions with three spatial axes [N, D, H, W, C] as ones with two.
#pragma once
#include "base/checked.h"
#include "kernels/conv/conv.h"
#include "ops/nn/common/window.h"

namespace retort::ops {

enum class VolumeWay : uint8_t {
  lines,   ///< the kernel has one tap in a plane: a volume is a line, or a column, in which planes are a dilation apart
  images,  ///< the kernel has one tap along the depth: the planes are images of a batch
  /// The planes that a plane of the result needs are joined along their channels, block by block. One product of long
  /// rows then has the sums of all taps along the depth, and Winograd's method transforms each result once.
  joined,
  sums,  ///< of groups: each plane of the result is the sum of as many convolutions as the kernel has taps along the depth
};

/// Depends only on the attributes and the extents of the kernel.
inline VolumeWay volume_way(const WindowAttributes& a, const Shape& w, int64_t group) {
  const auto is = [](const std::vector<int64_t>& list, size_t i, int64_t v) {
    return i >= list.size() || list[i] == v;
  };
  const auto plain = [&](size_t axis) {
    return w[axis + 2] == 1 && is(a.strides, axis, 1) && is(a.pads, axis, 0) && is(a.pads, axis + 3, 0);
  };
  if (plain(1) && plain(2)) return VolumeWay::lines;
  if (plain(0)) return VolumeWay::images;
  return group == 1 ? VolumeWay::joined : VolumeWay::sums;
}

/// Sets the extents and the window of `s`, which has the channels and the batch of the volume.
inline void set_volume(kernels::ConvShape& s, const Window& window, VolumeWay way) {
  const WindowAxis &d = window.axes[0], &h = window.axes[1], &w = window.axes[2];
  if (way == VolumeWay::lines) {
    const auto plane = size_t(h.in * w.in);
    const bool line = d.stride == 1;  // for which there are faster algorithms
    size_t* const across[] = {&s.in_w, &s.out_w, &s.kernel_w, &s.stride_w, &s.dilation_w, &s.pad_left};
    size_t* const down[] = {&s.in_h, &s.out_h, &s.kernel_h, &s.stride_h, &s.dilation_h, &s.pad_top};
    const int64_t values[] = {d.in, d.out, d.kernel, d.stride, d.dilation, d.pad_begin};
    for (size_t i = 0; i < std::size(values); ++i) *(line ? across : down)[i] = size_t(values[i]);
    if (!line) {
      s.in_w = s.out_w = plane;
      return;
    }
    s.in_w *= plane, s.out_w *= plane, s.pad_left *= plane;
    s.dilation_w *= std::max<size_t>(plane, 1);  // the extents may not be known yet
    return;
  }
  const size_t taps = way == VolumeWay::joined ? size_t(d.kernel) : 1;
  s.batch *= size_t(d.out);
  s.in_c *= taps, s.in_pixel_stride *= taps;
  s.in_h = size_t(h.in), s.out_h = size_t(h.out), s.kernel_h = size_t(h.kernel), s.stride_h = size_t(h.stride);
  s.in_w = size_t(w.in), s.out_w = size_t(w.out), s.kernel_w = size_t(w.kernel), s.stride_w = size_t(w.stride);
  s.dilation_h = size_t(h.dilation), s.dilation_w = size_t(w.dilation);
  s.pad_top = size_t(h.pad_begin), s.pad_left = size_t(w.pad_begin);
}

/// Weights [M, C, D, H, W] as [M, D · C, H, W].
inline std::vector<float> joined_weights(const float* w, const Shape& shape) {
  const auto filters = size_t(shape[0]), channels = size_t(shape[1]), depth = size_t(shape[2]);
  const auto plane = size_t(shape[3] * shape[4]);
  std::vector<float> joined(filters * channels * depth * plane);
  float* to = joined.data();
  for (size_t m = 0; m < filters; ++m, w += channels * depth * plane) {
    for (size_t t = 0; t < depth; ++t) {
      for (size_t c = 0; c < channels; ++c) to = std::copy_n(w + (c * depth + t) * plane, plane, to);
    }
  }
  return joined;
}

/// The weights [M, C, H, W] of one tap along the depth.
inline std::vector<float> tap_weights(const float* w, const Shape& shape, size_t tap) {
  const auto rows = size_t(shape[0] * shape[1]), depth = size_t(shape[2]), plane = size_t(shape[3] * shape[4]);
  std::vector<float> weights(rows * plane);
  for (size_t i = 0; i < rows; ++i) std::copy_n(w + (i * depth + tap) * plane, plane, weights.data() + i * plane);
  return weights;
}

/// The planes that planes [first, first + count) of the results of a batch need, joined along their channels.
struct JoinedPlanes {
  WindowAxis depth;
  size_t plane, channels, pixel_stride;  ///< pixels, channels and floats from pixel to pixel of the volume
  const float* volume;

  size_t plane_floats() const { return plane * channels * size_t(depth.kernel); }
  void join(size_t first, size_t count, float* to, const Parallel& parallel) const {
    constexpr size_t kPixels = 64;
    const size_t parts = ceil_div(plane, kPixels), taps = size_t(depth.kernel);
    parallel.for_each(count * parts, [&](size_t task, int) {
      const size_t at = first + task / parts, begin = task % parts * kPixels, end = std::min(begin + kPixels, plane);
      const auto image = int64_t(at / size_t(depth.out)), z = int64_t(at % size_t(depth.out));
      for (size_t t = 0; t < taps; ++t) {
        const int64_t from = depth.at(z, int64_t(t));
        float* pixel = to + (task / parts * plane + begin) * taps * channels + t * channels;
        const float* source =
            depth.inside(from) ? volume + size_t(image * depth.in + from) * plane * pixel_stride : nullptr;
        for (size_t p = begin; p < end; ++p, pixel += taps * channels) {
          if (source)
            std::copy_n(source + p * pixel_stride, channels, pixel);
          else
            std::fill_n(pixel, channels, 0.0f);
        }
      }
    });
  }
};

}  // namespace retort::ops
