// Shared by Loop and Scan: passing values to a body, and stacking the outputs of its runs.
#pragma once
#include <vector>

#include "ops/op.h"

namespace retort::ops {

/// A copy of input i that owns its memory; sequences and optionals are shared.
Value copy_of(const RunContext& c, size_t i);

/// Element `at` of input i along `axis`, which is removed. It shares the input's memory if it is contiguous there.
Tensor slice_of(const RunContext& c, size_t i, size_t axis, int64_t at);

/// Appends a scan output of the next iteration; it must be a tensor with the type and shape of the first one.
void add_part(std::vector<Value>& parts, Value part);

/// Stacks one output of all runs along a new axis, counted from the end if negative; `reverse` puts the last run first.
/// Without runs, the other extents are those of `element`, or 0 if it does not fix them. Throws invalid_argument if the
/// runs differ in shape or `axis` is out of range.
Tensor stack(std::span<const Value> parts, const ValueType& element, int64_t axis = 0, bool reverse = false);

/// Checks the type of a value that the node passes to its body and carries between runs; throws invalid_argument if the
/// types differ.
void require_same_type(const ValueType& outside, const ValueType& inside, std::string_view what, size_t i);

}  // namespace retort::ops
