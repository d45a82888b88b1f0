// The library behind the wrapper, errors, owners of handles; part of retort.hpp.
#pragma once
#include <dlfcn.h>

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <initializer_list>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>

#include "../onnxruntime_c_api.h"

namespace retort::api {

/// A status of the C interface other than success.
class Error : public std::runtime_error {
 public:
  Error(OrtErrorCode code, const std::string& message) : std::runtime_error(message), code_(code) {}
  OrtErrorCode code() const noexcept { return code_; }

 private:
  OrtErrorCode code_;
};

/// The library that the wrapper calls; chosen once in a process.
class Library {
 public:
  /// The function table of version version() or newer.
  static const OrtApi& api() { return *get().api; }
  /// The smaller of the library's version and ORT_API_VERSION; functions that were added later must not be called.
  static uint32_t version() { return get().version; }
  /// For example "1.31.1".
  static std::string version_string() { return get().base->GetVersionString(); }
  /// Opens this library, in place of the automatic choice. Call it before everything else; a second library is an
  /// error.
  static void load(const std::filesystem::path& file) { set(open(file.c_str())); }
  /// Throws ORT_NOT_IMPLEMENTED if the library is older than `version`.
  static void need(uint32_t version, const char* what) {
    if (Library::version() < version) {
      throw Error(ORT_NOT_IMPLEMENTED, std::string(what) + " needs a library of version 1." + std::to_string(version));
    }
  }

 private:
  struct State {
    const OrtApiBase* base;
    const OrtApi* api;
    uint32_t version;
  };
  static inline std::atomic<const State*> state_{nullptr};

  static const State& get() {
    const State* state = state_.load(std::memory_order_acquire);
    if (!state) {
      set(find());
      state = state_.load(std::memory_order_acquire);
    }
    return *state;
  }

  static void set(const OrtApiBase* base) {
    // A library logs an error when a newer version than its own is requested, so its version is read first.
    const char* text = std::strchr(base->GetVersionString(), '.');
    const auto minor = text ? uint32_t(std::atoi(text + 1)) : 1u;
    const uint32_t version = minor < ORT_API_VERSION ? minor : uint32_t(ORT_API_VERSION);
    auto state = std::make_unique<State>(State{base, base->GetApi(version), version});
    if (!state->api) throw Error(ORT_FAIL, "the library has no interface of version " + std::to_string(version));
    const State* before = nullptr;
    if (state_.compare_exchange_strong(before, state.get(), std::memory_order_acq_rel)) {
      state.release();  // lives as long as the process
    } else if (before->base != base) {
      throw Error(ORT_FAIL, "another library is in use already");
    }
  }

  static const OrtApiBase* find() {
    if (const char* file = std::getenv("RETORT_LIBRARY"); file && *file) return open(file);
#ifdef RETORT_API_DLOPEN
    try {
      return open("libretort.so.1");
    } catch (const Error&) {
      return open("libonnxruntime.so.1");
    }
#else
    return OrtGetApiBase();
#endif
  }

  static const OrtApiBase* open(const char* file) {
    void* library = dlopen(file, RTLD_NOW | RTLD_LOCAL);
    if (!library) throw Error(ORT_NO_SUCHFILE, dlerror());
    const auto base = reinterpret_cast<decltype(&OrtGetApiBase)>(dlsym(library, "OrtGetApiBase"));
    if (!base) throw Error(ORT_FAIL, std::string(file) + " has no OrtGetApiBase");
    return base();
  }
};

inline const OrtApi& api() { return Library::api(); }

/// Throws the status as an Error unless it is null, and releases it.
inline void check(OrtStatus* status) {
  if (!status) [[likely]]
    return;
  Error error(api().GetErrorCode(status), api().GetErrorMessage(status));
  api().ReleaseStatus(status);
  throw error;
}

/// Owns a handle; converts to the pointer that the C interface takes.
template <typename T, auto kRelease>
class Owner {
 public:
  Owner() = default;
  explicit Owner(T* handle) noexcept : handle_(handle) {}
  Owner(Owner&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  Owner& operator=(Owner&& other) noexcept {
    std::swap(handle_, other.handle_);
    return *this;
  }
  ~Owner() {
    if (handle_) (api().*kRelease)(handle_);
  }
  T* get() const noexcept { return handle_; }
  operator T*() const noexcept { return handle_; }  // NOLINT: implicit, for calls in C style
  /// Returns the handle; the caller owns it from now on.
  T* release() noexcept { return std::exchange(handle_, nullptr); }

 protected:
  /// The address of the handle, for Create functions to write to.
  T** out() noexcept { return &handle_; }

 private:
  T* handle_ = nullptr;
};

/// Pairs of key and value for the C interface; since 1.22.
class KeyValues : public Owner<OrtKeyValuePairs, &OrtApi::ReleaseKeyValuePairs> {
 public:
  KeyValues(std::initializer_list<std::pair<const char*, const char*>> entries = {}) {
    Library::need(22, "a list of keys and values");
    api().CreateKeyValuePairs(out());
    for (const auto& [key, value] : entries) set(key, value);
  }
  /// Takes ownership of a list that the C interface returned.
  explicit KeyValues(OrtKeyValuePairs* handle) noexcept : Owner(handle) {}
  /// Adds or replaces a pair; both texts are copied.
  void set(const char* key, const char* value) { api().AddKeyValuePair(get(), key, value); }

  /// The pairs of any such list; null counts as empty.
  static std::map<std::string, std::string> read(const OrtKeyValuePairs* list) {
    const char *const *keys = nullptr, *const *values = nullptr;
    size_t n = 0;
    if (list) api().GetKeyValuePairs(list, &keys, &values, &n);
    std::map<std::string, std::string> all;
    for (size_t i = 0; i < n; ++i) all.emplace(keys[i], values[i]);
    return all;
  }
  std::map<std::string, std::string> entries() const { return read(get()); }
};

/// The process's environment. Several owners share the same one; only the arguments of the first one count.
class Env : public Owner<OrtEnv, &OrtApi::ReleaseEnv> {
 public:
  explicit Env(OrtLoggingLevel level = ORT_LOGGING_LEVEL_WARNING, const char* id = "retort") {
    check(api().CreateEnv(level, id, out()));
  }
  /// `log` is called from any thread, with `param`, until the last owner is destroyed.
  Env(OrtLoggingLevel level, const char* id, OrtLoggingFunction log, void* param) {
    check(api().CreateEnvWithCustomLogger(log, param, level, id, out()));
  }
  /// With entries of configuration, for example "retort.discover_vulkan"; since 1.24.
  Env(OrtLoggingLevel level, const char* id, const KeyValues& config) {
    Library::need(24, "an environment with entries of configuration");
    OrtEnvCreationOptions options = {};
    options.version = Library::version();
    options.logging_severity_level = int32_t(level);
    options.log_id = id;
    options.config_entries = config;
    check(api().CreateEnvWithOptions(&options, out()));
  }
};

}  // namespace retort::api
