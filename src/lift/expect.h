// What the extents of a lifted node's inputs must be, also where only a run tells them.
#pragma once
#include <string_view>
#include <vector>

#include "lift/rewriter.h"

namespace retort {

/// Extents of the axes of a value: numbers, kAnyExtent, or extent_of(i), that of axis i of another value.
using Extents = std::vector<int64_t>;
inline constexpr int64_t kAnyExtent = -1;
constexpr int64_t extent_of(int64_t axis) { return -2 - axis; }

/// Returns `x`, whose extents must be `extents`, or with an empty list the shape of `like`; `name` is that of x in
/// messages. Unless its shape is known to fit, it passes through a node that checks it when a run is laid out, which
/// costs nothing else. Throws invalid_argument if it is known not to fit. `like` may be none if no extent refers to it.
/// `trust_names`: extents to which a model gives the same name are equal, so that fusions which also rely on it find the
/// nodes that they look for; otherwise they may differ if they are those of two inputs of the graph.
ValueId expect(Rewriter& r, ValueId x, std::string_view name, ValueId like, Extents extents = {},
               bool trust_names = false);

}  // namespace retort
