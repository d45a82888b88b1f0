// Where attention finds Q, K or V: the base of a view and the layout of the heads in it.
#pragma once
#include <optional>

#include "passes/attention/view.h"

namespace retort {

/// Heads of `size` elements in `base`, either split ([B, H, S, D]) or in rows ([B, S, …]) starting at `offset`.
struct HeadOperand {
  ValueId base = ValueId::none;
  bool split = false;
  Dim batch = 1, rows = 1;
  int64_t heads = 1, size = 1;
  int64_t repeat = 1;  ///< how many heads of Q share one of these heads
  int64_t offset = 0;
  double factor = 1;
};

/// The farthest base of `value`, [..., S, D] or transposed [..., D, S], from which attention can read directly.
std::optional<HeadOperand> head_operand(const Graph& graph, ValueId value, bool transposed);

}  // namespace retort
