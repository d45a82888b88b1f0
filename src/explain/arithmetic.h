// Counts the arithmetic of a node.
#pragma once
#include <functional>
#include <optional>

#include "ir/graph.h"

namespace retort {

/// The number that stands for an extent; nullopt if it depends on data.
using Extent = std::function<std::optional<int64_t>(Dim)>;

/// Floating-point (or integer) operations of a node of the core dialect, by its operator's cost() (ops/cost.h); a
/// multiply-add counts as 2. nullopt if a shape is unknown or depends on data. Bodies count as nothing, since the
/// number of their iterations depends on data.
std::optional<double> count_operations(const Graph& graph, const Node& node, const Extent& extent);

/// The number of elements of a value; nullopt if its shape is unknown or it is not a tensor.
std::optional<double> count_elements(const Graph& graph, ValueId value, const Extent& extent);

}  // namespace retort
