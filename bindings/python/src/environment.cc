// The process: its environment, logging, threads, and what the library was built with.
#include <nanobind/nanobind.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <mutex>
#include <optional>

#include "engine.h"
#include "logging.h"
#include "options.h"
#include "pairs.h"
#include "provider_choice.h"
#include "rooms.h"
#include "text.h"

namespace nb = nanobind;

namespace retort::python {
namespace {

struct Choices {
  OrtLoggingLevel severity = ORT_LOGGING_LEVEL_WARNING;
  bool global_threads = false;
  int intra = 0;
  int inter = 0;
};
Choices choices;  // used with the GIL, or under `choosing` without one
nb::ft_mutex choosing;

OrtEnv* make_env() {
  const Choices chosen = [] {
    const nb::ft_lock_guard lock(choosing);
    return choices;
  }();
  OrtEnv* result = nullptr;
  if (chosen.global_threads) {
    const auto threads = made<OrtThreadingOptions>(api().CreateThreadingOptions);
    check(api().SetGlobalIntraOpNumThreads(threads.get(), chosen.intra));
    check(api().SetGlobalInterOpNumThreads(threads.get(), chosen.inter));
    check(api().CreateEnvWithCustomLoggerAndGlobalThreadPools(log_message, nullptr, chosen.severity, "Default",
                                                              threads.get(), &result));
  } else {
    check(api().CreateEnvWithCustomLogger(log_message, nullptr, chosen.severity, "Default", &result));
  }
  api().ReleaseStatus(api().SetLanguageProjection(result, ORT_PROJECTION_PYTHON));
  return result;
}

OrtLoggingLevel severity_of(int severity, const char* what) {
  if (severity < 0 || severity > 4) {
    throw std::runtime_error(std::string(what) + ": severity " + std::to_string(severity) +
                             " does not exist; give 0 (verbose), 1 (info), 2 (warning), 3 (error) or 4 (fatal)");
  }
  return static_cast<OrtLoggingLevel>(severity);
}

void choose_severity(OrtLoggingLevel severity) {
  {
    const nb::ft_lock_guard lock(choosing);
    choices.severity = severity;
  }
  if (env_exists()) {
    check(api().UpdateEnvWithCustomLogLevel(&env(), severity));
  }
}

void set_default_logger_callback(nb::object callback, int severity) {
  const OrtLoggingLevel level = severity_of(severity, "set_default_logger_callback()");
  const bool installs = !callback.is_none();
  set_log_callback(std::move(callback));
  if (installs) {
    choose_severity(level);
  }
}

void warn(const char* text) {
  if (PyErr_WarnEx(PyExc_UserWarning, text, 1) != 0) {
    nb::raise_python_error();
  }
}

void set_global_thread_pool_sizes(int intra, int inter) {
  if (env_exists()) {
    warn(
        "set_global_thread_pool_sizes() has no effect: threads are made with the first session or query of devices of "
        "the process; call it before");
    return;
  }
  const nb::ft_lock_guard lock(choosing);
  choices.global_threads = true;
  choices.intra = intra;
  choices.inter = inter;
}

nb::object compatibility_info(const char* found, OrtAllocator* allocator) {
  if (!found) {
    return nb::none();
  }
  return nb::str(take_text(allocator, const_cast<char*>(found)).c_str());
}

nb::object info_from_model(const std::string& path, const std::string& provider) {
  needs(24, "get_compatibility_info_from_model()");
  OrtAllocator* allocator = default_allocator();
  char* text = nullptr;
  check(api().GetCompatibilityInfoFromModel(c_text(path), c_text(provider), allocator, &text));
  return compatibility_info(text, allocator);
}

nb::object info_from_bytes(nb::handle data, const std::string& provider) {
  needs(24, "get_compatibility_info_from_model_bytes()");
  Py_buffer view{};
  if (PyObject_GetBuffer(data.ptr(), &view, PyBUF_C_CONTIGUOUS) != 0) {
    nb::raise_python_error();
  }
  OrtAllocator* allocator = default_allocator();
  char* text = nullptr;
  OrtStatus* status = api().GetCompatibilityInfoFromModelBytes(view.buf, static_cast<size_t>(view.len),
                                                               c_text(provider), allocator, &text);
  PyBuffer_Release(&view);
  check(status);
  return compatibility_info(text, allocator);
}

void set_seed(int64_t seed) {
  if (is_retort()) {
    return set_random_seed(seed);
  }
  warn(
      "set_seed() has no effect on this library, since the C interface has no function for it; give random operators "
      "the attribute 'seed'");
}

void bind_logging(nb::module_& m) {
  m.def(
      "set_default_logger_severity",
      [](int severity) { choose_severity(severity_of(severity, "set_default_logger_severity()")); },
      nb::arg("severity"), "Least severity that is logged: 0 verbose, 1 info, 2 warning, 3 error, 4 fatal.");
  m.def(
      "set_default_logger_verbosity", [](int) {}, nb::arg("verbosity"),
      "Detail of verbose messages in debug builds of the official package; the C interface has no function for it.");
  m.def(
      "set_default_logger_callback", &set_default_logger_callback, nb::arg("callback").none(), nb::arg("severity") = 2,
      "Calls callback(severity, category, logid, code_location, message) for messages of threads that Python knows; "
      "those of other threads, and those that the callback causes or fails on, go to stderr. None: all go to stderr.");
}

void bind_build(nb::module_& m) {
  m.def("get_all_providers", &all_providers, nb::rv_policy::copy, "Every provider that the interface has a name for.");
  m.def("get_available_providers", &available_providers, "The providers that the library has without plug-ins.");
  m.def(
      "get_build_info", [] { return std::string(api().GetBuildInfoString()); }, "How the library was built.");
  m.def(
      "get_device", [] { return "CPU"; }, "The kind of device of the providers that are built in.");
  m.def(
      "has_collective_ops", [] { return false; }, "Whether operators that several processes share exist.");
  m.def("get_compatibility_info_from_model", &info_from_model, nb::arg("model_path"), nb::arg("ep_type"),
        "The text that a provider stored in a compiled model; None if it stored none.");
  m.def("get_compatibility_info_from_model_bytes", &info_from_bytes, nb::arg("model_data"), nb::arg("ep_type"),
        "The same for a model in memory.");
}

}  // namespace

void bind_environment(nb::module_& m) {
  set_env_maker(make_env);
  bind_logging(m);
  bind_build(m);
  m.def("set_global_thread_pool_sizes", &set_global_thread_pool_sizes, nb::arg("intra_op_num_threads") = 0,
        nb::arg("inter_op_num_threads") = 0,
        "Threads that sessions with use_per_session_threads = False share. Call it before the first session.");
  m.def("set_seed", &set_seed, nb::arg("seed"),
        "The seed of random operators that have none of their own, in sessions that are made from now on: each of them "
        "draws the same numbers. The entry session.random_seed of a session comes first.");
  m.def(
      "enable_telemetry_events", [] { check(api().EnableTelemetryEvents(&env())); },
      "Lets the official library report its use where it can; Retort reports nothing.");
  m.def(
      "disable_telemetry_events", [] { check(api().DisableTelemetryEvents(&env())); }, "Stops such reports.");
}

}  // namespace retort::python
