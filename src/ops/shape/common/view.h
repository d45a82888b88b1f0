// Operators whose output is their input under another shape.
#pragma once
#include "ops/op.h"

namespace retort::ops {

/// Sets type and content of output 0 to those of input 0, with the shape `shape`.
void infer_view(InferContext& c, const Shape& shape);
/// Copies input 0 to output 0, for callers that did not let them share memory; supports boxed values and strings.
void run_view(RunContext& c);

}  // namespace retort::ops
