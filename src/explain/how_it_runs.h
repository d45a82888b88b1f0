// How the engine computes an operator on elements of one type.
#pragma once
#include <string_view>

#include "ops/op.h"

namespace retort {

enum class HowItRuns {
  nothing,    ///< the operator has no kernel for the type
  kernel,     ///< a kernel of its own
  reference,  ///< the plain loop, in the type itself
  converted,  ///< the plain loop in a wider type; elements are converted before and after it
};
HowItRuns how_it_runs(const OpDef& op, DType type);
/// "kernel", "reference" or "converted"; "" for nothing.
std::string_view how_text(HowItRuns how);

/// The type that chooses the kernel of a resolved node; undefined if none of its values is of constraint T.
DType computed_type(const Graph& graph, const Node& node);

}  // namespace retort
