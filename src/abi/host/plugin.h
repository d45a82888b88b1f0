// A plug-in library and what it makes, as the engine sees them. Each object keeps the library open.
#pragma once
#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "abi/devices.h"
#include "abi/environment.h"
#include "abi/value.h"

namespace retort::abi {

/// Throws what a plug-in's status says, and releases it; nothing for null. `who`: "provider 'x'"; `call`: what it answered.
void check_plugin(OrtStatus* status, std::string_view who, std::string_view call);

class Plugin;
[[noreturn]] void fail_thrown(const Plugin& plugin, const char* name);
void check_plugin(OrtStatus* status, const Plugin& plugin, const char* name);

/// Calls a function of a plug-in. Throws ep_fail naming provider and function where it throws, and what its status says.
/// Declared not to throw or not: plug-ins in other languages do it all the same, where that can be caught.
template <typename... P, typename... A>
void call_plugin(const Plugin& plugin, const char* name, OrtStatusPtr (*function)(P...), A&&... args) {
  OrtStatus* status = nullptr;
  try {
    status = function(std::forward<A>(args)...);
  } catch (...) {
    fail_thrown(plugin, name);
  }
  if (status) check_plugin(status, plugin, name);
}

/// An open library. The last owner closes it.
class PluginLibrary {
 public:
  /// Throws fail where it cannot be opened, or has not the functions of a plug-in.
  explicit PluginLibrary(const std::string& path);
  ~PluginLibrary();
  PluginLibrary(const PluginLibrary&) = delete;
  const std::string& path() const { return path_; }
  CreateEpApiFactoriesFn create = nullptr;
  ReleaseEpApiFactoryFn release = nullptr;

 private:
  const std::string path_;
  void* handle_ = nullptr;
};

/// A factory of a plug-in, given back with its last owner.
class Plugin {
 public:
  Plugin(std::shared_ptr<PluginLibrary> library, OrtEpFactory* factory);
  ~Plugin() { library_->release(factory_); }
  Plugin(const Plugin&) = delete;
  const std::string& name() const { return name_; }
  /// "provider 'x'", for errors
  std::string who() const { return cat("provider '{}'", name_); }
  OrtEpFactory& factory() const { return *factory_; }
  const std::string& library_path() const { return library_->path(); }
  /// Whether the plug-in's struct is new enough for fields that came with `version`.
  bool since(uint32_t version) const { return factory_->ort_version_supported >= version; }

  std::atomic<int> in_use{0};  ///< providers of sessions

 private:
  const std::shared_ptr<PluginLibrary> library_;
  OrtEpFactory* const factory_;
  std::string name_;
};

// memory.cc
/// The allocator that the plug-in has for that memory; null where it makes none.
std::shared_ptr<Allocator> plugin_allocator(const std::shared_ptr<Plugin>& plugin, const OrtMemoryInfo& info);
/// Null: it copies nothing.
std::unique_ptr<DataTransfer> plugin_transfer(const std::shared_ptr<Plugin>& plugin);
/// Takes the stream over.
std::unique_ptr<Stream> plugin_stream(std::shared_ptr<Plugin> plugin, OrtSyncStreamImpl* stream, MemorySpace space);
/// What plug-ins know a stream of their own as; null for null.
OrtSyncStream* outward(Stream* stream);
/// What is behind it; null for streams of others.
const OrtSyncStreamImpl* stream_behind(const OrtSyncStream& stream);

// profiling.cc
/// What the provider tells profiles; null where it tells nothing. `owner` keeps the provider.
std::unique_ptr<ProfileListener> plugin_listener(std::shared_ptr<const void> owner, OrtEp& ep, std::string who,
                                                 const Logger& logger);

// session_hooks.cc: what a provider is told of its session. Functions that it has not, or is too old for, are passed over.
void tell_session_made(OrtEp& ep, const std::string& who);
bool asked_runs_at_once(OrtEp& ep, const std::string& who);
void tell_options(OrtEp& ep, const std::string& who, std::span<const char* const> keys,
                  std::span<const char* const> values);
void tell_run_begins(OrtEp& ep, const std::string& who, const RunOptions* options);
void tell_run_ends(OrtEp& ep, const std::string& who, const RunOptions* options, bool waits);

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
/// `devices`: of the plug-in.
std::unique_ptr<Provider> plugin_provider(std::shared_ptr<Plugin> plugin,
                                          const std::vector<const ProviderDevice*>& devices,
                                          const std::vector<const OrtHardwareDevice*>& hardware,
                                          const std::map<std::string, std::string>& config, const Logger& logger,
                                          const std::shared_ptr<Devices>& shared);

}  // namespace retort::abi
