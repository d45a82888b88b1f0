// Model-local functions: calls are replaced by the function's body.
#pragma once
#include <functional>

#include "ir/graph.h"

namespace retort {

struct InlineOptions {
  /// Nodes for which this is true stay calls: what an operator implements or a provider takes as a whole. ONNX Runtime
  /// prefers its operators to functions of the same name. Empty: every call is expanded.
  std::function<bool(const Node&)> keep;
  /// Bounds on what the result holds, because functions can double it at each level; about, and not counted as exactly
  /// as memory is.
  size_t nodes = size_t(1) << 18;
  size_t bytes = size_t(1) << 30;
  uint32_t depth = 100;  ///< bodies within bodies
};

/// Expands calls in the model's graph and all its bodies, calls within functions too. Attribute references take the
/// value of the call, else the function's default, else they vanish. The values that a call makes keep their ids and
/// names. Functions are dropped from the model unless `keep` kept a call. Throws invalid_graph on functions that call
/// themselves, on calls with too many inputs or outputs, and at the bounds.
void inline_functions(Model& model, const InlineOptions& options = {});

}  // namespace retort
