// Messages of the engine: to stderr, or to a function of the program.
#pragma once

#include <nanobind/nanobind.h>

#include "engine.h"

namespace retort::python {

// The logger of the environment, an OrtLoggingFunction.
void log_message(void*, OrtLoggingLevel severity, const char* category, const char* id, const char* where,
                 const char* message) noexcept;

// callback(severity, category, logid, code_location, message), or None for stderr. Needs the GIL.
void set_log_callback(nanobind::object callback);

}  // namespace retort::python
