// The division of a convolution by ConvAlgorithm::inside: the output in rectangles whose pixels have the same taps
// inside the image.
#pragma once
#include <array>

#include "kernels/conv/conv_plan.h"
#include "kernels/conv/taps.h"

namespace retort::kernels::conv_detail {

/// Neighbouring outputs of an axis that have the same taps inside.
struct Span {
  size_t first = 0, count = 0;  // outputs
  TapRange taps{0, 0};
};
/// The spans of an axis; count 0: these are too many.
struct Spans {
  static constexpr size_t kMost = 13;
  std::array<Span, kMost> spans{};
  size_t count = 0;
};

/// A rectangle of the output: spans of both axes, the pixels of all images, and the blocks that these are divided into.
struct Rectangle {
  Span y, x;
  size_t pixels = 0, blocks = 0, block_pixels = 0;
  size_t taps() const { return y.taps.count() * x.taps.count(); }
  size_t work() const { return block_pixels * taps(); }  // of a block
};

struct InsidePlan {
  static constexpr size_t kMost = Spans::kMost * Spans::kMost;
  std::array<Rectangle, kMost> rectangles{};  // those whose blocks take longest come first
  size_t count = 0, blocks = 0;
  size_t products = 0;       // of pixels and taps
  size_t taps_together = 1;  // of a row of the kernel, whose inputs are gathered together
  size_t row_stride = 0;     // of gathered rows
  size_t most_pixels = 0;    // of a block
  size_t columns = 0, column_groups = 0;
  size_t worker_bytes = 0;
};
InsidePlan plan_inside(const ConvShape& shape);

/// How long the convolution takes with only those taps, compared to all of them (ConvAlgorithm::rows); 1 if extents are
/// unknown, or if ConvAlgorithm::inside cannot be used.
double inside_share(const ConvShape& shape);

void conv_inside(const ConvArgs& args, void* scratch, const Parallel& par) noexcept;

}  // namespace retort::kernels::conv_detail
