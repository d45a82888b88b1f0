// Model-local functions: replaces calls by the function's body.
#pragma once
#include <functional>

#include "ir/graph.h"

namespace retort {

struct InlineOptions {
  /// Nodes for which this returns true stay calls: those that an operator implements or that a provider takes as a
  /// whole. ONNX Runtime prefers its operators to functions of the same name. Empty: every call is expanded.
  std::function<bool(const Node&)> keep;
  /// Limits for the result, because functions can double it at each level. Bytes are estimated.
  size_t nodes = size_t(1) << 18;
  size_t bytes = size_t(1) << 30;
  uint32_t depth = 100;  ///< bodies within bodies
};

/// Expands calls in the model's graph, in all its bodies and in functions. Attribute references get the value of the
/// call, otherwise the function's default; otherwise they are removed. The outputs of a call keep their ids and names.
/// Functions are removed from the model unless `keep` has kept a call. Throws invalid_graph on functions that call
/// themselves, on calls with too many inputs or outputs, and if a limit is exceeded.
void inline_functions(Model& model, const InlineOptions& options = {});

}  // namespace retort
