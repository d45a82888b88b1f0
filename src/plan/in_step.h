// Adds the name of a step to its errors.
#pragma once
#include <new>

#include "base/error.h"
#include "plan/plan.h"

namespace retort {

/// Runs `f`; adds the name of the step to an Error, and turns std::bad_alloc into an Error that names the step.
template <typename F>
decltype(auto) in_step(const Step& step, F&& f) {
  try {
    return f();
  } catch (Error& e) {
    e.add_context(step.name);
    throw;
  } catch (const std::bad_alloc&) {
    fail(ErrorCode::fail, "{}: out of memory; free some, or give smaller inputs", step.name);
  }
}

}  // namespace retort
