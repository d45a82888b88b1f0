// What Loop and Scan share: values that go into a body, and outputs of its runs put together.
#pragma once
#include <vector>

#include "ops/op.h"

namespace retort::ops {

/// Input i in memory of its own; sequences and optionals share theirs.
Value copy_of(const RunContext& c, size_t i);

/// Element `at` of input i along `axis`, which goes away. It shares the input's memory where it lies in one piece.
Tensor slice_of(const RunContext& c, size_t i, size_t axis, int64_t at);

/// A scan output of the next iteration; it must be a tensor as in the first one.
void add_part(std::vector<Value>& parts, Value part);

/// One output of all runs along a new axis, counted from the back where negative; `reverse` puts the last run first.
/// Without runs the other extents are those of `element`, 0 where it leaves them open. Throws invalid_argument when
/// the runs differ in shape or `axis` is outside.
Tensor stack(const std::vector<Value>& parts, const ValueType& element, int64_t axis = 0, bool reverse = false);

/// The types of a value that goes from the node into its body and around: throws invalid_argument when they differ.
void require_same_type(const ValueType& outside, const ValueType& inside, std::string_view what, size_t i);

}  // namespace retort::ops
