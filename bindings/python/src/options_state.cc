// SessionOptions as plain objects, for pickle.
#include <nanobind/stl/map.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <tuple>

#include "options.h"

namespace nb = nanobind;

namespace retort::python {
namespace {

using DeviceTuple = std::tuple<std::string, int, uint32_t, uint32_t>;

nb::dict state_of(const SessionSettings& s) {
  nb::dict d;
  d["enable_cpu_mem_arena"] = s.cpu_arena;
  d["enable_mem_pattern"] = s.memory_pattern;
  d["enable_mem_reuse"] = s.memory_reuse;
  d["enable_profiling"] = s.profiling;
  d["use_deterministic_compute"] = s.deterministic;
  d["use_per_session_threads"] = s.own_threads;
  d["execution_mode"] = static_cast<int>(s.mode);
  d["execution_order"] = static_cast<int>(s.order);
  d["graph_optimization_level"] = static_cast<int>(s.level);
  d["inter_op_num_threads"] = s.inter_threads;
  d["intra_op_num_threads"] = s.intra_threads;
  d["log_severity_level"] = s.log_severity;
  d["log_verbosity_level"] = s.log_verbosity;
  d["logid"] = s.log_id;
  d["optimized_model_filepath"] = s.optimized_path;
  d["profile_file_prefix"] = s.profile_prefix;
  return d;
}

SessionSettings settings_of(const nb::dict& d) {
  SessionSettings s;
  s.cpu_arena = nb::cast<bool>(d["enable_cpu_mem_arena"]);
  s.memory_pattern = nb::cast<bool>(d["enable_mem_pattern"]);
  s.memory_reuse = nb::cast<bool>(d["enable_mem_reuse"]);
  s.profiling = nb::cast<bool>(d["enable_profiling"]);
  s.deterministic = nb::cast<bool>(d["use_deterministic_compute"]);
  s.own_threads = nb::cast<bool>(d["use_per_session_threads"]);
  s.mode = static_cast<ExecutionMode>(nb::cast<int>(d["execution_mode"]));
  s.order = static_cast<ExecutionOrder>(nb::cast<int>(d["execution_order"]));
  s.level = static_cast<GraphOptimizationLevel>(nb::cast<int>(d["graph_optimization_level"]));
  s.inter_threads = nb::cast<int>(d["inter_op_num_threads"]);
  s.intra_threads = nb::cast<int>(d["intra_op_num_threads"]);
  s.log_severity = nb::cast<int>(d["log_severity_level"]);
  s.log_verbosity = nb::cast<int>(d["log_verbosity_level"]);
  s.log_id = nb::cast<std::string>(d["logid"]);
  s.optimized_path = nb::cast<std::string>(d["optimized_model_filepath"]);
  s.profile_prefix = nb::cast<std::string>(d["profile_file_prefix"]);
  return s;
}

nb::list state_of(const std::vector<ProviderRequest>& requests) {
  nb::list list;
  for (const ProviderRequest& request : requests) {
    std::vector<DeviceTuple> devices;
    for (const OrtEpDevice* device : request.devices) {
      const DeviceKey key = key_of(device);
      devices.emplace_back(key.provider, key.type, key.vendor, key.id);
    }
    list.append(nb::make_tuple(request.name, devices, request.options));
  }
  return list;
}

}  // namespace

nb::dict SessionOptions::state() const {
  if (!kept_.empty()) {
    throw nb::type_error("SessionOptions with initializers cannot be pickled; add them in the other process");
  }
  if (delegate_ || read_) {
    throw nb::type_error(
        "SessionOptions with a selection delegate or a function that reads EPContext data cannot be "
        "pickled; set it in the other process");
  }
  nb::dict d;
  d["settings"] = state_of(settings);
  d["config"] = config_;
  d["dimensions"] = dimensions_;
  d["denotations"] = denotations_;
  d["custom_ops"] = custom_ops_;
  d["providers"] = state_of(providers_);
  d["policy"] = has_policy_ ? nb::object(nb::int_(static_cast<int>(policy_))) : nb::none();
  return d;
}

void SessionOptions::set_state(nb::dict d) {
  settings = settings_of(nb::cast<nb::dict>(d["settings"]));
  for (const auto& [key, value] : nb::cast<Pairs>(d["config"])) {
    add_config_entry(key, value);
  }
  using Extents = std::vector<std::pair<std::string, int64_t>>;
  for (const auto& [name, extent] : nb::cast<Extents>(d["dimensions"])) {
    add_free_dimension(name, extent, false);
  }
  for (const auto& [name, extent] : nb::cast<Extents>(d["denotations"])) {
    add_free_dimension(name, extent, true);
  }
  for (const std::string& path : nb::cast<std::vector<std::string>>(d["custom_ops"])) {
    register_custom_ops(path);
  }
  using Providers = std::vector<std::tuple<std::string, std::vector<DeviceTuple>, Pairs>>;
  for (const auto& [name, devices, options] : nb::cast<Providers>(d["providers"])) {
    ProviderRequest request{name, {}, options};
    for (const auto& [provider, type, vendor, id] : devices) {
      request.devices.push_back(device_of({provider, type, vendor, id}));
    }
    providers_.push_back(std::move(request));
  }
  if (!d["policy"].is_none()) {
    set_policy(static_cast<OrtExecutionProviderDevicePolicy>(nb::cast<int>(d["policy"])));
  }
}

}  // namespace retort::python
