// Runs one node on values in host memory, outside of any plan, for constant folding and tests. Allocates; slower than a
// run.
#pragma once
#include <span>
#include <vector>

#include "ops/op.h"

namespace retort {

enum class EvaluateMode : uint8_t {
  production,  ///< what a session runs, including packed weights
  reference,   ///< the op's reference() if it has one: the oracle of tests
};

/// The concrete types of the outputs that evaluate() would return, as far as inference can determine them. A null input
/// is an omitted one.
std::vector<ValueType> output_types(const Node& node, std::span<const Value* const> inputs);

/// Returns the outputs of a resolved node; omitted outputs are empty values. prepare() sees all inputs as constants.
/// Throws what the op throws, and not_implemented if it has no kernel for the element type.
std::vector<Value> evaluate(const Node& node, std::span<const Value* const> inputs, const Parallel& parallel = {},
                            EvaluateMode mode = EvaluateMode::production);

}  // namespace retort
