#include "options.h"

#include <nanobind/stl/string.h>

#include <algorithm>
#include <atomic>

#include "provider_choice.h"
#include "text.h"
#include "value.h"

namespace nb = nanobind;

namespace retort::python {
namespace {

// Writes what differs from the engine's own defaults.
void write_settings(const SessionSettings& s, OrtSessionOptions* handle) {
  const OrtApi& a = api();
  const SessionSettings usual;
  if (!s.cpu_arena) check(a.DisableCpuMemArena(handle));
  if (!s.memory_pattern) check(a.DisableMemPattern(handle));
  if (s.profiling) check(a.EnableProfiling(handle, c_text(s.profile_prefix)));
  if (s.deterministic) check(a.SetDeterministicCompute(handle, true));
  if (!s.own_threads) check(a.DisablePerSessionThreads(handle));
  if (s.mode != usual.mode) check(a.SetSessionExecutionMode(handle, s.mode));
  if (s.level != usual.level) check(a.SetSessionGraphOptimizationLevel(handle, s.level));
  if (s.inter_threads != usual.inter_threads) check(a.SetInterOpNumThreads(handle, s.inter_threads));
  if (s.intra_threads != usual.intra_threads) check(a.SetIntraOpNumThreads(handle, s.intra_threads));
  if (s.log_severity != usual.log_severity) check(a.SetSessionLogSeverityLevel(handle, s.log_severity));
  if (s.log_verbosity != usual.log_verbosity) check(a.SetSessionLogVerbosityLevel(handle, s.log_verbosity));
  if (!s.log_id.empty()) check(a.SetSessionLogId(handle, c_text(s.log_id)));
  if (!s.optimized_path.empty()) check(a.SetOptimizedModelFilePath(handle, c_text(s.optimized_path)));
}

std::atomic<bool> has_seed{false};
std::atomic<uint64_t> random_seed{0};

// Settings that the C interface has no function for.
void write_entries(const SessionSettings& s, const Pairs& config, OrtSessionOptions* handle) {
  if (has_seed.load() && !config.contains("session.random_seed")) {
    check(api().AddSessionConfigEntry(handle, "session.random_seed", std::to_string(random_seed.load()).c_str()));
  }
  if (!s.memory_reuse) {
    check(api().AddSessionConfigEntry(handle, "session.memory_reuse", "0"));
  }
  if (s.order != ExecutionOrder::kDefault && !config.contains("session.execution_order")) {
    const char* const order = s.order == ExecutionOrder::kPriorityBased ? "priority" : "memory";
    check(api().AddSessionConfigEntry(handle, "session.execution_order", order));
  }
}

// The memory of an object with the buffer protocol, locked until this object is destroyed.
class Buffer {
 public:
  explicit Buffer(nb::handle object) {
    if (PyObject_GetBuffer(object.ptr(), &view_, PyBUF_C_CONTIGUOUS) != 0) {
      nb::raise_python_error();
    }
  }
  ~Buffer() { PyBuffer_Release(&view_); }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;

  char* data() const { return static_cast<char*>(view_.buf); }
  size_t size() const { return static_cast<size_t>(view_.len); }

 private:
  Py_buffer view_{};
};

}  // namespace

void set_random_seed(int64_t seed) {
  random_seed.store(static_cast<uint64_t>(seed));
  has_seed.store(true);
}

SessionOptions::SessionOptions() : base_(made<OrtSessionOptions>(api().CreateSessionOptions)) {}

SessionOptions::SessionOptions(const SessionOptions& other)
    : settings(other.settings),
      base_(made<OrtSessionOptions>(api().CloneSessionOptions, other.base_.get())),
      config_(other.config_),
      dimensions_(other.dimensions_),
      denotations_(other.denotations_),
      custom_ops_(other.custom_ops_),
      kept_(other.kept_),
      providers_(other.providers_),
      policy_(other.policy_),
      has_policy_(other.has_policy_),
      delegate_(other.delegate_),
      read_(other.read_) {}

void SessionOptions::add_config_entry(const std::string& key, const std::string& value) {
  try {
    check(api().AddSessionConfigEntry(base_.get(), c_text(key), c_text(value)));
  } catch (const Error& error) {
    throw std::runtime_error(error.what());  // as in the official package
  }
  config_[key] = value;
}

const std::string* SessionOptions::config_entry(const std::string& key) const {
  const auto found = config_.find(key);
  return found == config_.end() ? nullptr : &found->second;
}

bool SessionOptions::config_on(const std::string& key) const {
  const std::string* value = config_entry(key);
  return value && *value == "1";
}

void SessionOptions::add_free_dimension(const std::string& name, int64_t extent, bool by_denotation) {
  const auto add = by_denotation ? api().AddFreeDimensionOverride : api().AddFreeDimensionOverrideByName;
  check(add(base_.get(), c_text(name), extent));
  (by_denotation ? denotations_ : dimensions_).emplace_back(name, extent);
}

void SessionOptions::register_custom_ops(const std::string& path) {
  check(api().RegisterCustomOpsLibrary_V2(base_.get(), c_text(path)));
  custom_ops_.push_back(path);
}

// The engine takes initializers only if the caller owns their memory, so it gets a second value over the same memory.
void SessionOptions::add_initializer(const std::string& name, nb::object value) {
  constexpr const char* kWhat = "add_initializer(): the value";
  const OrtValue* given = unwrap(value, kWhat);
  require_tensor(given, kWhat);
  const TensorForm form = form_of(given);
  const size_t bytes = element_bytes(form.element, count_of(form.shape.data(), form.shape.size()));
  auto view = made<OrtValue>(api().CreateTensorWithDataAsOrtValue, memory_of(given), data_of(given), bytes,
                             form.shape.data(), form.shape.size(), form.element);
  check(api().AddInitializer(base_.get(), c_text(name), view.get()));
  kept_.push_back(std::move(value));
  kept_.push_back(wrap(std::move(view)));
}

void SessionOptions::add_external_initializers(nb::sequence names, nb::sequence values) {
  const size_t count = nb::len(names);
  if (nb::len(values) != count) {
    throw Error(ORT_INVALID_ARGUMENT, "add_external_initializers(): " + std::to_string(count) + " names and " +
                                          std::to_string(nb::len(values)) + " values; give as many of both");
  }
  std::vector<std::string> texts;
  std::vector<const char*> pointers;
  std::vector<const OrtValue*> handles;
  for (size_t i = 0; i < count; ++i) {
    texts.push_back(nb::cast<std::string>(names[i]));
    handles.push_back(unwrap(values[i], "add_external_initializers(): a value"));
  }
  std::transform(texts.begin(), texts.end(), std::back_inserter(pointers), [](auto& t) { return c_text(t); });
  check(api().AddExternalInitializers(base_.get(), pointers.data(), handles.data(), count));
  kept_.push_back(nb::tuple(values));
}

void SessionOptions::add_external_files(const std::vector<std::string>& names, nb::sequence buffers,
                                        const std::vector<size_t>& lengths) {
  const size_t count = names.size();
  if (nb::len(buffers) != count || lengths.size() != count) {
    throw Error(ORT_INVALID_ARGUMENT, "add_external_initializers_from_files_in_memory(): " + std::to_string(count) +
                                          " names, " + std::to_string(nb::len(buffers)) + " buffers, " +
                                          std::to_string(lengths.size()) + " lengths; give as many of each");
  }
  auto held = std::make_unique<std::vector<std::unique_ptr<Buffer>>>();
  std::vector<const char*> pointers;
  std::vector<char*> data;
  for (size_t i = 0; i < count; ++i) {
    held->push_back(std::make_unique<Buffer>(buffers[i]));
    if (lengths[i] > held->back()->size()) {
      throw Error(ORT_INVALID_ARGUMENT, "file '" + names[i] + "': the length is " + std::to_string(lengths[i]) +
                                            ", but the buffer has " + std::to_string(held->back()->size()) + " bytes");
    }
    pointers.push_back(c_text(names[i]));
    data.push_back(held->back()->data());
  }
  check(
      api().AddExternalInitializersFromFilesInMemory(base_.get(), pointers.data(), data.data(), lengths.data(), count));
  using Held = std::vector<std::unique_ptr<Buffer>>;
  kept_.push_back(nb::capsule(held.release(), [](void* p) noexcept { delete static_cast<Held*>(p); }));
}

void SessionOptions::add_provider(const std::string& name, const Pairs& options) {
  ProviderRequest request{name, {}, options};
  // A handle that is thrown away, to report mistakes here rather than when a session is made.
  const auto trial = made<OrtSessionOptions>(api().CreateSessionOptions);
  append_provider(trial.get(), request);
  providers_.push_back(std::move(request));
}

void SessionOptions::add_devices(const std::vector<EpDevice>& devices, const Pairs& options) {
  ProviderRequest request{devices.empty() ? "" : api().EpDevice_EpName(devices[0].handle), {}, options};
  for (const EpDevice& device : devices) {
    request.devices.push_back(device.handle);
  }
  const auto trial = made<OrtSessionOptions>(api().CreateSessionOptions);
  append_devices(trial.get(), request);
  providers_.push_back(std::move(request));
}

void SessionOptions::set_policy(OrtExecutionProviderDevicePolicy policy) {
  policy_ = policy;
  has_policy_ = true;
  delegate_.reset();
}

void SessionOptions::set_delegate(nb::object function) {
  delegate_ = function.is_none() ? nullptr : std::make_shared<Callback>(std::move(function));
}

void SessionOptions::set_read_function(nb::object function, size_t limit) {
  needs(31, "set_ep_context_data_read_func()");
  if (!PyCallable_Check(function.ptr())) {
    throw nb::type_error("set_ep_context_data_read_func(): read_func must be callable");
  }
  auto callback = std::make_shared<Callback>(std::move(function));
  callback->limit = limit;
  check(api().SessionOptionsSetEpContextDataReadFunc(base_.get(), read_ep_context, callback.get()));
  read_ = std::move(callback);
}

void SessionOptions::clear_read_function() {
  needs(31, "clear_ep_context_data_read_func()");
  check(api().SessionOptionsSetEpContextDataReadFunc(base_.get(), nullptr, nullptr));
  read_.reset();
}

void SessionOptions::set_cancelled(bool cancelled) {
  check(api().SessionOptionsSetLoadCancellationFlag(base_.get(), cancelled));
}

Owned<OrtSessionOptions> SessionOptions::build(bool with_providers) const {
  auto handle = made<OrtSessionOptions>(api().CloneSessionOptions, base_.get());
  write_settings(settings, handle.get());
  if (is_retort()) {
    write_entries(settings, config_, handle.get());
  }
  if (!with_providers) {
    return handle;
  }
  for (const ProviderRequest& request : providers_) {
    append_provider(handle.get(), request);
  }
  if (delegate_) {
    check(api().SessionOptionsSetEpSelectionPolicyDelegate(handle.get(), select_devices, delegate_.get()));
  } else if (has_policy_) {
    check(api().SessionOptionsSetEpSelectionPolicy(handle.get(), policy_));
  }
  return handle;
}

int SessionOptions::traverse(int (*visit)(PyObject*, void*), void* arg) const {
  for (const nb::object& object : kept_) {
    Py_VISIT(object.ptr());
  }
  for (const SharedCallback& callback : {delegate_, read_}) {
    // Another copy of the options has the callback, too: then the collector must not count this reference.
    if (callback && callback.use_count() == 2) {
      Py_VISIT(callback->function.ptr());
    }
  }
  return 0;
}

void SessionOptions::clear() {
  kept_.clear();
  delegate_.reset();
  read_.reset();
}

}  // namespace retort::python
