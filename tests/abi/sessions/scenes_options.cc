// Session options and run options.
#include <string>

#include "scene.h"

SCENE(options, numbers) {
  OrtSessionOptions* o = s.options();
  for (int n : {0, 1, 64, -1, -9}) CALL(SetIntraOpNumThreads, o, n);
  for (int n : {0, 1, -1}) CALL(SetInterOpNumThreads, o, n);
  for (int m : {0, 1, 2, -1}) {
    CALL(SetSessionExecutionMode, o, ExecutionMode(m));
    ExecutionMode read = ExecutionMode(-7);
    CALL(GetSessionExecutionMode, o, &read);
    s.note("mode", read);
  }
  for (int l : {0, 1, 2, 3, 4, 50, 99, 100, -1}) CALL(SetSessionGraphOptimizationLevel, o, GraphOptimizationLevel(l));
  for (int l : {0, 4, 5, -1}) CALL(SetSessionLogSeverityLevel, o, l);
  for (int l : {0, 9, -1}) CALL(SetSessionLogVerbosityLevel, o, l);
  s.api.ReleaseSessionOptions(o);
  s.api.ReleaseSessionOptions(nullptr);
}

SCENE(options, switches) {
  OrtSessionOptions* o = s.options();
  int on = -7;
  CALL(GetMemPatternEnabled, o, &on);
  s.note("pattern", on);
  CALL(DisableMemPattern, o);
  CALL(GetMemPatternEnabled, o, &on);
  s.note("pattern", on);
  CALL(EnableMemPattern, o);
  CALL(GetMemPatternEnabled, o, &on);
  s.note("pattern", on);
  CALL(DisableCpuMemArena, o);
  CALL(EnableCpuMemArena, o);
  CALL(DisablePerSessionThreads, o);
  CALL(SetDeterministicCompute, o, true);
  CALL(SetDeterministicCompute, o, false);
  CALL(SessionOptionsSetLoadCancellationFlag, o, true);
  CALL(SessionOptionsSetLoadCancellationFlag, o, false);
  ExecutionMode mode = ExecutionMode(-7);
  CALL(GetSessionExecutionMode, o, &mode);
  s.note("mode", mode);
}

SCENE(options, texts) {
  OrtSessionOptions* o = s.options();
  CALL(SetSessionLogId, o, "id");
  CALL(SetSessionLogId, o, "");
  CALL(SetOptimizedModelFilePath, o, "a/b.onnx");
  CALL(SetOptimizedModelFilePath, o, "");
  CALL(EnableProfiling, o, "prefix");
  CALL(EnableProfiling, o, "");
  CALL(DisableProfiling, o);
  for (int64_t n : {0, 1, -1, 8}) CALL(AddFreeDimensionOverride, o, "DATA_BATCH", n);
  for (int64_t n : {0, 1, -1, 8}) CALL(AddFreeDimensionOverrideByName, o, "batch", n);
  CALL(AddFreeDimensionOverrideByName, o, "", 3);
}

SCENE(options, config_entries) {
  s.env();
  OrtSessionOptions* o = s.options();
  int has = -7;
  CALL(HasSessionConfigEntry, o, "a", &has);
  s.note("has", has);
  CALL(AddSessionConfigEntry, o, "a", "1");
  CALL(AddSessionConfigEntry, o, "a", "22");
  CALL(AddSessionConfigEntry, o, "b", "");
  CALL(AddSessionConfigEntry, o, "", "x");
  CALL(HasSessionConfigEntry, o, "a", &has);
  s.note("has", has);
  size_t size = 0;
  CALL(GetSessionConfigEntry, o, "a", nullptr, &size);
  s.note("size", size);
  char text[8] = "zzzzzzz";
  size = 2;
  CALL(GetSessionConfigEntry, o, "a", text, &size);
  s.note("size", size);
  s.note("text", std::string_view(text, 7));
  size = 8;
  CALL(GetSessionConfigEntry, o, "a", text, &size);
  s.note("size", size);
  s.note("text", text);
  size = 8;
  CALL(GetSessionConfigEntry, o, "b", text, &size);
  s.note("size", size);
  s.note("text", text);
  size = 77;
  CALL(GetSessionConfigEntry, o, "missing", text, &size);
  s.note("size", size);
}

SCENE(options, config_lengths) {
  s.env();
  OrtSessionOptions* o = s.options();
  for (size_t n : {127u, 128u, 129u, 1023u, 1024u, 1025u, 2048u, 4096u, 4097u, 100000u}) {
    CALL(AddSessionConfigEntry, o, std::string(n, 'k').c_str(), "v");
    CALL(AddSessionConfigEntry, o, "k", std::string(n, 'v').c_str());
  }
}

SCENE(options, config_as_pairs) {
  s.env();
  OrtSessionOptions* o = s.options();
  for (const char* k : {"zeta", "alpha", "mid"}) CALL(AddSessionConfigEntry, o, k, "v");
  OrtKeyValuePairs* pairs = nullptr;
  CALL(GetSessionOptionsConfigEntries, o, &pairs);
  s.note("alpha", s.api.GetKeyValue(pairs, "alpha"));
  s.note("missing", s.api.GetKeyValue(pairs, "missing"));
  const char *const *keys, *const *values;
  size_t n = 0;
  s.api.GetKeyValuePairs(pairs, &keys, &values, &n);
  s.note("count", n);
  s.api.ReleaseKeyValuePairs(pairs);
}

SCENE(options, clone) {
  OrtSessionOptions *o = s.options(), *copy = nullptr;
  CALL(AddSessionConfigEntry, o, "a", "1");
  CALL(SetSessionExecutionMode, o, ORT_PARALLEL);
  CALL(CloneSessionOptions, o, &copy);
  CALL(AddSessionConfigEntry, o, "b", "1");
  s.api.ReleaseSessionOptions(o);
  int has = -7;
  CALL(HasSessionConfigEntry, copy, "a", &has);
  s.note("a", has);
  CALL(HasSessionConfigEntry, copy, "b", &has);
  s.note("b", has);
  ExecutionMode mode = ExecutionMode(-7);
  CALL(GetSessionExecutionMode, copy, &mode);
  s.note("mode", mode);
}

SCENE(options, initializers) {
  OrtSessionOptions* o = s.options();
  OrtMemoryInfo* cpu = nullptr;
  CALL(CreateCpuMemoryInfo, OrtArenaAllocator, OrtMemTypeDefault, &cpu);
  float data[2] = {1, 2};
  const int64_t shape[1] = {2};
  OrtValue *value = nullptr, *owned = nullptr;
  CALL(CreateTensorWithDataAsOrtValue, cpu, data, sizeof data, shape, 1, ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT, &value);
  CALL(CreateTensorAsOrtValue, s.allocator(), shape, 1, ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT, &owned);
  CALL(AddInitializer, o, "w", value);
  CALL(AddInitializer, o, "w", value);
  CALL(AddInitializer, o, "", value);
  CALL(AddInitializer, o, "owned", owned);
  const char* names[2] = {"x", "x"};
  const OrtValue* values[2] = {value, owned};
  CALL(AddExternalInitializers, o, names, values, 0);
  CALL(AddExternalInitializers, o, names, values, 1);
  CALL(AddExternalInitializers, o, names, values, 2);
  const char* files[1] = {"f.bin"};
  char bytes[4] = {};
  char* buffers[1] = {bytes};
  size_t lengths[1] = {4};
  CALL(AddExternalInitializersFromFilesInMemory, o, files, buffers, lengths, 1);
  CALL(AddExternalInitializersFromFilesInMemory, o, files, buffers, lengths, 1);
  CALL(AddExternalInitializersFromFilesInMemory, o, files, buffers, lengths, 0);
}

SCENE(options, threads) {
  OrtSessionOptions* o = s.options();
  CALL(SessionOptionsSetCustomCreateThreadFn, o, nullptr);
  CALL(SessionOptionsSetCustomThreadCreationOptions, o, nullptr);
  CALL(SessionOptionsSetCustomJoinThreadFn, o, nullptr);
  CALL(SetUserLoggingFunction, o, nullptr, nullptr);
}

SCENE(options, providers) {
  s.env();
  OrtSessionOptions* o = s.options();
  for (const char* name : {"CPU", "CPUExecutionProvider", "XNNPACK", "QNN", "OpenVINO", "WEBGPU", "CoreML", "SNPE",
                           "JS", "VitisAI", "AZURE", "DML", "WebNN", "Foo", ""}) {
    CALL(SessionOptionsAppendExecutionProvider, o, name, nullptr, nullptr, 0);
  }
  OrtCUDAProviderOptions cuda = {};
  OrtROCMProviderOptions rocm = {};
  OrtTensorRTProviderOptions trt = {};
  OrtMIGraphXProviderOptions migraphx = {};
  OrtOpenVINOProviderOptions openvino = {};
  CALL(SessionOptionsAppendExecutionProvider_CUDA, o, &cuda);
  CALL(SessionOptionsAppendExecutionProvider_ROCM, o, &rocm);
  CALL(SessionOptionsAppendExecutionProvider_TensorRT, o, &trt);
  CALL(SessionOptionsAppendExecutionProvider_MIGraphX, o, &migraphx);
  CALL(SessionOptionsAppendExecutionProvider_OpenVINO, o, &openvino);
  CALL(SessionOptionsAppendExecutionProvider_OpenVINO_V2, o, nullptr, nullptr, 0);
  CALL(SessionOptionsAppendExecutionProvider_VitisAI, o, nullptr, nullptr, 0);
}

SCENE(options, provider_options) {
  s.env();
  OrtCUDAProviderOptionsV2* cuda = nullptr;
  OrtTensorRTProviderOptionsV2* trt = nullptr;
  OrtCANNProviderOptions* cann = nullptr;
  OrtDnnlProviderOptions* dnnl = nullptr;
  OrtROCMProviderOptions* rocm = nullptr;
  CALL(CreateCUDAProviderOptions, &cuda);
  s.note("cuda", cuda);
  CALL(CreateTensorRTProviderOptions, &trt);
  s.note("trt", trt);
  CALL(CreateCANNProviderOptions, &cann);
  s.note("cann", cann);
  CALL(CreateDnnlProviderOptions, &dnnl);
  s.note("dnnl", dnnl);
  CALL(CreateROCMProviderOptions, &rocm);
  s.note("rocm", rocm);
  const char *keys[] = {"device_id"}, *values[] = {"1"};
  char* text = nullptr;
  CALL(UpdateCUDAProviderOptions, cuda, keys, values, 1);
  OrtAllocator* const host = s.allocator();
  CALL(GetCUDAProviderOptionsAsString, cuda, host, &text);
  s.note("it names the device", int(text && std::string(text).find("device_id=1;") != std::string::npos));
  if (text && s.api.AllocatorFree(host, text) == nullptr) text = nullptr;
  CALL(UpdateTensorRTProviderOptions, trt, keys, values, 1);
  CALL(GetTensorRTProviderOptionsAsString, trt, s.allocator(), &text);
  CALL(UpdateCANNProviderOptions, cann, keys, values, 1);
  CALL(UpdateDnnlProviderOptions, dnnl, keys, values, 1);
  CALL(UpdateROCMProviderOptions, rocm, keys, values, 1);
  s.api.ReleaseCUDAProviderOptions(cuda);
  s.api.ReleaseTensorRTProviderOptions(trt);
  s.api.ReleaseCANNProviderOptions(cann);
  s.api.ReleaseDnnlProviderOptions(dnnl);
  s.api.ReleaseROCMProviderOptions(rocm);
}

SCENE(options, custom_ops) {
  s.env();
  OrtSessionOptions* o = s.options();
  CALL(EnableOrtCustomOps, o);
  void* handle = nullptr;
  CALL(RegisterCustomOpsLibrary, o, "/does/not/exist.so", &handle);
  s.note("handle", handle);
  CALL(RegisterCustomOpsLibrary_V2, o, "/does/not/exist.so");
  CALL(RegisterCustomOpsLibrary_V2, o, "libc.so.6");
  CALL(RegisterCustomOpsUsingFunction, o, "NoSuchFunctionAtAll");
  CALL(RegisterCustomOpsUsingFunction, o, "");
  OrtCustomOpDomain *domain = nullptr, *empty = nullptr;
  CALL(CreateCustomOpDomain, "test.domain", &domain);
  CALL(CreateCustomOpDomain, "", &empty);
  CALL(AddCustomOpDomain, o, domain);
  CALL(AddCustomOpDomain, o, domain);
  CALL(AddCustomOpDomain, o, empty);
  s.api.ReleaseCustomOpDomain(domain);
  s.api.ReleaseCustomOpDomain(nullptr);
}

SCENE(options, devices) {
  OrtSessionOptions* o = s.options();
  for (int p : {0, 1, 2, 3, 4, 5, 6, 7, -1}) {
    CALL(SessionOptionsSetEpSelectionPolicy, o, OrtExecutionProviderDevicePolicy(p));
  }
  CALL(SessionOptionsSetEpSelectionPolicyDelegate, o, nullptr, nullptr);
  char bytes[4] = {};
  CALL(SessionOptionsSetWeightlessSourceModelBuffer, o, bytes, 4);
  CALL(SessionOptionsSetWeightlessSourceModelBuffer, o, bytes, 0);
  CALL(SessionOptionsSetWeightlessSourceModelBuffer, o, nullptr, 0);
  CALL(SessionOptionsSetWeightlessSourceModelBuffer, o, nullptr, 4);
  CALL(SessionOptionsSetEpContextDataReadFunc, o, nullptr, nullptr);
}

SCENE(options, weightless_source_is_read_back) {
  OrtSessionOptions* o = s.options();
  char bytes[4] = {};
  const void* data = bytes;
  size_t size = 77;
  s.call("get", s.api.GetEpApi()->SessionOptionsGetWeightlessSourceModelBuffer(o, &data, &size));
  s.note("data", data);
  s.note("size", size);
  CALL(SessionOptionsSetWeightlessSourceModelBuffer, o, bytes, 4);
  s.call("get", s.api.GetEpApi()->SessionOptionsGetWeightlessSourceModelBuffer(o, &data, &size));
  s.note("same", data == bytes);
  s.note("size", size);
}

SCENE(options, ep_context_config) {
  OrtSessionOptions* o = s.options();
  OrtEpContextConfig* config = nullptr;
  const OrtEpApi& ep = *s.api.GetEpApi();
  s.call("get", ep.SessionOptionsGetEpContextConfig(o, &config));
  s.note("config", config);
  OrtReadNamedBufferFunc read = [](void*, const char*, OrtAllocator*, void**, size_t*) -> OrtStatus* {
    return nullptr;
  };
  const OrtReadNamedBufferFunc mine = read;
  OrtWriteNamedBufferFunc write = nullptr;
  void* state = &config;
  s.call("read func", ep.EpContextConfigGetEpContextDataReadFunc(config, &read, &state));
  s.note("is null", read == nullptr && state == nullptr);
  s.call("write func", ep.EpContextConfigGetEpContextDataWriteFunc(config, &write, &state));
  s.note("is null", write == nullptr && state == nullptr);
  ep.ReleaseEpContextConfig(config);
  CALL(SessionOptionsSetEpContextDataReadFunc, o, mine, &s);
  s.call("get", ep.SessionOptionsGetEpContextConfig(o, &config));
  s.call("read func", ep.EpContextConfigGetEpContextDataReadFunc(config, &read, &state));
  s.note("is mine", read == mine && state == &s);
  ep.ReleaseEpContextConfig(config);
  ep.ReleaseEpContextConfig(nullptr);
}

SCENE(run_options, defaults) {
  OrtRunOptions* o = nullptr;
  CALL(CreateRunOptions, &o);
  int n = -7;
  CALL(RunOptionsGetRunLogVerbosityLevel, o, &n);
  s.note("verbosity", n);
  CALL(RunOptionsGetRunLogSeverityLevel, o, &n);
  s.note("severity", n);
  const char* tag = nullptr;
  CALL(RunOptionsGetRunTag, o, &tag);
  s.note("tag", tag);
  s.note("entry", s.api.GetRunConfigEntry(o, "missing"));
  s.api.ReleaseRunOptions(o);
  s.api.ReleaseRunOptions(nullptr);
}

SCENE(run_options, set) {
  s.env();
  OrtRunOptions* o = nullptr;
  CALL(CreateRunOptions, &o);
  int n = -7;
  for (int l : {0, 4, 5, -1, 99}) {
    CALL(RunOptionsSetRunLogSeverityLevel, o, l);
    CALL(RunOptionsGetRunLogSeverityLevel, o, &n);
    s.note("severity", n);
    CALL(RunOptionsSetRunLogVerbosityLevel, o, l);
    CALL(RunOptionsGetRunLogVerbosityLevel, o, &n);
    s.note("verbosity", n);
  }
  const char* tag = nullptr;
  CALL(RunOptionsSetRunTag, o, "tag");
  CALL(RunOptionsGetRunTag, o, &tag);
  s.note("tag", tag);
  CALL(RunOptionsSetRunTag, o, nullptr);
  CALL(RunOptionsGetRunTag, o, &tag);
  s.note("tag", tag);
  CALL(RunOptionsSetTerminate, o);
  CALL(RunOptionsUnsetTerminate, o);
  CALL(AddRunConfigEntry, o, "k", "v");
  CALL(AddRunConfigEntry, o, "k", "w");
  CALL(AddRunConfigEntry, o, "", "w");
  CALL(AddRunConfigEntry, o, std::string(1025, 'k').c_str(), "w");
  CALL(AddRunConfigEntry, o, "k2", std::string(5000, 'k').c_str());
  s.note("entry", s.api.GetRunConfigEntry(o, "k"));
  CALL(RunOptionsEnableProfiling, o, "prefix");
  CALL(RunOptionsEnableProfiling, o, "");
  CALL(RunOptionsDisableProfiling, o);
  s.api.RunOptionsSetSyncStream(o, nullptr);
}

SCENE(run_options, get_run_config_entry_null_key) {
  OrtRunOptions* o = nullptr;
  CALL(CreateRunOptions, &o);
  s.note("entry", s.api.GetRunConfigEntry(o, nullptr));
}
