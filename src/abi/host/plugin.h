// A plug-in library and its objects, as the engine sees them. Each object keeps the library open.
#pragma once
#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "abi/devices/devices.h"
#include "abi/sessions/environment.h"
#include "abi/values/value.h"

namespace retort::abi {

class Instance;

/// The owner of a called function, for errors: provider 'x'.
struct Callee {
  std::string_view kind, name;
};

/// Throws the error of the status, and releases the status.
[[noreturn]] void fail_status(Callee callee, const char* function, OrtStatus* status);
/// Throws the exception that is being handled, as an Error.
[[noreturn]] void fail_thrown(Callee callee, const char* function);

/// Calls a function of a plug-in and returns its result, or nothing if that is a status. Throws ep_fail naming callee
/// and function if it throws, and the error of its status. Functions may throw even if they are declared noexcept, as
/// plug-ins in other languages can; such exceptions are caught where that is possible.
template <typename R, typename... P, typename... A>
auto call_plugin(Callee callee, const char* name, R (*function)(P...), A&&... args) {
  constexpr bool kStatus = std::is_same_v<R, OrtStatusPtr>;
  OrtStatusPtr status = nullptr;
  try {
    if constexpr (!kStatus) return function(std::forward<A>(args)...);
    if constexpr (kStatus) status = function(std::forward<A>(args)...);
  } catch (...) {
    fail_thrown(callee, name);
  }
  if constexpr (kStatus) {
    if (status) fail_status(callee, name, status);
  }
}

/// Logs the exception that is being handled, where no caller can receive it.
void warn_caught(const Logger& logger) noexcept;

/// A log for messages outside all environments: writes to standard error.
const Logger& unheard();

/// Calls a release function of a plug-in if the plug-in has it. Exceptions and errors do not get out, since destructors
/// call this; they are logged.
template <typename R, typename... P, typename... A>
void give_back(const Logger& logger, Callee callee, const char* name, R (*function)(P...), A&&... args) noexcept {
  if (!function) return;
  try {
    call_plugin(callee, name, function, std::forward<A>(args)...);
  } catch (...) {
    warn_caught(logger);
  }
}

/// An open library. Its last owner closes it.
class PluginLibrary {
 public:
  /// Throws `fail` if it cannot be opened, or lacks the functions of a plug-in.
  explicit PluginLibrary(const std::string& path);
  ~PluginLibrary();
  PluginLibrary(const PluginLibrary&) = delete;
  const std::string& path() const { return path_; }
  Callee callee() const { return {"library", path_}; }
  CreateEpApiFactoriesFn create = nullptr;
  ReleaseEpApiFactoryFn release = nullptr;

 private:
  const std::string path_;
  void* handle_ = nullptr;
};

/// A factory of a plug-in, released by its last owner.
class Plugin {
 public:
  Plugin(std::shared_ptr<PluginLibrary> library, OrtEpFactory* factory, const Logger& logger);
  ~Plugin();
  Plugin(const Plugin&) = delete;
  const std::string& name() const { return name_; }
  /// "provider 'x'", for errors.
  std::string who() const { return cat("provider '{}'", name_); }
  Callee callee() const { return {"provider", name_}; }
  OrtEpFactory& factory() const { return *factory_; }
  const std::string& library_path() const { return library_->path(); }
  /// Whether the struct's version has the fields that `version` added.
  bool since(uint32_t version) const { return factory_->ort_version_supported >= version; }
  /// Calls a function of the factory, or of an object that it made: call("GetNumCustomOpDomains",
  /// factory.GetNumCustomOpDomains, …).
  template <typename R, typename... P, typename... A>
  auto call(const char* name, R (*function)(P...), A&&... args) const {
    return call_plugin(callee(), name, function, std::forward<A>(args)...);
  }
  /// The same for a release function; see give_back() above.
  template <typename R, typename... P, typename... A>
  void give_back(const char* name, R (*function)(P...), A&&... args) const noexcept {
    abi::give_back(logger_, callee(), name, function, std::forward<A>(args)...);
  }
  /// Whether its work is queued on its own streams.
  bool makes_streams() const;

  std::atomic<int> in_use{0};  ///< number of sessions' providers

 private:
  const std::shared_ptr<PluginLibrary> library_;
  OrtEpFactory* const factory_;
  const Logger logger_;
  std::string name_;
};

/// The space as the functions of plug-ins have it.
OrtMemoryDevice device_of(const MemorySpace& space);

// memory.cc
/// The plug-in's allocator for that memory; null if it has no function that makes allocators. Throws ep_fail if that
/// function returns none. `options` for a session; null: for the environment.
std::shared_ptr<Allocator> plugin_allocator(const std::shared_ptr<Plugin>& plugin, const OrtMemoryInfo& info,
                                            const OrtKeyValuePairs* options = nullptr);
/// Allocators of a session. The plug-in's provider makes them, or its factory if the provider has no such function.
SessionMemory session_memory(const Instance& provider, std::span<const OrtMemoryInfo> infos);
/// Null: the plug-in copies nothing.
std::unique_ptr<DataTransfer> plugin_transfer(const std::shared_ptr<Plugin>& plugin);
/// Takes ownership of the stream.
std::unique_ptr<Stream> plugin_stream(std::shared_ptr<Plugin> plugin, OrtSyncStreamImpl* stream, MemorySpace space);
/// The handle by which a plug-in knows its own stream; null for null.
OrtSyncStream* outward(Stream* stream);
/// The plug-in's stream behind the handle; null for streams of other owners.
const OrtSyncStreamImpl* stream_behind(const OrtSyncStream& stream);

// profiling.cc
/// Receives events for profiles; null if the provider records none.
std::unique_ptr<ProfileListener> plugin_listener(std::shared_ptr<const Instance> provider);

// capture.cc
/// Captures the provider's runs; null if the provider does not capture.
std::unique_ptr<RunCapture> plugin_capture(std::shared_ptr<const Instance> provider);

// session_hooks.cc: notifies a provider of its session's events. Functions that it lacks, or is too old for, are
// skipped. `options` of a run may be null.
void tell_session_made(const Instance& provider);
bool asked_runs_at_once(const Instance& provider);
void tell_options(const Instance& provider, std::span<const char* const> keys, std::span<const char* const> values);
void tell_run_begins(const Instance& provider, const OrtRunOptions* options);
void tell_run_ends(const Instance& provider, const OrtRunOptions* options, bool waits);

// questions.cc
/// Asks the device's plug-in why its provider cannot use the hardware; the result is empty if it gives no reason.
void ask_incompatibility(const OrtEpDevice& device, const OrtHardwareDevice& hardware,
                         OrtDeviceEpIncompatibilityDetails& details);
/// Asks the device's plug-in how much memory of that type the device has, and how much is available; null where that is
/// not asked. Throws not_implemented if it does not say.
void ask_memory_capacity(const OrtEpDevice& device, OrtDeviceMemoryType type, size_t* total, size_t* available);
/// Whether a model that was compiled elsewhere, with this compatibility text, runs on these devices of one provider.
OrtCompiledModelCompatibility ask_compatibility(std::span<const OrtEpDevice* const> devices, const char* note);
/// Throws `fail` if a model was compiled elsewhere for the devices' provider, its metadata say so, and the provider
/// cannot run it; with `optimal`, also if it would run faster compiled again.
void check_compiled_model(std::span<const OrtEpDevice* const> devices, const Model& model, bool optimal);
/// Adds the domains of operators of the device's plug-in, each once.
void add_operator_domains(const OrtEpDevice& device, std::vector<OrtCustomOpDomain*>& domains);

// factory.cc
/// The provider of a plug-in, with its devices for this environment's hardware.
struct OfferedProvider {
  std::shared_ptr<ProviderFactory> factory;
  std::vector<std::unique_ptr<OrtEpDevice>> devices;
};
OfferedProvider offered(const OrtEnv& env, const std::shared_ptr<Plugin>& plugin);
/// Throws `fail` if sessions use it.
void check_unused(const ProviderFactory& factory);

// provider.cc
/// What a session requires from a plug-in.
struct ProviderSpec {
  std::vector<const ProviderDevice*> devices;  ///< the plug-in's devices, each with its hardware
  std::vector<const OrtHardwareDevice*> hardware;
  std::vector<OrtMemoryInfo> memory;  ///< the memories of those devices, each once
  std::map<std::string, std::string> config;
  const OrtSessionOptions* caller = nullptr;  ///< null: none
};
std::unique_ptr<Provider> plugin_provider(std::shared_ptr<Plugin> plugin, const ProviderSpec& spec,
                                          const Logger& logger, const std::shared_ptr<Devices>& shared);

struct SharedWeights;
/// Shares what its kernels pack with other sessions; for providers of plug-ins, before they claim anything.
void share_weights(Provider& provider, const SharedWeights& shared);

}  // namespace retort::abi
