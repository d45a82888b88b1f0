// Python's exception classes, and the translation of Error into them.
#pragma once

#include <nanobind/nanobind.h>

#include <string>
#include <string_view>

#include "engine.h"

namespace retort::python {

// The class of a code: Fail, InvalidArgument, NoSuchFile... Borrowed; valid after bind_errors().
PyObject* exception_class(OrtErrorCode code);

// An instance of `type` with the attributes `code`, `node` and `op`; not raised. Its text is
// "[ONNXRuntimeError] : 2 : INVALID_ARGUMENT : message", as programs expect.
nanobind::object exception_of(const Error& error, nanobind::handle type);

// Releases `status` and gives an exception of its class; None for null. For callbacks that report instead of throwing.
nanobind::object exception_of_status(OrtStatus* status);

// "INVALID_ARGUMENT" and so on; "FAIL" for a number without name.
const char* code_name(OrtErrorCode code);

// The node and the operator that a message of the engine names, empty if it names none.
struct Culprit {
  std::string node;
  std::string op;
};
Culprit culprit_of(std::string_view message);

}  // namespace retort::python
