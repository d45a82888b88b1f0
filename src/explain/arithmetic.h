// How much arithmetic a node is.
#pragma once
#include <functional>
#include <optional>

#include "ir/graph.h"

namespace retort {

/// The number that an extent stands for; nullopt: only the data tells.
using Extent = std::function<std::optional<int64_t>(Dim)>;

/// Floating-point (or integer) operations of a node of the core dialect, by its operator's cost() (ops/cost.h): a
/// multiplication with an addition counts 2. nullopt where a shape that it takes is not known, or the data tells. Bodies
/// count nothing: only the data tells how often they run.
std::optional<double> count_operations(const Graph& graph, const Node& node, const Extent& extent);

/// Elements of a value; nullopt where its shape is not known or it is no tensor.
std::optional<double> count_elements(const Graph& graph, ValueId value, const Extent& extent);

}  // namespace retort
