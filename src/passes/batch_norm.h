// What a BatchNormalization with constant parameters computes.
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

}  // namespace retort
