// Grouped convolution of groups of few channels: its packed weights, and its division into tasks.
#pragma once
#include "kernels/conv/conv.h"

namespace retort::kernels::conv_detail {

/// A unit is those groups whose outputs share a vector, or one group. A task is a unit, and a block of outputs of an
/// image. Its inputs are copied with their padding, for a unit of several groups one vector for a pixel.
struct GroupsPlan {
  size_t group_in = 0, group_out = 0;  // channels of one group
  size_t together = 1, units = 0;      // groups of a unit; number of units
  size_t lanes = 1;                    // of a vector of outputs
  size_t vectors = 1;                  // of the outputs of a unit
  size_t filter = 0;                   // floats of the weights of a vector of outputs
  size_t pixel = 0;                    // floats of a copied pixel
  size_t rows = 0, columns = 0, row_blocks = 0, column_blocks = 0;
  size_t lines = 0, line_pixels = 0;  // that a task copies
  size_t worker_bytes = 0;
  bool spread() const { return together > 1; }
};
/// Pixels of a row that are computed together; two such runs, wherever they are, are a tile.
inline constexpr size_t kRunPixels = 7;

/// Whether ConvAlgorithm::groups can convolve the shape, and not slower than `grouped`. Does not depend on the spatial
/// sizes.
bool suits_groups(const ConvShape& shape);
/// Without the division into tasks if the image has no size.
GroupsPlan plan_groups(const ConvShape& shape);
size_t groups_packed_bytes(const ConvShape& shape);
/// Where the taps of grouped filters are: floats from one group, output of a group, input of a group, row or tap to the
/// next; modulo 2^64, like DepthwiseWeights.
struct GroupsWeights {
  const float* data;
  size_t group, output, input, first, row, tap;
};
void groups_pack(const ConvShape& shape, const GroupsWeights& weights, float* packed, const Parallel& run) noexcept;
void conv_groups(const ConvArgs& args, void* scratch, const Parallel& par) noexcept;

}  // namespace retort::kernels::conv_detail
