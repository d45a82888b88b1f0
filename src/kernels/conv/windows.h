// The division of a convolution by ConvAlgorithm::windows.
#pragma once
#include "kernels/conv/conv.h"
#include "kernels/division.h"

namespace retort::kernels::conv_detail {

/// A task is a block of output rows of a group in an image, and a group of output channels. A worker remembers whose
/// lines it has copied last.
struct WindowsPlan {
  size_t group_in = 0, group_out = 0;  // channels of one group
  size_t run = 0;                      // floats under a row of the kernel
  bool in_place = false;               // without padding, lines need not be copied
  size_t pixel = 0, line_pixels = 0, line_floats = 0;
  size_t rows = 0, row_blocks = 0;
  size_t columns = 0, column_groups = 0;
  size_t worker_bytes = 0;
};

/// Whether ConvAlgorithm::windows can convolve the shape, and not slower than gathered rows. False if extents are
/// unknown.
bool suits_windows(const ConvShape& shape);
WindowsPlan plan_windows(const ConvShape& shape);
void conv_windows(const ConvArgs& args, void* scratch, const Parallel& par) noexcept;

}  // namespace retort::kernels::conv_detail
