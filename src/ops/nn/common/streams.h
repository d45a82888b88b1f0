// Streams of hyper-connections: [..., C, H], or [..., C * H] with the number of branches C given.
#pragma once
#include "ops/nn/common/rounded.h"

namespace retort::ops {

struct Streams {
  size_t rows = 0, branches = 0, width = 0;
};

/// Number of axes before those of the streams; throws invalid_argument if the streams have too few axes. `branches` 0:
/// grouped.
inline size_t leading_axes(const Shape& s, int64_t branches) {
  const size_t own = branches ? 1 : 2;
  require(branches >= 0, ErrorCode::invalid_argument, "num_branches is {}, expected a positive number", branches);
  require(s.rank() >= own, ErrorCode::invalid_argument, "streams have {} axes, expected at least {}", s.rank(), own);
  return s.rank() - own;
}
/// [C, H] of streams whose extents may be symbols.
inline std::pair<Dim, Dim> stream_extents(const InferContext& c, size_t i, int64_t branches) {
  const Shape& s = c.shape(i);
  leading_axes(s, branches);
  if (!branches) return {s[s.rank() - 2], s.back()};
  require(!is_known(s.back()) || (s.back() > 0 && s.back() % branches == 0), ErrorCode::invalid_argument,
          "streams of {} elements in {} branches", c.dims().text(s.back()), branches);
  return {branches, c.dims().div(s.back(), branches)};
}
inline Streams streams_of(const Shape& s, int64_t branches) {
  const size_t lead = leading_axes(s, branches);
  Streams all{.rows = size_t(extent_product(s, 0, lead))};
  all.branches = size_t(branches ? branches : s[lead]);
  all.width = size_t(branches ? s[lead] / branches : s[lead + 1]);
  return all;
}
inline Shape leading(const Shape& s, size_t count, std::initializer_list<Dim> more) {
  Shape shape;
  for (size_t i = 0; i < count; ++i) shape.push_back(s[i]);
  for (const Dim d : more) shape.push_back(d);
  return shape;
}
/// Throws unless gates are [..., C], [..., C, 1] or [..., C, H]; also [..., C * H] with `flat`.
inline void expect_gates(const InferContext& c, size_t i, int64_t branches, bool flat) {
  const Shape &s = c.shape(0), &gates = c.shape(i);
  const size_t lead = leading_axes(s, branches);
  const auto [count, width] = stream_extents(c, 0, branches);
  const Dim last = gates.empty() ? Dim(0) : gates.back();
  if (gates.rank() == lead + 2) {
    expect_shape(c, i, "gates", leading(s, lead, {count, last == 1 ? Dim(1) : width}));
  } else {
    const bool whole = flat && branches && gates.rank() == lead + 1 && !may_equal(last, count);
    expect_shape(c, i, "gates", leading(s, lead, {whole ? s.back() : count}));
  }
}
/// Strides of a gate: from one branch to the next, and from one element of a branch to the next.
struct GateSteps {
  size_t branch = 1, element = 0;
};
inline GateSteps gate_steps(size_t gates, const Streams& s) {
  const bool each = gates == s.rows * s.branches * s.width && s.width > 1;
  return each ? GateSteps{s.width, 1} : GateSteps{};
}

}  // namespace retort::ops
