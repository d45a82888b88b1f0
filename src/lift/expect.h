// What the extents of a lifted node's inputs must be, also where only a run tells them.
#pragma once
#include <initializer_list>
#include <string_view>
#include <vector>

#include "lift/rewriter.h"

namespace retort {

/// Extents of the axes of a value: numbers, kAnyExtent, or extent_of(i), that of axis i of another value.
using Extents = std::vector<int64_t>;
inline constexpr int64_t kAnyExtent = -1;
constexpr int64_t extent_of(int64_t axis) { return -2 - axis; }
inline constexpr int64_t kLastExtent = INT64_MIN;  ///< that of the last axis of the other value

/// Returns `x`, whose extents must be `extents`, or with an empty list the shape of `like`; `name` is that of x in
/// messages. Unless its shape is known to fit, it passes through a node that checks it when a run is laid out, which
/// costs nothing else. Throws invalid_argument if it is known not to fit. `like` may be none if no extent refers to it.
/// Extents to which a model gives the same name may differ if they are those of two inputs of the graph. `or_one`: x may
/// also be a scalar or a vector of one element, like a scale.
ValueId expect(Rewriter& r, ValueId x, std::string_view name, ValueId like, Extents extents = {}, bool or_one = false);
inline constexpr size_t kNoInput = 99;
/// The same for input i of the node, if it is given, and the result becomes the node's input. `like`: an input, or
/// kNoInput.
void expect_input(Rewriter& r, size_t i, std::string_view name, size_t like,
                  std::initializer_list<int64_t> extents = {}, bool or_one = false);
/// Input i, if it is given, must be a scalar or a vector of one element.
void expect_one(Rewriter& r, size_t i, std::string_view name);

}  // namespace retort
