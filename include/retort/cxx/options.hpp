// How sessions and runs go; part of retort.hpp.
#pragma once
#include <cstddef>
#include <functional>
#include <optional>
#include <type_traits>

#include "devices.hpp"

namespace retort::api {

/// How a session is made; copied by it.
class SessionOptions : public Owner<OrtSessionOptions, &OrtApi::ReleaseSessionOptions> {
 public:
  SessionOptions() { check(api().CreateSessionOptions(out())); }
  /// Threads inside an operator, the caller's included; 0: one per core.
  SessionOptions& threads(int n) { return done(api().SetIntraOpNumThreads(get(), n)); }
  /// Independent branches of the model run at the same time where that is sooner, on so many threads; 0: as many as
  /// inside an operator.
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
  /// A free dimension of the model that always has this extent.
  SessionOptions& dimension(const char* name, int64_t extent) {
    return done(api().AddFreeDimensionOverrideByName(get(), name, extent));
  }
  SessionOptions& profile(const char* file_prefix) { return done(api().EnableProfiling(get(), file_prefix)); }
  SessionOptions& log_level(OrtLoggingLevel level) { return done(api().SetSessionLogSeverityLevel(get(), level)); }
  SessionOptions& save_optimized(const char* file) { return done(api().SetOptimizedModelFilePath(get(), file)); }
  /// Of dimensions with this denotation ("DATA_BATCH" for one), whatever they are called.
  SessionOptions& denoted_dimension(const char* denotation, int64_t extent) {
    return done(api().AddFreeDimensionOverride(get(), denotation, extent));
  }
  /// The value of an initializer in place of the model's, for sessions to share. Value and memory must outlive them.
  SessionOptions& initializer(const char* name, const OrtValue* value) {
    return done(api().AddInitializer(get(), name, value));
  }
  /// Initializers that the model only names; their memory must outlive the sessions.
  SessionOptions& external_initializers(std::span<const char* const> names, std::span<const OrtValue* const> values) {
    if (names.size() != values.size()) throw Error(ORT_INVALID_ARGUMENT, "each initializer needs one name");
    return done(api().AddExternalInitializers(get(), names.data(), values.data(), names.size()));
  }
  /// The operators of a library that exports RegisterCustomOps; loaded as long as sessions need it.
  SessionOptions& operators(const std::filesystem::path& library) {
    return done(api().RegisterCustomOpsLibrary_V2(get(), library.c_str()));
  }
  /// Providers are asked in the order of the calls, the CPU last.
  SessionOptions& provider(const char* name, const std::vector<std::pair<std::string, std::string>>& options = {}) {
    std::vector<const char*> keys, values;
    for (const auto& [key, value] : options) {
      keys.push_back(key.c_str());
      values.push_back(value.c_str());
    }
    return done(api().SessionOptionsAppendExecutionProvider(get(), name, keys.data(), values.data(), keys.size()));
  }
  /// The provider of these devices, which must be one; since 1.22.
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
  /// The library chooses devices, where the program named none. PREFER_GPU takes a GPU where there is one with a provider,
  /// else the processor; since 1.22.
  SessionOptions& policy(OrtExecutionProviderDevicePolicy policy) {
    Library::need(22, "a policy of selection");
    return done(api().SessionOptionsSetEpSelectionPolicy(get(), policy));
  }
  /// The program chooses: choose(devices) answers those it wants, best first, when a session is created. `choose` must
  /// live until then; what it throws is the error of that session. Since 1.22.
  template <typename Choose>
  requires std::is_invocable_r_v<std::vector<EpDevice>, Choose&, const std::vector<EpDevice>&> SessionOptions& policy(
      Choose& choose) {
    Library::need(22, "a policy of selection");
    return done(api().SessionOptionsSetEpSelectionPolicyDelegate(
        get(), chosen_by<Choose>, const_cast<std::remove_const_t<Choose>*>(std::addressof(choose))));
  }
  /// What config() was given under that key; nothing where it was not.
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

/// Values for inputs that a model left open (low-rank adaptation). Must outlive the runs that use it; for any thread.
/// Since 1.20.
class LoraAdapter : public Owner<OrtLoraAdapter, &OrtApi::ReleaseLoraAdapter> {
 public:
  /// With an allocator of a device the values are copied there.
  explicit LoraAdapter(const std::filesystem::path& file, OrtAllocator* memory = nullptr) {
    Library::need(20, "an adapter");
    check(api().CreateLoraAdapter(file.c_str(), memory, out()));
  }
  /// From the bytes of such a file, which are copied.
  explicit LoraAdapter(std::span<const std::byte> bytes, OrtAllocator* memory = nullptr) {
    Library::need(20, "an adapter");
    check(api().CreateLoraAdapterFromArray(bytes.data(), bytes.size(), memory, out()));
  }
};

/// How runs go. Must outlive those that use it; they may be several at once.
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
  /// The values of this adapter are inputs of the runs, besides those that are bound.
  RunOptions& adapter(const LoraAdapter& adapter) {
    Library::need(20, "an adapter");
    check(api().RunOptionsAddActiveLoraAdapter(get(), adapter));
    return *this;
  }
  /// The runs work on this stream of their device; it must outlive them. Since 1.24.
  RunOptions& stream(const SyncStream& stream) {
    Library::need(24, "a stream for runs");
    api().RunOptionsSetSyncStream(get(), stream);
    return *this;
  }
  /// Ends the runs that use these options, from any thread; they fail.
  void terminate() { check(api().RunOptionsSetTerminate(get())); }
  void reset() { check(api().RunOptionsUnsetTerminate(get())); }
};

}  // namespace retort::api
