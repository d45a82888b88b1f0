// How much arithmetic a node is.
#pragma once
#include <functional>
#include <optional>

#include "ir/graph.h"

namespace retort {

/// The number that an extent stands for; nullopt: only the data tells.
using Extent = std::function<std::optional<int64_t>(Dim)>;

/// Floating-point (or integer) operations of a node of the core dialect: a multiplication with an addition counts 2, one
/// element of any function 1; moves count 0, and so do searches, trees and text. Direct formulas: a kernel that needs fewer (Winograd) still does
/// this much work. nullopt where a shape that it takes is not known. Bodies count nothing: only the data tells how often
/// they run.
std::optional<double> count_operations(const Graph& graph, const Node& node, const Extent& extent);

/// Elements of a value; nullopt where its shape is not known or it is no tensor.
std::optional<double> count_elements(const Graph& graph, ValueId value, const Extent& extent);

}  // namespace retort
