// Standardisation written as a sequence of operators: (x - mean(x)) / √(mean((x - mean(x))²) + ε).
#pragma once
#include <optional>
#include <vector>

#include "ir/graph.h"

namespace retort {

/// A mean that keeps the reduced axes: ReduceMean or GlobalAveragePool.
struct MeanOverAxes {
  ValueId of = ValueId::none;
  std::vector<int64_t> axes;  ///< ascending, not negative
  /// Whether the axes are those from `first` to the last of `of`, which must have a known rank.
  bool from(const Graph& graph, size_t first) const;
  /// Whether the only axis is the last one.
  bool last_only(const Graph& graph) const;
};
std::optional<MeanOverAxes> mean_over_axes(const Graph& graph, ValueId value);

/// The mean in x - mean(x), where `of` is x.
std::optional<MeanOverAxes> mean_subtracted(const Graph& graph, ValueId value);

/// √(mean(x²) + ε).
struct Deviation {
  MeanOverAxes mean;  ///< `of` is x
  double epsilon = 0;
};
std::optional<Deviation> deviation(const Graph& graph, ValueId value);

/// The whole of it, for a Div.
struct Standardized {
  MeanOverAxes mean;  ///< `of` is x
  double epsilon = 0;
  NodeId difference;  ///< x - mean(x)
};
std::optional<Standardized> standardized(const Graph& graph, const Node& div);

}  // namespace retort
