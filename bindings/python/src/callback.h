// Python functions that the engine calls, on any thread.
#pragma once

#include <nanobind/nanobind.h>

#include <memory>
#include <string>

#include "engine.h"
#include "gil_lock.h"

namespace retort::python {

// A Python function behind a `void* state` of the C interface. Destroy it with the GIL.
struct Callback {
  explicit Callback(nanobind::object f) : function(std::move(f)) {}

  nanobind::object function;
  size_t limit = 0;  // what the caller set beside the function
};
using SharedCallback = std::shared_ptr<Callback>;

// A status for the exception that is being handled. `what` names the function: "the provider selection delegate". After
// an exception that is no Exception (KeyboardInterrupt, SystemExit), the call of the engine raises KeyboardInterrupt.
OrtStatus* status_of_exception(const char* what) noexcept;

// Calls `body` with the GIL. What it throws becomes a status, since exceptions must not reach the engine.
template <class Body>
OrtStatus* with_python(const char* what, Body&& body) noexcept {
  try {
    const WithGil gil;
    try {
      body();
      return nullptr;
    } catch (...) {
      return status_of_exception(what);
    }
  } catch (...) {
    return api().CreateStatus(ORT_FAIL, what);
  }
}

}  // namespace retort::python
