// The class RunOptions.
#pragma once

#include <nanobind/nanobind.h>

#include <string>
#include <vector>

#include "engine.h"
#include "pairs.h"
#include "text.h"

namespace retort::python {

class RunOptions {
 public:
  RunOptions() : handle_(made<OrtRunOptions>(api().CreateRunOptions)) {}

  OrtRunOptions* get() const noexcept { return handle_.get(); }

  bool terminated() const noexcept { return terminated_; }
  // Effective at once, also for runs that are under way on other threads.
  void set_terminated(bool terminated);

  int log_severity() const;
  void set_log_severity(int level) { check(api().RunOptionsSetRunLogSeverityLevel(get(), level)); }
  int log_verbosity() const;
  void set_log_verbosity(int level) { check(api().RunOptionsSetRunLogVerbosityLevel(get(), level)); }
  std::string tag() const;
  void set_tag(const std::string& tag) { check(api().RunOptionsSetRunTag(get(), c_text(tag))); }

  void add_config_entry(const std::string& key, const std::string& value);
  std::string config_entry(const std::string& key) const;
  void add_adapter(nanobind::object adapter);
  void set_sync_stream(nanobind::object stream);  // None removes it
  void enable_profiling(const std::string& prefix);
  void disable_profiling();

  // Only in the official package: Retort and the C interface always run what the requested outputs need.
  bool only_path_to_fetches = false;

  // For pickle. Throws nanobind::type_error if adapters or a stream are set.
  nanobind::dict state() const;
  void set_state(nanobind::dict state);

 private:
  Owned<OrtRunOptions> handle_;
  Pairs config_;
  bool terminated_ = false;
  std::vector<nanobind::object> adapters_;
  nanobind::object stream_;
};

}  // namespace retort::python
