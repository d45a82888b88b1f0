// A value as a view of another one, through Reshape, Transpose, Slice, Split, Gather of one index, Expand and
// multiplication by a scalar. Extents and strides may be symbolic.
#pragma once
#include <optional>
#include <vector>

#include "passes/match.h"

namespace retort {

/// `extent` steps of `stride` elements. An axis of a view is a list of parts, the slowest first; parts of extent 1 are
/// omitted.
struct ViewPart {
  Dim extent, stride;
  bool operator==(const ViewPart&) const = default;
};
using ViewAxis = std::vector<ViewPart>;

struct View {
  ValueId base = ValueId::none;
  Dim offset = 0;     ///< of the first element in the base
  double factor = 1;  ///< the factor by which the base's elements are multiplied
  std::vector<ViewAxis> axes;
  std::vector<std::pair<Dim, Dim>> same;  ///< extents that have another symbol on the path, each with the one used here
};

/// All ways to express `value` as a view, from the value itself to the farthest base.
std::vector<View> views_of(const Graph& graph, ValueId value);

}  // namespace retort
