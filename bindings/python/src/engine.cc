#include "engine.h"

#include <dlfcn.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <mutex>

#include "gil_lock.h"

namespace retort::python {
namespace detail {
std::atomic<const OrtApi*> table{nullptr};
}  // namespace detail

namespace {

struct Library {
  std::string path;
  std::string version;
  uint32_t api = 0;
};

std::mutex opening;
std::string package_folder;
Library library;
OrtEnv* environment = nullptr;
std::mutex making_environment;
EnvMaker env_maker = nullptr;

std::string path_to_open() {
  const char* chosen = std::getenv("RETORT_LIBRARY");
  if (chosen && *chosen) {
    return chosen;
  }
  if (package_folder.empty()) {
    throw Error(ORT_NO_SUCHFILE, "engine: no library; set RETORT_LIBRARY to the path of libretort.so.1");
  }
  return package_folder + "/libretort.so.1";
}

// "1.32.0" -> 32; 0 for other texts.
uint32_t minor_of(const char* version) {
  unsigned major = 0, minor = 0;
  return version && std::sscanf(version, "%u.%u", &major, &minor) == 2 && major == 1 ? minor : 0;
}

std::string real_path(void* symbol, const std::string& fallback) {
  Dl_info info{};
  return dladdr(symbol, &info) && info.dli_fname ? info.dli_fname : fallback;
}

Library open_library(const OrtApi*& result) {
  const std::string path = path_to_open();
  void* handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!handle) {
    const char* reason = dlerror();
    throw Error(ORT_NO_SUCHFILE, "engine: cannot open '" + path + "': " + (reason ? reason : "unknown reason") +
                                     "; set RETORT_LIBRARY to the path of libretort.so.1");
  }
  using GetBase = const OrtApiBase* (*)();
  auto get_base = reinterpret_cast<GetBase>(dlsym(handle, "OrtGetApiBase"));
  if (!get_base) {
    throw Error(ORT_FAIL, "engine: '" + path + "' has no function OrtGetApiBase; it is not an inference library");
  }
  const OrtApiBase* base = get_base();
  const uint32_t api = std::min<uint32_t>(ORT_API_VERSION, minor_of(base->GetVersionString()));
  result = api >= kOldestApi ? base->GetApi(api) : nullptr;
  if (!result) {
    throw Error(ORT_NOT_IMPLEMENTED, "engine: '" + path + "' has version " + base->GetVersionString() +
                                         " of the interface; this package needs 1." + std::to_string(kOldestApi) +
                                         " or newer");
  }
  return {real_path(reinterpret_cast<void*>(get_base), path), base->GetVersionString(), api};
}

}  // namespace

namespace detail {

const OrtApi& open_engine() {
  const std::lock_guard lock(opening);
  const OrtApi* opened = table.load(std::memory_order_relaxed);
  if (!opened) {
    library = open_library(opened);
    table.store(opened, std::memory_order_release);
  }
  return *opened;
}

void raise(OrtStatus* status) {
  const OrtErrorCode code = api().GetErrorCode(status);
  std::string message = api().GetErrorMessage(status);
  api().ReleaseStatus(status);
  throw Error(code, std::move(message));
}

}  // namespace detail

void set_package_folder(std::string folder) {
  const std::lock_guard lock(opening);
  package_folder = std::move(folder);
}

const std::string& library_path() { return api(), library.path; }
const std::string& library_version() { return api(), library.version; }
uint32_t api_version() { return api(), library.api; }
bool is_retort() { return find_retort_function("RetortDescribeModel") != nullptr; }

void needs(uint32_t version, const char* what) {
  if (api_version() < version) {
    throw Error(ORT_NOT_IMPLEMENTED, std::string(what) + ": needs version 1." + std::to_string(version) +
                                         " of the interface; '" + library_path() + "' has " + library_version());
  }
}

OrtExperimentalFnPtr find_retort_function(const char* name) {
  constexpr uint32_t kExperimental = 28;  // the version that has GetExperimentalFunction
  return api_version() < kExperimental ? nullptr : api().GetExperimentalFunction(name);
}

OrtExperimentalFnPtr get_retort_function(const char* name, const char* what) {
  OrtExperimentalFnPtr function = find_retort_function(name);
  if (!function) {
    throw Error(ORT_NOT_IMPLEMENTED,
                std::string(what) + ": only Retort's library can do this; loaded is '" + library_path() + "'");
  }
  return function;
}

OrtEnv& env() {
  const auto lock = lock_without_gil(making_environment);
  if (!environment) {
    if (env_maker) {
      environment = env_maker();
    } else {
      check(api().CreateEnv(ORT_LOGGING_LEVEL_WARNING, "Default", &environment));
    }
  }
  return *environment;
}

bool env_exists() {
  const auto lock = lock_without_gil(making_environment);
  return environment != nullptr;
}

void set_env_maker(EnvMaker maker) {
  const auto lock = lock_without_gil(making_environment);
  env_maker = maker;
}

std::string take_text(OrtAllocator* allocator, char* text) {
  std::string copy = text ? text : "";
  if (text) {
    allocator->Free(allocator, text);
  }
  return copy;
}

OrtAllocator* default_allocator() {
  static OrtAllocator* const allocator = [] {
    OrtAllocator* found = nullptr;
    check(api().GetAllocatorWithDefaultOptions(&found));
    return found;
  }();
  return allocator;
}

}  // namespace retort::python
