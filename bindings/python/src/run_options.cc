#include "run_options.h"

#include <nanobind/stl/map.h>
#include <nanobind/stl/string.h>

#include "devices.h"
#include "lora.h"
#include "rooms.h"
#include "text.h"

namespace nb = nanobind;

namespace retort::python {

void RunOptions::set_terminated(bool terminated) {
  check(terminated ? api().RunOptionsSetTerminate(get()) : api().RunOptionsUnsetTerminate(get()));
  terminated_ = terminated;
}

int RunOptions::log_severity() const {
  int level = 0;
  check(api().RunOptionsGetRunLogSeverityLevel(get(), &level));
  return level;
}

int RunOptions::log_verbosity() const {
  int level = 0;
  check(api().RunOptionsGetRunLogVerbosityLevel(get(), &level));
  return level;
}

std::string RunOptions::tag() const {
  const char* tag = nullptr;
  check(api().RunOptionsGetRunTag(get(), &tag));
  return tag ? tag : "";
}

void RunOptions::add_config_entry(const std::string& key, const std::string& value) {
  try {
    check(api().AddRunConfigEntry(get(), c_text(key), c_text(value)));
  } catch (const Error& error) {
    throw std::runtime_error(error.what());  // as in the official package
  }
  config_[key] = value;
}

std::string RunOptions::config_entry(const std::string& key) const {
  const auto found = config_.find(key);
  if (found == config_.end()) {
    throw std::runtime_error("RunOptions does not have configuration with key: " + key);  // official text
  }
  return found->second;
}

void RunOptions::add_adapter(nb::object adapter) {
  check(api().RunOptionsAddActiveLoraAdapter(get(), nb::cast<LoraAdapter&>(adapter).get()));
  adapters_.push_back(std::move(adapter));
}

void RunOptions::set_sync_stream(nb::object stream) {
  needs(24, "RunOptions.set_sync_stream()");
  api().RunOptionsSetSyncStream(get(), stream.is_none() ? nullptr : nb::cast<SyncStream&>(stream).get());
  stream_ = std::move(stream);
}

void RunOptions::enable_profiling(const std::string& prefix) {
  needs(25, "RunOptions.enable_profiling()");
  check(api().RunOptionsEnableProfiling(get(), c_text(prefix)));
}

void RunOptions::disable_profiling() {
  needs(25, "RunOptions.disable_profiling()");
  check(api().RunOptionsDisableProfiling(get()));
}

nb::dict RunOptions::state() const {
  if (!adapters_.empty() || (stream_.is_valid() && !stream_.is_none())) {
    throw nb::type_error("RunOptions with adapters or a stream cannot be pickled; add them in the other process");
  }
  nb::dict state;
  state["config"] = config_;
  state["log_severity_level"] = log_severity();
  state["log_verbosity_level"] = log_verbosity();
  state["logid"] = tag();
  state["only_execute_path_to_fetches"] = only_path_to_fetches;
  state["terminate"] = terminated_;
  return state;
}

void RunOptions::set_state(nb::dict state) {
  for (const auto& [key, value] : nb::cast<Pairs>(state["config"])) {
    add_config_entry(key, value);
  }
  set_log_severity(nb::cast<int>(state["log_severity_level"]));
  set_log_verbosity(nb::cast<int>(state["log_verbosity_level"]));
  set_tag(nb::cast<std::string>(state["logid"]));
  only_path_to_fetches = nb::cast<bool>(state["only_execute_path_to_fetches"]);
  set_terminated(nb::cast<bool>(state["terminate"]));
}

void bind_run_options(nb::module_& m) {
  using R = RunOptions;
  nb::class_<R>(m, "RunOptions", nb::is_weak_referenceable(), "Options of one run, or of several.")
      .def(nb::init<>())
      .def_prop_rw("log_severity_level", &R::log_severity, &R::set_log_severity, nb::lock_self(),
                   "Least severity that is logged: 0 verbose, 1 info, 2 warning, 3 error, 4 fatal; -1: the session's.")
      .def_prop_rw("log_verbosity_level", &R::log_verbosity, &R::set_log_verbosity, nb::lock_self(),
                   "Detail of verbose messages in debug builds of the engine.")
      .def_prop_rw("logid", &R::tag, &R::set_tag, nb::lock_self(), "Name of the run in log messages.")
      .def_rw("only_execute_path_to_fetches", &R::only_path_to_fetches,
              "Kept for programs that set it; the engine always runs only what the requested outputs need.")
      .def_prop_rw("terminate", &R::terminated, &R::set_terminated,
                   "True ends all runs with these options, also those under way on other threads; they raise Fail. "
                   "Later runs fail until it is False again.")
      .def("add_run_config_entry", &R::add_config_entry, nb::arg("key"), nb::arg("value"), nb::lock_self(),
           "Sets one entry of the configuration.")
      .def("get_run_config_entry", &R::config_entry, nb::arg("key"), nb::lock_self(),
           "The value of an entry. RuntimeError if it is not set.")
      .def("add_active_adapter", &R::add_adapter, nb::arg("adapter"), nb::lock_self(),
           "Uses the parameters of a LoraAdapter in runs with these options.")
      .def("set_sync_stream", &R::set_sync_stream, nb::arg("stream").none(), nb::lock_self(),
           "Runs on a stream of the program's; None removes it.")
      .def("enable_profiling", &R::enable_profiling, nb::arg("profile_file_prefix"), nb::lock_self(),
           "Writes a profile of each run with these options to a file whose name begins so.")
      .def("disable_profiling", &R::disable_profiling, nb::lock_self(), "Ends enable_profiling().")
      .def("__getstate__", &R::state, nb::lock_self())
      .def("__setstate__", [](R& self, nb::dict state) {
        new (&self) R();
        self.set_state(state);
      });
}

}  // namespace retort::python
