// Statuses, the environment, its loggers and thread pools.
#include <string>

#include "scene.h"

SCENE(status, codes) {
  for (int code : {0, 1, 2, 9, 15, 16, 99, -1}) {
    OrtStatus* status = s.api.CreateStatus(OrtErrorCode(code), "text");
    s.note("made", status);
    s.note("code", status ? s.api.GetErrorCode(status) : OrtErrorCode(-7));
    s.note("message", status ? s.api.GetErrorMessage(status) : nullptr);
    s.api.ReleaseStatus(status);
  }
}

SCENE(status, empty_message) {
  OrtStatus* status = s.api.CreateStatus(ORT_FAIL, "");
  s.note("message", s.api.GetErrorMessage(status));
  s.api.ReleaseStatus(status);
}

SCENE(base, versions) {
  for (uint32_t v : {0u, 1u, 2u, 10u, 20u, 31u, 32u, 33u, 1000u}) s.note("GetApi", s.base->GetApi(v));
  s.note("one table", s.base->GetApi(1) == s.base->GetApi(32));
  s.note("version", s.base->GetVersionString());
  s.note("build info", s.api.GetBuildInfoString() != nullptr);
  s.note("training", s.api.GetTrainingApi(32));
  s.note("editor", s.api.GetModelEditorApi());
  s.note("compile", s.api.GetCompileApi());
  s.note("ep", s.api.GetEpApi());
  s.note("interop", s.api.GetInteropApi());
  s.note("package", s.api.GetModelPackageApi());
}

SCENE(base, experimental_functions) {
  s.note("unknown", s.api.GetExperimentalFunction("unknown") != nullptr);
  s.note("another version", s.api.GetExperimentalFunction("OrtApi_ExperimentalApiTest_SinceV29") != nullptr);
  using Test = OrtStatusPtr(ORT_API_CALL*)(int64_t*);
  const auto test = reinterpret_cast<Test>(s.api.GetExperimentalFunction("OrtApi_ExperimentalApiTest_SinceV28"));
  s.note("test", test != nullptr);
  if (!test) return;
  int64_t number = 0;
  s.call("test", test(&number));
  s.note("number", number);
}

SCENE(env, one_per_process) {
  OrtEnv *first = nullptr, *second = nullptr, *third = nullptr;
  CALL(CreateEnv, ORT_LOGGING_LEVEL_ERROR, "first", &first);
  CALL(CreateEnv, ORT_LOGGING_LEVEL_VERBOSE, "second", &second);
  s.note("same", first == second);
  s.api.ReleaseEnv(second);
  CALL(CreateEnv, ORT_LOGGING_LEVEL_ERROR, "third", &third);
  s.note("same again", first == third);
  s.api.ReleaseEnv(third);
  s.api.ReleaseEnv(first);
  s.api.ReleaseEnv(nullptr);
}

SCENE(env, null_id) {
  OrtEnv* env = nullptr;
  CALL(CreateEnv, ORT_LOGGING_LEVEL_ERROR, nullptr, &env);
  s.note("env", env);
}

SCENE(env, empty_id) {
  OrtEnv* env = nullptr;
  CALL(CreateEnv, ORT_LOGGING_LEVEL_ERROR, "", &env);
  s.note("env", env);
}

SCENE(env, strange_levels) {
  for (int level : {-1, 5, 77}) {
    OrtEnv* env = nullptr;
    CALL(CreateEnv, OrtLoggingLevel(level), "x", &env);
    s.note("env", env);
    if (env) s.api.ReleaseEnv(env);
  }
}

SCENE(env, settings) {
  OrtEnv* env = s.env();
  CALL(EnableTelemetryEvents, env);
  CALL(DisableTelemetryEvents, env);
  for (int p : {0, 1, 6, 7, -1}) CALL(SetLanguageProjection, env, OrtLanguageProjection(p));
  for (int level : {0, 4, 5, -1}) CALL(UpdateEnvWithCustomLogLevel, env, OrtLoggingLevel(level));
}

namespace {
struct Log {
  int calls = 0;
  std::string id;
};
void ORT_API_CALL count(void* param, OrtLoggingLevel, const char*, const char* id, const char*, const char*) {
  auto& log = *static_cast<Log*>(param);
  ++log.calls;
  log.id = id ? id : "null";
}
}  // namespace

SCENE(env, custom_logger) {
  Log log, other;
  OrtEnv *env = nullptr, *again = nullptr;
  CALL(CreateEnvWithCustomLogger, count, &log, ORT_LOGGING_LEVEL_VERBOSE, "mine", &env);
  CALL(CreateEnvWithCustomLogger, count, &other, ORT_LOGGING_LEVEL_VERBOSE, "other", &again);
  s.note("same", env == again);
  OrtSession* session = nullptr;
  CALL(CreateSession, env, "/does/not/exist.onnx", nullptr, &session);
  s.note("other was called", other.calls != 0);
}

SCENE(env, custom_logger_null_function) {
  OrtEnv* env = nullptr;
  CALL(CreateEnvWithCustomLogger, nullptr, nullptr, ORT_LOGGING_LEVEL_ERROR, "mine", &env);
  s.note("env", env);
}

SCENE(env, with_options) {
  OrtEnvCreationOptions options = {};
  OrtEnv* env = nullptr;
  CALL(CreateEnvWithOptions, &options, &env);
  s.note("env, version 0", env);
  options.version = 1000;
  CALL(CreateEnvWithOptions, &options, &env);
  s.note("env, version 1000", env);
  options.version = ORT_API_VERSION;
  CALL(CreateEnvWithOptions, &options, &env);
  s.note("env, no id", env);
  options.log_id = "id";
  options.logging_severity_level = 3;
  CALL(CreateEnvWithOptions, &options, &env);
  s.note("env", env);
  options.logging_severity_level = 42;
  CALL(CreateEnvWithOptions, &options, &env);
  s.note("env, level 42", env);
}

SCENE(env, with_config_entries) {
  OrtKeyValuePairs *pairs = nullptr, *read = nullptr;
  s.api.CreateKeyValuePairs(&pairs);
  s.api.AddKeyValuePair(pairs, "allow_virtual_devices", "1");
  s.api.AddKeyValuePair(pairs, "ep.mine.key", "value");
  OrtEnvCreationOptions options = {};
  options.version = ORT_API_VERSION;
  options.log_id = "id";
  options.logging_severity_level = 3;
  options.config_entries = pairs;
  OrtEnv* env = nullptr;
  CALL(CreateEnvWithOptions, &options, &env);
  s.api.ReleaseKeyValuePairs(pairs);
  s.call("GetEnvConfigEntries", s.api.GetEpApi()->GetEnvConfigEntries(&read));
  s.note("entry", s.api.GetKeyValue(read, "ep.mine.key"));
  s.note("missing", s.api.GetKeyValue(read, "ep.mine.other"));
  s.api.ReleaseKeyValuePairs(read);
}

SCENE(env, config_entries_without_env) {
  OrtKeyValuePairs* read = nullptr;
  s.call("GetEnvConfigEntries", s.api.GetEpApi()->GetEnvConfigEntries(&read));
  s.note("read", read);
}

SCENE(env, global_pools) {
  OrtThreadingOptions* threads = nullptr;
  CALL(CreateThreadingOptions, &threads);
  for (int n : {0, 1, 4, -1, -7}) CALL(SetGlobalIntraOpNumThreads, threads, n);
  for (int n : {0, 1, -1}) CALL(SetGlobalInterOpNumThreads, threads, n);
  for (int n : {0, 1, 2, -1}) CALL(SetGlobalSpinControl, threads, n);
  CALL(SetGlobalDenormalAsZero, threads);
  CALL(SetGlobalIntraOpThreadAffinity, threads, "1");
  CALL(SetGlobalIntraOpThreadAffinity, threads, "");
  CALL(SetGlobalIntraOpThreadAffinity, threads, "nonsense;;");
  CALL(SetGlobalIntraOpThreadAffinity, threads, std::string(3000, '1').c_str());
  CALL(SetGlobalCustomCreateThreadFn, threads, nullptr);
  CALL(SetGlobalCustomThreadCreationOptions, threads, nullptr);
  CALL(SetGlobalCustomJoinThreadFn, threads, nullptr);
  s.api.ReleaseThreadingOptions(threads);
  CALL(CreateThreadingOptions, &threads);
  CALL(SetGlobalIntraOpNumThreads, threads, 1);
  OrtEnv* env = nullptr;
  CALL(CreateEnvWithGlobalThreadPools, ORT_LOGGING_LEVEL_ERROR, "pools", threads, &env);
  s.note("env", env);
  s.api.ReleaseThreadingOptions(threads);
  s.api.ReleaseThreadingOptions(nullptr);
}

SCENE(env, global_pools_need_options) {
  OrtEnv* env = nullptr;
  CALL(CreateEnvWithGlobalThreadPools, ORT_LOGGING_LEVEL_ERROR, "pools", nullptr, &env);
  s.note("env", env);
}

SCENE(env, create_thread_without_join) {
  OrtThreadingOptions* threads = nullptr;
  CALL(CreateThreadingOptions, &threads);
  CALL(SetGlobalIntraOpNumThreads, threads, 3);
  CALL(SetGlobalCustomCreateThreadFn, threads,
       [](void*, OrtThreadWorkerFn, void*) -> OrtCustomThreadHandle { return nullptr; });
  OrtEnv* env = nullptr;
  CALL(CreateEnvWithGlobalThreadPools, ORT_LOGGING_LEVEL_ERROR, "pools", threads, &env);
  s.note("env", env);
}

SCENE(env, providers) {
  char** names = nullptr;
  int count = -7;
  CALL(GetAvailableProviders, &names, &count);
  bool cpu_last = count > 0 && std::string(names[count - 1]) == "CPUExecutionProvider";
  s.note("CPU is last", cpu_last);
  CALL(ReleaseAvailableProviders, names, count);
}

SCENE(env, execution_provider_api) {
  const void* api = nullptr;
  CALL(GetExecutionProviderApi, "DML", ORT_API_VERSION, &api);
  CALL(GetExecutionProviderApi, "unknown", ORT_API_VERSION, &api);
  s.note("api", api);
  int device = -7;
  CALL(GetCurrentGpuDeviceId, &device);
  s.note("device", device);
  CALL(SetCurrentGpuDeviceId, 0);
}
