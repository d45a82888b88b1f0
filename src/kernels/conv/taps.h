// Finds the taps of a kernel that overlap the image; shared by convolution and pooling.
#pragma once
#include <algorithm>
#include <cstddef>

namespace retort::kernels {

/// Taps [first, last) of a kernel row or column that overlap an image of `size`, where the first tap is at `start` (may
/// be negative).
struct TapRange {
  size_t first, last;
  size_t count() const { return last - first; }
};

inline TapRange taps_inside(ptrdiff_t start, size_t size, size_t kernel, size_t dilation) {
  // A division takes as long as the rest of a small window, and dilations are rare.
  const auto steps = [dilation](ptrdiff_t n) {
    return n <= 0 ? 0 : dilation == 1 ? size_t(n) : (size_t(n) - 1) / dilation + 1;
  };
  const size_t end = std::min(steps(ptrdiff_t(size) - start), kernel);
  return {std::min(steps(-start), end), end};
}

}  // namespace retort::kernels
