// Affine operations per channel with constants: BatchNormalization, and Mul or Add with [C, 1, 1].
#pragma once
#include <optional>
#include <vector>

#include "ir/graph.h"

namespace retort {

/// y = scale · x + shift for each channel.
struct ChannelAffine {
  std::vector<float> scale, shift;
};

/// None if `n` trains or its parameters are not constant floats.
std::optional<ChannelAffine> channel_affine(const Graph& graph, const Node& n);

/// A constant that is broadcast to [N, channels, …] of `rank` axes, as one number per channel: a scalar, or [C, 1, 1]
/// with any number of leading ones. Empty if it is no such constant.
std::vector<float> per_channel(const Graph& graph, ValueId value, size_t channels, size_t rank);

}  // namespace retort
