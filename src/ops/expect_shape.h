// A check of the shapes of a run, as InferContext has one for inference (infer.h).
#pragma once
#include <string>
#include <string_view>

#include "ops/run_context.h"

namespace retort {

/// Throws invalid_argument if input i is given and has another shape than `wanted`; `name` is that of the input in the
/// message, "" for its number.
inline void expect_shape(const RunContext& c, size_t i, std::string_view name, const Shape& wanted) {
  if (!c.has(i) || c.shape(i) == wanted) return;
  fail(ErrorCode::invalid_argument, "{} has shape {}, expected {}",
       name.empty() ? cat("input {}", i) : std::string(name), to_string(c.shape(i)), to_string(wanted));
}

}  // namespace retort
