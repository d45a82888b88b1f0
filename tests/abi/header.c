/* Uses the interface as C programs do; the test is that this compiles as pedantic C99. */
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

/* Devices, bindings and related types: one type of each kind by value, the opaque ones by pointer. */
typedef struct {
  OrtAllocator base;
  const OrtMemoryInfo* info;
} Counting;

static void* ORT_API_CALL counted(OrtAllocator* self, size_t bytes) {
  void* p = NULL;
  (void)self, (void)bytes;
  return p;
}
static OrtStatus* ORT_API_CALL choose(const OrtEpDevice** devices, size_t count, const OrtKeyValuePairs* model,
                                      const OrtKeyValuePairs* runtime, const OrtEpDevice** selected, size_t room,
                                      size_t* chosen, void* state) {
  (void)model, (void)runtime, (void)state;
  *chosen = count < room ? count : room;
  if (*chosen > 0) selected[0] = devices[0];
  return NULL;
}
static void ORT_API_CALL done(void* user, OrtValue** outputs, size_t count, OrtStatus* status) {
  (void)outputs, (void)count;
  *(OrtErrorCode*)user = status == NULL ? ORT_OK : ORT_FAIL;
}

int bind_model(const OrtApi* api, OrtEnv* env, OrtSession* session, OrtValue* value, OrtSessionOptions* options);

int bind_model(const OrtApi* api, OrtEnv* env, OrtSession* session, OrtValue* value, OrtSessionOptions* options) {
  OrtIoBinding* binding = NULL;
  OrtRunOptions* run = NULL;
  OrtSyncStream* stream = NULL;
  OrtKeyValuePairs* entries = NULL;
  OrtMemoryInfo* memory = NULL;
  OrtAllocator* shared = NULL;
  OrtErrorCode code = ORT_OK;
  Counting counting = {{0}, NULL};
  const OrtEpDevice* const* devices = NULL;
  const OrtEpDevice* device = NULL;
  const OrtHardwareDevice* hardware = NULL;
  const OrtMemoryInfo* where = NULL;
  const OrtValue* source = value;
  const char* const name = "x";
  OrtMemoryInfoDeviceType type = OrtMemoryInfoDeviceType_NPU;
  OrtDeviceMemoryType kind = OrtDeviceMemoryType_HOST_ACCESSIBLE;
  OrtHardwareDeviceType what = OrtHardwareDeviceType_GPU;
  uint32_t vendor = 0;
  size_t count = 0;
  int bad;
  counting.base.version = ORT_API_VERSION;
  counting.base.Alloc = counted;
  api->CreateKeyValuePairs(&entries);
  bad = fails(api, api->GetEpDevices(env, &devices, &count)) ||
        fails(api, api->SessionOptionsSetEpSelectionPolicyDelegate(options, choose, &code)) ||
        fails(api, api->SessionGetEpDeviceForInputs(session, &device, 1)) ||
        fails(api, api->SessionGetMemoryInfoForInputs(session, &where, 1)) ||
        fails(api, api->CreateMemoryInfo_V2(name, type, vendor, 0, kind, 64, OrtDeviceAllocator, &memory)) ||
        fails(api, api->CreateSharedAllocator(env, device, kind, OrtDeviceAllocator, entries, &shared)) ||
        fails(api, api->RegisterAllocator(env, &counting.base)) ||
        fails(api, api->CreateSyncStreamForEpDevice(device, entries, &stream)) ||
        fails(api, api->CopyTensors(env, &source, &value, stream, 1)) ||
        fails(api, api->CreateIoBinding(session, &binding)) || fails(api, api->BindInput(binding, name, value)) ||
        fails(api, api->BindOutputToDevice(binding, "y", where)) || fails(api, api->CreateRunOptions(&run)) ||
        fails(api, api->RunAsync(session, run, &name, &source, 1, &name, 1, &value, done, &code)) ||
        fails(api, api->RunWithBinding(session, run, binding));
  hardware = api->EpDevice_Device(device);
  what = api->HardwareDevice_Type(hardware);
  vendor = api->HardwareDevice_VendorId(hardware) + api->MemoryInfoGetVendorId(memory) + (uint32_t)what;
  api->MemoryInfoGetDeviceType(memory, &type);
  kind = api->MemoryInfoGetDeviceMemType(memory);
  api->RunOptionsSetSyncStream(run, stream);
  api->ReleaseIoBinding(binding);
  api->ReleaseRunOptions(run);
  api->ReleaseSyncStream(stream);
  api->ReleaseKeyValuePairs(entries);
  api->ReleaseMemoryInfo(memory);
  return bad || code != ORT_OK || vendor == 0 || type == OrtMemoryInfoDeviceType_CPU ||
         kind == OrtDeviceMemoryType_DEFAULT;
}

/* A custom operator, and the outline of a provider. */
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
