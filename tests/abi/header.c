/* How C programs use the interface; compiling this as pedantic C99 is the test. */
#include <onnxruntime_c_api.h>

#include <stdio.h>

static int fails(const OrtApi* api, OrtStatus* status) {
  if (status == NULL) return 0;
  fprintf(stderr, "%d: %s\n", (int)api->GetErrorCode(status), api->GetErrorMessage(status));
  api->ReleaseStatus(status);
  return 1;
}

static void ORT_API_CALL log_line(void* param, OrtLoggingLevel severity, const char* category, const char* logid,
                                  const char* code_location, const char* message) {
  (void)category, (void)logid, (void)code_location;
  fprintf((FILE*)param, "%d %s\n", (int)severity, message);
}

int run_model(const ORTCHAR_T* path, float* data, size_t count);

int run_model(const ORTCHAR_T* path, float* data, size_t count) {
  const OrtApi* api = OrtGetApiBase()->GetApi(ORT_API_VERSION);
  OrtEnv* env = NULL;
  OrtSessionOptions* options = NULL;
  OrtSession* session = NULL;
  OrtMemoryInfo* memory = NULL;
  OrtValue *input = NULL, *output = NULL;
  const int64_t shape[2] = {1, (int64_t)count};
  const char *const inputs[] = {"x"}, *const outputs[] = {"y"};
  int bad;
  if (api == NULL) return 1;
  bad = fails(api, api->CreateEnvWithCustomLogger(log_line, stderr, ORT_LOGGING_LEVEL_WARNING, "c", &env)) ||
        fails(api, api->CreateSessionOptions(&options)) ||
        fails(api, OrtSessionOptionsAppendExecutionProvider_CPU(options, 1)) ||
        fails(api, api->CreateSession(env, path, options, &session)) ||
        fails(api, api->CreateCpuMemoryInfo(OrtArenaAllocator, OrtMemTypeDefault, &memory)) ||
        fails(api, api->CreateTensorWithDataAsOrtValue(memory, data, count * sizeof(float), shape, 2,
                                                       ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT, &input)) ||
        fails(api, api->Run(session, NULL, inputs, (const OrtValue* const*)&input, 1, outputs, 1, &output));
  api->ReleaseValue(output);
  api->ReleaseValue(input);
  api->ReleaseMemoryInfo(memory);
  api->ReleaseSession(session);
  api->ReleaseSessionOptions(options);
  api->ReleaseEnv(env);
  return bad;
}

/* A custom operator, and the shell of a provider. */
static const char* ORT_API_CALL op_name(const struct OrtCustomOp* op) {
  (void)op;
  return "Twice";
}
static const char* ORT_API_CALL ep_name(const OrtEp* ep) {
  (void)ep;
  return "nothing";
}

const OrtCustomOp* twice(void);
const OrtCustomOp* twice(void) {
  static OrtCustomOp op;
  op.version = ORT_API_VERSION;
  op.GetName = op_name;
  return &op;
}

OrtStatus* CreateEpFactories(const char* registered_name, const OrtApiBase* base, const OrtLogger* logger,
                             OrtEpFactory** factories, size_t max_factories, size_t* num_factories);
OrtStatus* CreateEpFactories(const char* registered_name, const OrtApiBase* base, const OrtLogger* logger,
                             OrtEpFactory** factories, size_t max_factories, size_t* num_factories) {
  static OrtEp ep;
  const OrtEpApi* ep_api = base->GetApi(ORT_API_VERSION)->GetEpApi();
  ep.ort_version_supported = ORT_API_VERSION;
  ep.GetName = ep_name;
  (void)registered_name, (void)logger, (void)factories, (void)max_factories, (void)ep_api;
  (void)ep.GetName(&ep);
  *num_factories = 0;
  return NULL;
}
