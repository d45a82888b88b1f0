// Options of sessions and of runs; part of retort.hpp.
#pragma once
#include <cstddef>
#include <functional>
#include <optional>
#include <type_traits>

#include "devices.hpp"

namespace retort::api {

/// The options of a session, which copies them.
class SessionOptions : public Owner<OrtSessionOptions, &OrtApi::ReleaseSessionOptions> {
 public:
  SessionOptions() { check(api().CreateSessionOptions(out())); }
  /// The number of threads inside an operator, including the caller's; 0: one per core.
  SessionOptions& threads(int n) { return done(api().SetIntraOpNumThreads(get(), n)); }
  /// Runs independent branches of the model at the same time if that is faster, on `n` threads; 0: as many as inside an
  /// operator.
  SessionOptions& parallel(int n = 0) {
    check(api().SetSessionExecutionMode(get(), ORT_PARALLEL));
    return done(api().SetInterOpNumThreads(get(), n));
  }
  SessionOptions& optimization(GraphOptimizationLevel level) {
    return done(api().SetSessionGraphOptimizationLevel(get(), level));
  }
  SessionOptions& config(const char* key, const char* value) {
    return done(api().AddSessionConfigEntry(get(), key, value));
  }
  /// Gives a free dimension of the model a fixed extent.
  SessionOptions& dimension(const char* name, int64_t extent) {
    return done(api().AddFreeDimensionOverrideByName(get(), name, extent));
  }
  SessionOptions& profile(const char* file_prefix) { return done(api().EnableProfiling(get(), file_prefix)); }
  SessionOptions& log_level(OrtLoggingLevel level) { return done(api().SetSessionLogSeverityLevel(get(), level)); }
  SessionOptions& save_optimized(const char* file) { return done(api().SetOptimizedModelFilePath(get(), file)); }
  /// Fixes all dimensions with this denotation (for example "DATA_BATCH"), whatever their names are.
  SessionOptions& denoted_dimension(const char* denotation, int64_t extent) {
    return done(api().AddFreeDimensionOverride(get(), denotation, extent));
  }
  /// Replaces the value of an initializer, which several sessions may share. Value and memory must outlive the
  /// sessions.
  SessionOptions& initializer(const char* name, const OrtValue* value) {
    return done(api().AddInitializer(get(), name, value));
  }
  /// Gives the initializers that the model stores elsewhere; their memory must outlive the sessions.
  SessionOptions& external_initializers(std::span<const char* const> names, std::span<const OrtValue* const> values) {
    if (names.size() != values.size()) throw Error(ORT_INVALID_ARGUMENT, "each initializer needs one name");
    return done(api().AddExternalInitializers(get(), names.data(), values.data(), names.size()));
  }
  /// Adds the operators of a library that exports RegisterCustomOps; it stays loaded as long as sessions need it.
  SessionOptions& operators(const std::filesystem::path& library) {
    return done(api().RegisterCustomOpsLibrary_V2(get(), library.c_str()));
  }
  /// Providers choose nodes in the order of these calls; the CPU takes the rest.
  SessionOptions& provider(const char* name, const std::vector<std::pair<std::string, std::string>>& options = {}) {
    std::vector<const char*> keys, values;
    for (const auto& [key, value] : options) {
      keys.push_back(key.c_str());
      values.push_back(value.c_str());
    }
    return done(api().SessionOptionsAppendExecutionProvider(get(), name, keys.data(), values.data(), keys.size()));
  }
  /// Adds the provider of these devices, which must all have the same one; since 1.22.
  SessionOptions& devices(const Env& env, std::span<const EpDevice> devices,
                          const std::vector<std::pair<std::string, std::string>>& options = {}) {
    Library::need(22, "choosing devices");
    std::vector<const OrtEpDevice*> all(devices.begin(), devices.end());
    std::vector<const char*> keys, values;
    for (const auto& [key, value] : options) {
      keys.push_back(key.c_str());
      values.push_back(value.c_str());
    }
    return done(api().SessionOptionsAppendExecutionProvider_V2(get(), env, all.data(), all.size(), keys.data(),
                                                               values.data(), keys.size()));
  }
  /// Lets the library choose devices, unless the program names some. PREFER_GPU takes a GPU that has a provider,
  /// otherwise the processor; since 1.22.
  SessionOptions& policy(OrtExecutionProviderDevicePolicy policy) {
    Library::need(22, "a policy of selection");
    return done(api().SessionOptionsSetEpSelectionPolicy(get(), policy));
  }
  /// Lets the program choose: when a session is created, choose(devices) returns the devices to use, best first.
  /// `choose` must live until then; an exception that it throws becomes the session's error. Since 1.22.
  template <typename Choose>
  requires std::is_invocable_r_v<std::vector<EpDevice>, Choose&, const std::vector<EpDevice>&> SessionOptions& policy(
      Choose& choose) {
    Library::need(22, "a policy of selection");
    return done(api().SessionOptionsSetEpSelectionPolicyDelegate(
        get(), chosen_by<Choose>, const_cast<std::remove_const_t<Choose>*>(std::addressof(choose))));
  }
  /// The value that config() set for that key, if any.
  std::optional<std::string> config(const char* key) const {
    int has = 0;
    check(api().HasSessionConfigEntry(get(), key, &has));
    if (!has) return std::nullopt;
    size_t size = 0;  // counts the terminator
    check(api().GetSessionConfigEntry(get(), key, nullptr, &size));
    std::string text(size, 0);
    check(api().GetSessionConfigEntry(get(), key, text.data(), &size));
    text.resize(size ? size - 1 : 0);
    return text;
  }

 private:
  template <typename Choose>
  static OrtStatus* ORT_API_CALL chosen_by(const OrtEpDevice** devices, size_t n, const OrtKeyValuePairs*,
                                           const OrtKeyValuePairs*, const OrtEpDevice** selected, size_t room,
                                           size_t* count, void* choose) noexcept {
    try {
      std::vector<EpDevice> all;
      for (size_t i = 0; i < n; ++i) all.emplace_back(devices[i]);
      const std::vector<EpDevice> wanted = (*static_cast<Choose*>(choose))(std::as_const(all));
      *count = std::min(wanted.size(), room);
      for (size_t i = 0; i < *count; ++i) selected[i] = wanted[i];
      return nullptr;
    } catch (const std::exception& e) {
      return api().CreateStatus(ORT_FAIL, e.what());
    }
  }

  SessionOptions& done(OrtStatus* status) {
    check(status);
    return *this;
  }
};

/// Values for the inputs that a model leaves open (low-rank adaptation). Must outlive the runs that use it.
/// Thread-safe. Since 1.20.
class LoraAdapter : public Owner<OrtLoraAdapter, &OrtApi::ReleaseLoraAdapter> {
 public:
  /// If `memory` is an allocator of a device, the values are copied there.
  explicit LoraAdapter(const std::filesystem::path& file, OrtAllocator* memory = nullptr) {
    Library::need(20, "an adapter");
    check(api().CreateLoraAdapter(file.c_str(), memory, out()));
  }
  /// Reads the bytes of such a file, which are copied.
  explicit LoraAdapter(std::span<const std::byte> bytes, OrtAllocator* memory = nullptr) {
    Library::need(20, "an adapter");
    check(api().CreateLoraAdapterFromArray(bytes.data(), bytes.size(), memory, out()));
  }
};

/// The options of a run. They must outlive the runs that use them; several runs may use them at once.
class RunOptions : public Owner<OrtRunOptions, &OrtApi::ReleaseRunOptions> {
 public:
  RunOptions() { check(api().CreateRunOptions(out())); }
  RunOptions& tag(const char* text) {
    check(api().RunOptionsSetRunTag(get(), text));
    return *this;
  }
  RunOptions& config(const char* key, const char* value) {
    check(api().AddRunConfigEntry(get(), key, value));
    return *this;
  }
  /// Adds the values of this adapter to the inputs of the runs.
  RunOptions& adapter(const LoraAdapter& adapter) {
    Library::need(20, "an adapter");
    check(api().RunOptionsAddActiveLoraAdapter(get(), adapter));
    return *this;
  }
  /// Queues the runs on this stream of their device; it must outlive them. Since 1.24.
  RunOptions& stream(const SyncStream& stream) {
    Library::need(24, "a stream for runs");
    api().RunOptionsSetSyncStream(get(), stream);
    return *this;
  }
  /// Ends the runs that use these options with an error. May be called from any thread.
  void terminate() { check(api().RunOptionsSetTerminate(get())); }
  void reset() { check(api().RunOptionsUnsetTerminate(get())); }
};

}  // namespace retort::api
