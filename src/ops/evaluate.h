// One node on values in host memory, outside of any plan: constant folding, tests. Allocates; slower than a run.
#pragma once
#include <span>
#include <vector>

#include "ops/op.h"

namespace retort {

enum class EvaluateMode : uint8_t {
  production,  ///< what a session runs, packed weights included
  reference,   ///< the op's reference() where it has one: the oracle of tests
};

/// What evaluate() would produce: the concrete types of the outputs, where inference can tell them before the node ran.
/// A null input is an omitted one.
std::vector<ValueType> output_types(const Node& node, std::span<const Value* const> inputs);

/// The outputs of a resolved node; empty values for omitted outputs. All inputs count as constants for prepare().
/// Throws what the op throws, and not_implemented when it has no kernel for the element type.
std::vector<Value> evaluate(const Node& node, std::span<const Value* const> inputs, const Parallel& parallel = {},
                            EvaluateMode mode = EvaluateMode::production);

}  // namespace retort
