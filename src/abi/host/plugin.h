// A plug-in library and what it makes, as the engine sees them. Each object keeps the library open.
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

/// Whose function is called, for errors: provider 'x'.
struct Callee {
  std::string_view kind, name;
};

/// Throws what the status says, and releases it.
[[noreturn]] void fail_status(Callee callee, const char* function, OrtStatus* status);
/// Throws what is being caught, as an Error.
[[noreturn]] void fail_thrown(Callee callee, const char* function);

/// Calls a function of a plug-in and gives its answer, or nothing where that is a status. Throws ep_fail naming callee
/// and function where it throws, and what its status says. Declared not to throw or not: plug-ins in other languages do
/// it all the same, where that can be caught.
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

/// Logs what is being caught, where nobody can be told of it.
void warn_caught(const Logger& logger) noexcept;

/// For what happens outside of all environments: to standard error.
const Logger& unheard();

/// Calls a function that gives something back, where a plug-in has it: nothing that it throws or answers gets out, since
/// what calls it are destructors. It is logged, and the rest goes its way.
template <typename R, typename... P, typename... A>
void give_back(const Logger& logger, Callee callee, const char* name, R (*function)(P...), A&&... args) noexcept {
  if (!function) return;
  try {
    call_plugin(callee, name, function, std::forward<A>(args)...);
  } catch (...) {
    warn_caught(logger);
  }
}

/// An open library. The last owner closes it.
class PluginLibrary {
 public:
  /// Throws fail where it cannot be opened, or has not the functions of a plug-in.
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

/// A factory of a plug-in, given back with its last owner.
class Plugin {
 public:
  Plugin(std::shared_ptr<PluginLibrary> library, OrtEpFactory* factory, const Logger& logger);
  ~Plugin();
  Plugin(const Plugin&) = delete;
  const std::string& name() const { return name_; }
  /// "provider 'x'", for errors
  std::string who() const { return cat("provider '{}'", name_); }
  Callee callee() const { return {"provider", name_}; }
  OrtEpFactory& factory() const { return *factory_; }
  const std::string& library_path() const { return library_->path(); }
  /// Whether the plug-in's struct is new enough for fields that came with `version`.
  bool since(uint32_t version) const { return factory_->ort_version_supported >= version; }
  /// A function of the factory, or of what it made: call("GetNumCustomOpDomains", factory.GetNumCustomOpDomains, …).
  template <typename R, typename... P, typename... A>
  auto call(const char* name, R (*function)(P...), A&&... args) const {
    return call_plugin(callee(), name, function, std::forward<A>(args)...);
  }
  /// The same of one that gives something back: give_back().
  template <typename R, typename... P, typename... A>
  void give_back(const char* name, R (*function)(P...), A&&... args) const noexcept {
    abi::give_back(logger_, callee(), name, function, std::forward<A>(args)...);
  }
  /// Whether its work goes through streams of its own.
  bool makes_streams() const;

  std::atomic<int> in_use{0};  ///< providers of sessions

 private:
  const std::shared_ptr<PluginLibrary> library_;
  OrtEpFactory* const factory_;
  const Logger logger_;
  std::string name_;
};

/// As the functions of plug-ins know it.
OrtMemoryDevice device_of(const MemorySpace& space);

// memory.cc
/// The allocator that the plug-in has for that memory; null where it has no function for it. Throws ep_fail where it makes
/// none all the same.
std::shared_ptr<Allocator> plugin_allocator(const std::shared_ptr<Plugin>& plugin, const OrtMemoryInfo& info);
/// Allocators of a session, which the plug-in's provider makes, or its factory where the provider has no function for it.
SessionMemory session_memory(const Instance& provider, std::span<const OrtMemoryInfo> infos);
/// Null: it copies nothing.
std::unique_ptr<DataTransfer> plugin_transfer(const std::shared_ptr<Plugin>& plugin);
/// Takes the stream over.
std::unique_ptr<Stream> plugin_stream(std::shared_ptr<Plugin> plugin, OrtSyncStreamImpl* stream, MemorySpace space);
/// What plug-ins know a stream of their own as; null for null.
OrtSyncStream* outward(Stream* stream);
/// What is behind it; null for streams of others.
const OrtSyncStreamImpl* stream_behind(const OrtSyncStream& stream);

// profiling.cc
/// What the provider tells profiles; null where it tells nothing.
std::unique_ptr<ProfileListener> plugin_listener(std::shared_ptr<const Instance> provider);

// capture.cc
/// What captures the provider's runs; null where it does not.
std::unique_ptr<RunCapture> plugin_capture(std::shared_ptr<const Instance> provider);

// session_hooks.cc: what a provider is told of its session. Functions that it has not, or is too old for, are passed over.
void tell_session_made(const Instance& provider);
bool asked_runs_at_once(const Instance& provider);
void tell_options(const Instance& provider, std::span<const char* const> keys, std::span<const char* const> values);
void tell_run_begins(const Instance& provider, const RunOptions* options);
void tell_run_ends(const Instance& provider, const RunOptions* options, bool waits);

// questions.cc
/// Why the provider of the device cannot use that hardware, as its plug-in says; nothing where it says nothing.
void ask_incompatibility(const OrtEpDevice& device, const OrtHardwareDevice& hardware,
                         OrtDeviceEpIncompatibilityDetails& details);
/// Whether what was compiled elsewhere, and left that note, runs on these devices of one provider.
OrtCompiledModelCompatibility ask_compatibility(std::span<const OrtEpDevice* const> devices, const char* note);
/// Throws fail where the provider of the devices cannot run a model that was compiled elsewhere and says so in its metadata;
/// with `optimal`, also where it had better be compiled again.
void check_compiled_model(std::span<const OrtEpDevice* const> devices, const Model& model, bool optimal);
/// Adds the domains of operators that the plug-in of the device brings, each once.
void add_operator_domains(const OrtEpDevice& device, std::vector<OrtCustomOpDomain*>& domains);

// factory.cc
/// The provider of a plug-in, and its devices of this environment's hardware.
struct OfferedProvider {
  std::shared_ptr<ProviderFactory> factory;
  std::vector<std::unique_ptr<OrtEpDevice>> devices;
};
OfferedProvider offered(const OrtEnv& env, const std::shared_ptr<Plugin>& plugin);
/// Throws fail while sessions use it.
void check_unused(const ProviderFactory& factory);

// provider.cc
/// What a session wants of a plug-in.
struct ProviderSpec {
  std::vector<const ProviderDevice*> devices;  ///< of the plug-in, each with its hardware
  std::vector<const OrtHardwareDevice*> hardware;
  std::vector<OrtMemoryInfo> memory;  ///< that those devices have, each once
  std::map<std::string, std::string> config;
  const OrtSessionOptions* caller = nullptr;  ///< null: there are none
};
std::unique_ptr<Provider> plugin_provider(std::shared_ptr<Plugin> plugin, const ProviderSpec& spec,
                                          const Logger& logger, const std::shared_ptr<Devices>& shared);

struct SharedWeights;
/// What its kernels pack is shared with other sessions; for providers of plug-ins, before they claim anything.
void share_weights(Provider& provider, const SharedWeights& shared);

}  // namespace retort::abi
