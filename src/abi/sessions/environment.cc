#include "abi/sessions/environment.h"

#include <mutex>

#include "abi/devices/devices.h"
#include "abi/sessions/threads.h"
#include "abi/slots.h"
#include "ep/hardware.h"
#include "ops/external.h"

namespace retort::abi {
namespace {

struct Process {
  std::mutex mutex;
  OrtEnv* env = nullptr;
};
// Never destroyed: clients release environments from their own destructors, in any order.
Process& process() {
  static Process& p = *new Process;
  return p;
}

/// The arguments in which the variants of CreateEnv differ.
struct EnvRequest {
  OrtLoggingLevel level;
  const char* id;
  OrtLoggingFunction log = nullptr;
  void* log_param = nullptr;
  const OrtThreadingOptions* threads = nullptr;
  const OrtKeyValuePairs* config = nullptr;
};

EnvironmentOptions options_of(const EnvRequest& request) {
  EnvironmentOptions options{
      Logger(LogLevel(request.level), need_text(request.id, "logid"), sink_of(request.log, request.log_param)), {}, {}};
  if (request.threads) {
    const OrtThreadingOptions& threads = handle(request.threads, "tp_options");
    options.threads = threads.settings;
    options.threads->create_thread = threads.custom.hook();
  }
  if (request.config) options.config = handle(request.config, "config_entries").entries();
  if (const auto entry = options.config.find(kVirtualDevices); entry != options.config.end())
    virtual_devices(entry->second);  // throws if the declaration is invalid
  return options;
}

/// Returns the environment of the process; only the first call uses the arguments.
void open(const EnvRequest& request, OrtEnv** out) {
  need(out, "out");
  Process& p = process();
  const std::lock_guard lock(p.mutex);
  if (!p.env) {
    auto env = std::make_unique<OrtEnv>();
    env->environment = std::make_shared<Environment>(options_of(request));
    p.env = env.release();
  }
  ++p.env->references;
  *out = p.env;
}

}  // namespace

OrtEnv* current_environment() {
  Process& p = process();
  const std::lock_guard lock(p.mutex);
  return p.env;
}

Logger::Sink sink_of(OrtLoggingFunction function, void* param) {
  if (!function) return {};
  return [function, param](LogLevel level, std::string_view category, std::string_view id, std::string_view where,
                           std::string_view message) {
    function(param, OrtLoggingLevel(level), std::string(category).c_str(), std::string(id).c_str(),
             std::string(where).c_str(), std::string(message).c_str());
  };
}

OrtStatusPtr ORT_API_CALL CreateEnv(OrtLoggingLevel log_severity_level, const char* logid, OrtEnv** out) noexcept {
  return guard([&] { open({log_severity_level, logid}, out); });
}

OrtStatusPtr ORT_API_CALL CreateEnvWithCustomLogger(OrtLoggingFunction logging_function, void* logger_param,
                                                    OrtLoggingLevel log_severity_level, const char* logid,
                                                    OrtEnv** out) noexcept {
  return guard([&] { open({log_severity_level, logid, logging_function, logger_param}, out); });
}

OrtStatusPtr ORT_API_CALL CreateEnvWithGlobalThreadPools(OrtLoggingLevel log_severity_level, const char* logid,
                                                         const OrtThreadingOptions* tp_options, OrtEnv** out) noexcept {
  return guard([&] { open({log_severity_level, logid, nullptr, nullptr, tp_options}, out); });
}

OrtStatusPtr ORT_API_CALL CreateEnvWithCustomLoggerAndGlobalThreadPools(
    OrtLoggingFunction logging_function, void* logger_param, OrtLoggingLevel log_severity_level, const char* logid,
    const OrtThreadingOptions* tp_options, OrtEnv** out) noexcept {
  return guard([&] { open({log_severity_level, logid, logging_function, logger_param, tp_options}, out); });
}

OrtStatusPtr ORT_API_CALL CreateEnvWithOptions(const OrtEnvCreationOptions* options, OrtEnv** out) noexcept {
  return guard([&] {
    const OrtEnvCreationOptions& o = need(options, "options");
    require(o.version > 0, ErrorCode::invalid_argument, "OrtEnvCreationOptions.version is 0, not ORT_API_VERSION");
    need_text(o.log_id, "options.log_id");
    require(
        o.logging_severity_level >= ORT_LOGGING_LEVEL_VERBOSE && o.logging_severity_level <= ORT_LOGGING_LEVEL_FATAL,
        ErrorCode::invalid_argument, "severity level {} does not exist", o.logging_severity_level);
    open({OrtLoggingLevel(o.logging_severity_level), o.log_id, o.custom_logging_function, o.custom_logging_param,
          o.threading_options, o.config_entries},
         out);
  });
}

void ORT_API_CALL ReleaseEnv(OrtEnv* input) noexcept {
  if (!input) return;
  Process& p = process();
  OrtEnv* last = nullptr;
  {
    const std::lock_guard lock(p.mutex);
    if (input != p.env || --p.env->references > 0) return;
    last = std::exchange(p.env, nullptr);
  }
  delete last;  // outside the lock: its threads may still log
}

OrtStatusPtr ORT_API_CALL UpdateEnvWithCustomLogLevel(OrtEnv* ort_env, OrtLoggingLevel log_severity_level) noexcept {
  return guard([&] { handle(ort_env, "ort_env").environment->set_log_level(LogLevel(log_severity_level)); });
}

// The library sends no telemetry, so there is nothing to switch.
OrtStatusPtr ORT_API_CALL EnableTelemetryEvents(const OrtEnv*) noexcept { return nullptr; }
OrtStatusPtr ORT_API_CALL DisableTelemetryEvents(const OrtEnv*) noexcept { return nullptr; }
OrtStatusPtr ORT_API_CALL SetLanguageProjection(const OrtEnv*, OrtLanguageProjection) noexcept { return nullptr; }

OrtStatusPtr ORT_API_CALL RegisterAllocator(OrtEnv* env, OrtAllocator* allocator) noexcept {
  return guard([&] {
    OrtEnv& e = handle(env, "env");
    const OrtMemoryInfo* info = need(need(allocator, "allocator").Info, "allocator.Info")(allocator);
    const MemorySpace& space = handle(info, "allocator.Info()").space;
    if (space == MemorySpace{})
      e.environment->share_memory(std::make_shared<CountedMemory>(0, callers_memory(*allocator)));
    e.allocators.set(space, allocator);
  });
}

OrtStatusPtr ORT_API_CALL UnregisterAllocator(OrtEnv* env, const OrtMemoryInfo* mem_info) noexcept {
  return guard([&] {
    const OrtMemoryInfo& info = handle(mem_info, "mem_info");
    OrtEnv& e = handle(env, "env");
    require(e.allocators.remove(info.space), ErrorCode::invalid_argument, "no allocator is registered for memory '{}'",
            info.name);
    if (info.space == MemorySpace{}) e.environment->share_memory(nullptr);
  });
}

OrtStatusPtr ORT_API_CALL GetSharedAllocator(OrtEnv* env, const OrtMemoryInfo* mem_info,
                                             OrtAllocator** allocator) noexcept {
  return guard([&] {
    need(allocator, "allocator");
    *allocator = handle(env, "env").allocators.find(handle(mem_info, "mem_info").space);
  });
}

OrtStatusPtr ORT_API_CALL CreateAndRegisterAllocator(OrtEnv* env, const OrtMemoryInfo* mem_info,
                                                     const OrtArenaCfg* arena_cfg) noexcept {
  return guard([&] {
    const OrtMemoryInfo& info = handle(mem_info, "mem_info");
    OrtEnv& e = handle(env, "env");
    const size_t limit = arena_cfg ? handle(arena_cfg, "arena_cfg").max_mem : 0;
    require(info.space.device == DeviceType::cpu, ErrorCode::invalid_argument,
            "memory '{}' is not host memory: its provider registers the allocator", info.name);
    e.allocators.set_arena(info.space);
    if (info.space == MemorySpace{}) e.environment->share_memory(std::make_shared<CountedMemory>(limit));
  });
}

OrtStatusPtr ORT_API_CALL CreateAndRegisterAllocatorV2(OrtEnv* env, const char* provider_type,
                                                       const OrtMemoryInfo* mem_info, const OrtArenaCfg* arena_cfg,
                                                       const char* const*, const char* const*, size_t) noexcept {
  return guard([&]() -> OrtStatusPtr {
    const std::string provider = need_text(provider_type, "provider_type");
    require(provider == kCpuProvider, ErrorCode::invalid_argument,
            "provider '{}' does not register allocators in this way; create a shared allocator of its device",
            provider);
    return CreateAndRegisterAllocator(env, mem_info, arena_cfg);
  });
}

OrtStatusPtr ORT_API_CALL Logger_LogMessage(const OrtLogger* logger, OrtLoggingLevel log_severity_level,
                                            const char* message, const char* file_path, int line_number,
                                            const char* func_name) noexcept {
  return guard([&] {
    std::string_view file = file_path ? file_path : "";
    file.remove_prefix(file.rfind('/') + 1);  // npos + 1 is 0
    const std::string where = cat("{}:{} {}", file, line_number, func_name ? func_name : "");
    handle(logger, "logger").logger.write(LogLevel(log_severity_level), need_text(message, "message"), where);
  });
}

OrtStatusPtr ORT_API_CALL Logger_GetLoggingSeverityLevel(const OrtLogger* logger, OrtLoggingLevel* out) noexcept {
  return guard([&] { need(out, "out") = OrtLoggingLevel(handle(logger, "logger").logger.level()); });
}

namespace ep_api {

OrtStatusPtr ORT_API_CALL GetEnvConfigEntries(OrtKeyValuePairs** config_entries) noexcept {
  return guard([&] {
    Process& p = process();
    const std::lock_guard lock(p.mutex);
    require(p.env, ErrorCode::fail, "no environment exists yet");
    give(config_entries, "config_entries", std::make_unique<OrtKeyValuePairs>(p.env->environment->config()));
  });
}

}  // namespace ep_api
}  // namespace retort::abi
