/* Shared by all C programs here: finds the interface, and ends the program with a message if a call fails. */
#ifndef CHECK_H
#define CHECK_H
#include <retort/onnxruntime_c_api.h>
#include <stdio.h>
#include <stdlib.h>

static const OrtApi* api; /* set by start() */

/* The caller owns the status; a program that continues after an error must release it. */
static inline void check(OrtStatus* status) {
  if (!status) return;
  fprintf(stderr, "error %d: %s\n", (int)api->GetErrorCode(status), api->GetErrorMessage(status));
  api->ReleaseStatus(status);
  exit(1);
}

static inline OrtEnv* start(void) {
  OrtEnv* env = NULL;
  api = OrtGetApiBase()->GetApi(ORT_API_VERSION); /* null if the library is older than the header */
  if (!api) exit(1);
  check(api->CreateEnv(ORT_LOGGING_LEVEL_WARNING, "io_binding", &env));
  return env;
}

/* The same with a configuration entry. */
static inline OrtEnv* start_with(const char* key, const char* value) {
  OrtEnvCreationOptions options = {0};
  OrtKeyValuePairs* entries = NULL;
  OrtEnv* env = NULL;
  api = OrtGetApiBase()->GetApi(ORT_API_VERSION);
  if (!api) exit(1);
  api->CreateKeyValuePairs(&entries);
  api->AddKeyValuePair(entries, key, value);
  options.version = ORT_API_VERSION;
  options.logging_severity_level = ORT_LOGGING_LEVEL_WARNING;
  options.log_id = "io_binding";
  options.config_entries = entries;
  check(api->CreateEnvWithOptions(&options, &env));
  api->ReleaseKeyValuePairs(entries);
  return env;
}

/* Creates a session with default options, or with the given ones. */
static inline OrtSession* open_model(const OrtEnv* env, const char* path, const OrtSessionOptions* options) {
  OrtSessionOptions* own = NULL;
  OrtSession* session = NULL;
  if (!options) check(api->CreateSessionOptions(&own));
  check(api->CreateSession(env, path, options ? options : own, &session));
  api->ReleaseSessionOptions(own);
  return session;
}

/* Makes a tensor in memory of the program. */
static inline OrtValue* wrap(void* data, size_t bytes, const int64_t* shape, size_t rank,
                             ONNXTensorElementDataType type) {
  OrtMemoryInfo* host = NULL;
  OrtValue* value = NULL;
  check(api->CreateCpuMemoryInfo(OrtDeviceAllocator, OrtMemTypeDefault, &host));
  check(api->CreateTensorWithDataAsOrtValue(host, data, bytes, shape, rank, type, &value));
  api->ReleaseMemoryInfo(host);
  return value;
}

static inline const char* argument(int argc, char** argv) {
  if (argc < 2) {
    fprintf(stderr, "usage: %s MODEL\n", argv[0]);
    exit(2);
  }
  return argv[1];
}

#endif
