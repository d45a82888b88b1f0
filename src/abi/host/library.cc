// Plug-in libraries: opened, registered with an environment, and unloaded.
#include <dlfcn.h>

#include <algorithm>
#include <deque>

#include "abi/host/plugin.h"
#include "abi/slots.h"

namespace retort::abi {
namespace {

constexpr size_t kMostFactories = 4;

/// The library behind a registered name.
struct Registration {
  std::string name;
  std::weak_ptr<EpDevices> devices;  ///< those of its environment, which may be gone
  std::vector<std::string> providers;
};

struct Registrations {
  std::mutex mutex;
  std::vector<Registration> all;
  std::deque<OrtLogger> loggers;  ///< never destroyed, since plug-ins keep pointers to theirs
  static Registrations& get() {
    static Registrations& registrations = *new Registrations;  // never destroyed: clients unregister in any order
    return registrations;
  }
  std::vector<Registration>::iterator find(const OrtEnv& env, const std::string& name) {
    return std::ranges::find_if(
        all, [&](const Registration& r) { return r.devices.lock() == env.devices && r.name == name; });
  }
};

std::vector<std::shared_ptr<Plugin>> make_plugins(const std::shared_ptr<PluginLibrary>& library,
                                                  const std::string& name, const OrtLogger& logger) {
  OrtEpFactory* made[kMostFactories] = {};
  size_t count = 0;
  call_plugin(library->callee(), "CreateEpFactories", library->create, name.c_str(), OrtGetApiBase(), &logger, made,
              kMostFactories, &count);
  require(count <= kMostFactories, ErrorCode::ep_fail, "library '{}' reported {} factories; at most {} are allowed",
          library->path(), count, kMostFactories);
  std::vector<std::shared_ptr<Plugin>> plugins;
  for (size_t i = 0; i < count; ++i) {
    require(made[i] != nullptr, ErrorCode::ep_fail, "library '{}' made {} factories, number {} is null",
            library->path(), count, i);
    plugins.push_back(std::make_shared<Plugin>(library, made[i], logger.logger));
  }
  require(!plugins.empty(), ErrorCode::ep_fail, "library '{}' has no factories", library->path());
  return plugins;
}

}  // namespace

void fail_thrown(Callee callee, const char* function) {
  try {
    throw;
  } catch (const std::exception& e) {
    fail(ErrorCode::ep_fail, "{} '{}', {} threw: {}", callee.kind, callee.name, function, e.what());
  } catch (...) {
    fail(ErrorCode::ep_fail, "{} '{}', {} threw an exception that is not a std::exception", callee.kind, callee.name,
         function);
  }
}

const Logger& unheard() {
  static const Logger& logger = *new Logger(LogLevel::warning, "");
  return logger;
}

void warn_caught(const Logger& logger) noexcept {
  try {
    throw;
  } catch (const std::exception& e) {
    try {
      logger.warn("{}; the object may not have been released", e.what());
    } catch (...) {  // log sinks are functions of callers
    }
  } catch (...) {
  }
}

void fail_status(Callee callee, const char* function, OrtStatus* status) {
  const auto code = ErrorCode(GetErrorCode(status));
  const std::string message = GetErrorMessage(status);
  ReleaseStatus(status);
  fail(code == ErrorCode::ok ? ErrorCode::ep_fail : code, "{} '{}', {}: {}", callee.kind, callee.name, function,
       message);
}

PluginLibrary::PluginLibrary(const std::string& path) : path_(path) {
  handle_ = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!handle_) fail(ErrorCode::fail, "the plug-in library '{}' cannot be opened: {}", path, dlerror());
  create = reinterpret_cast<CreateEpApiFactoriesFn>(dlsym(handle_, "CreateEpFactories"));
  release = reinterpret_cast<ReleaseEpApiFactoryFn>(dlsym(handle_, "ReleaseEpFactory"));
  if (create && release) return;
  dlclose(handle_);
  fail(ErrorCode::fail, "the library '{}' is not a plug-in: it lacks {}", path,
       create ? "ReleaseEpFactory" : "CreateEpFactories");
}

PluginLibrary::~PluginLibrary() { dlclose(handle_); }

Plugin::Plugin(std::shared_ptr<PluginLibrary> library, OrtEpFactory* factory, const Logger& logger)
    : library_(std::move(library)), factory_(factory), logger_(logger) {
  try {
    const auto ask = factory_->GetName;
    const char* name = ask ? call_plugin(library_->callee(), "GetName", ask, factory_) : nullptr;
    require(name && *name, ErrorCode::ep_fail, "a factory of the library '{}' has no name", library_->path());
    name_ = name;
  } catch (...) {
    abi::give_back(logger_, library_->callee(), "ReleaseEpFactory", library_->release, factory_);
    throw;
  }
}

Plugin::~Plugin() { give_back("ReleaseEpFactory", library_->release, factory_); }

bool Plugin::makes_streams() const {
  return since(23) && factory_->IsStreamAware && call("IsStreamAware", factory_->IsStreamAware, factory_);
}

OrtStatusPtr ORT_API_CALL RegisterExecutionProviderLibrary(OrtEnv* env, const char* registration_name,
                                                           const char* path) noexcept {
  return guard([&] {
    OrtEnv& e = handle(env, "env");
    const std::string name = need_text(registration_name, "registration_name");
    need_text(path, "path");
    Registrations& registrations = Registrations::get();
    const std::lock_guard lock(registrations.mutex);
    require(registrations.find(e, name) == registrations.all.end(), ErrorCode::fail,
            "a library is registered as '{}' already; unregister it first, or take another name", name);
    const auto library = std::make_shared<PluginLibrary>(path);
    const OrtLogger& logger = registrations.loggers.emplace_back(e.environment->logger());
    Registration made{name, e.devices, {}};
    try {
      for (const auto& plugin : make_plugins(library, name, logger)) {
        OfferedProvider provider = offered(e, plugin);
        e.devices->add(e, provider.factory, std::move(provider.devices));
        made.providers.push_back(plugin->name());
      }
    } catch (...) {
      for (const std::string& provider : made.providers) e.devices->remove(e, provider);
      throw;
    }
    registrations.all.push_back(std::move(made));
  });
}

OrtStatusPtr ORT_API_CALL UnregisterExecutionProviderLibrary(OrtEnv* env, const char* registration_name) noexcept {
  return guard([&] {
    OrtEnv& e = handle(env, "env");
    const std::string name = need_text(registration_name, "registration_name");
    Registrations& registrations = Registrations::get();
    const std::lock_guard lock(registrations.mutex);
    const auto found = registrations.find(e, name);
    require(found != registrations.all.end(), ErrorCode::fail, "no library is registered as '{}'", name);
    for (const std::string& provider : found->providers) {
      for (const OrtEpDevice* device : e.devices->of(provider)) check_unused(*device->factory);
    }
    for (const std::string& provider : found->providers) e.devices->remove(e, provider);
    registrations.all.erase(found);
  });
}

}  // namespace retort::abi
