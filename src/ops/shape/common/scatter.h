// What ScatterElements and ScatterND do with an update: put it in place of the element or combine both.
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
  /// For each (position n in the updates, offset in the output) that `walk` calls its argument with: output = reduction
  /// of output and update, `slice` consecutive elements.
  void combine(RunContext& c, size_t slice, FunctionRef<void(FunctionRef<void(size_t, int64_t)>)> walk) const;
};

}  // namespace retort::ops
