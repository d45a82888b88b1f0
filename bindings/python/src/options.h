// The class SessionOptions. The C interface sets most options and reads few, so the values are kept here, and build()
// writes them to a handle.
#pragma once

#include <nanobind/nanobind.h>

#include <string>
#include <utility>
#include <vector>

#include "callback.h"
#include "devices.h"
#include "engine.h"
#include "pairs.h"

namespace retort::python {

// Of the official package; the C interface has no function for it, Retort an entry.
enum class ExecutionOrder { kDefault = 0, kPriorityBased = 1, kMemoryEfficient = 2 };

struct SessionSettings {
  bool cpu_arena = true;
  bool memory_pattern = true;
  bool memory_reuse = true;  // the C interface has no function for it
  bool profiling = false;
  bool deterministic = false;
  bool own_threads = true;
  ExecutionMode mode = ORT_SEQUENTIAL;
  ExecutionOrder order = ExecutionOrder::kDefault;
  GraphOptimizationLevel level = ORT_ENABLE_ALL;
  int inter_threads = 0;
  int intra_threads = 0;
  int log_severity = -1;
  int log_verbosity = 0;
  std::string log_id;
  std::string optimized_path;
  std::string profile_prefix = "onnxruntime_profile_";
};

// A provider with its options: by name, or by devices.
struct ProviderRequest {
  std::string name;
  std::vector<const OrtEpDevice*> devices;
  Pairs options;
};

// Random operators without a seed get one that follows from this, in sessions of Retort that are made later.
void set_random_seed(int64_t seed);

class SessionOptions {
 public:
  SessionOptions();
  SessionOptions(const SessionOptions& other);
  SessionOptions& operator=(const SessionOptions&) = delete;

  SessionSettings settings;

  void add_config_entry(const std::string& key, const std::string& value);
  // Null if the key is not set.
  const std::string* config_entry(const std::string& key) const;
  const Pairs& config() const { return config_; }
  // Whether the entry is "1".
  bool config_on(const std::string& key) const;

  void add_free_dimension(const std::string& name, int64_t extent, bool by_denotation);
  void register_custom_ops(const std::string& path);
  void add_initializer(const std::string& name, nanobind::object value);
  void add_external_initializers(nanobind::sequence names, nanobind::sequence values);
  void add_external_files(const std::vector<std::string>& names, nanobind::sequence buffers,
                          const std::vector<size_t>& lengths);
  void add_provider(const std::string& name, const Pairs& options);
  void add_devices(const std::vector<EpDevice>& devices, const Pairs& options);
  void set_policy(OrtExecutionProviderDevicePolicy policy);
  void set_delegate(nanobind::object function);  // None removes it
  void set_read_function(nanobind::object function, size_t limit);
  void clear_read_function();
  void set_cancelled(bool cancelled);

  bool has_providers() const { return !providers_.empty() || has_policy_ || delegate_; }
  const std::vector<ProviderRequest>& providers() const { return providers_; }
  bool chooses_devices() const { return has_policy_ || delegate_; }

  // A handle with all of this; without providers, policy and delegate if they are given elsewhere.
  Owned<OrtSessionOptions> build(bool with_providers = true) const;

  // For pickle. Throws nanobind::type_error, which names what cannot be stored: initializers and functions.
  nanobind::dict state() const;
  void set_state(nanobind::dict state);

  // Visits the Python objects that this refers to, for Python's garbage collector.
  int traverse(int (*visit)(PyObject*, void*), void* arg) const;
  void clear();

 private:
  Owned<OrtSessionOptions> base_;  // what the C interface accumulates, without settings and providers
  Pairs config_;
  std::vector<std::pair<std::string, int64_t>> dimensions_;
  std::vector<std::pair<std::string, int64_t>> denotations_;
  std::vector<std::string> custom_ops_;
  std::vector<nanobind::object> kept_;  // values and buffers that the handle points to
  std::vector<ProviderRequest> providers_;
  OrtExecutionProviderDevicePolicy policy_ = OrtExecutionProviderDevicePolicy_DEFAULT;
  bool has_policy_ = false;
  SharedCallback delegate_;
  SharedCallback read_;
};

}  // namespace retort::python
