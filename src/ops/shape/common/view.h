// Operators whose output is their input under another shape.
#pragma once
#include "ops/op.h"

namespace retort::ops {

/// Type and content of output 0 as those of input 0, under `shape`.
void infer_view(InferContext& c, const Shape& shape);
/// Output 0 = input 0, for callers that did not let both share memory; boxed values and strings too.
void run_view(RunContext& c);

}  // namespace retort::ops
