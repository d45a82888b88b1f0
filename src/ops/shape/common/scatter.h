// Combines elements with updates for ScatterElements and ScatterND: replaces the element, or applies a reduction.
#pragma once
#include <algorithm>
#include <string>

#include "base/function_ref.h"
#include "ops/op.h"

namespace retort::ops {

struct ScatterBase {
  std::string reduction = "none";

  void check() const;
  bool replaces() const { return reduction == "none"; }
  Cost cost(const CostContext& c) const { return {.operations = replaces() ? 0 : c.count(2)}; }
  /// Receives updates [first, first + n) and the offsets of their positions in the output.
  using Updates = FunctionRef<void(size_t first, const int64_t* offsets, size_t n)>;
  /// For all updates that `walk` passes to its argument, in order: output = reduction of output and update, for `slice`
  /// consecutive elements each.
  void combine(RunContext& c, size_t slice, FunctionRef<void(Updates)> walk) const;
};

}  // namespace retort::ops
