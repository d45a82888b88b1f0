// A null pointer for a result, with valid other arguments, is an invalid_argument that names the parameter. (The
// generated tests call every slot with zeros only, which fails at the first argument.)
#include <gtest/gtest.h>

#include <string>

#include "abi/slots.h"
#include "abi/status_testing.h"
#include "onnx/writer.h"

// the failure names the slot
#define EXPECT_NAMED(PARAMETER, SLOT, ...) expect_named(#SLOT, PARAMETER, SLOT(__VA_ARGS__))

namespace retort::abi {
namespace {

void expect_named(const char* slot, const std::string& parameter, OrtStatusPtr status) {
  ASSERT_NE(status, nullptr) << slot;
  const std::string text = GetErrorMessage(status);
  EXPECT_EQ(GetErrorCode(status), ORT_INVALID_ARGUMENT) << slot << ": " << text;
  EXPECT_NE(text.find(parameter), std::string::npos) << slot << ": " << text;
  ReleaseStatus(status);
}

/// y = Relu(x) + w, and runs may override w.
std::string model_bytes() {
  Model model;
  model.ir_version = 8;
  model.opsets[""] = 14;
  model.metadata = {{"key", "value"}};
  Graph& g = *model.graph;
  const ValueType type = ValueType::tensor(DType::f32, {2});
  g.inputs = {g.add_value("x", type), g.add_value("w", type)};
  g.defaults[g.inputs[1]] = Tensor::of<float>({2}, {1, 2});
  const NodeId relu = g.add({.type = "Relu", .inputs = {g.inputs[0]}, .version = 14});
  const NodeId add = g.add({.type = "Add", .inputs = {g.node(relu).outputs[0], g.inputs[1]}, .version = 14});
  g.outputs = {g.node(add).outputs[0]};
  g.value(g.outputs[0]).name = "y";
  return write_model(model);
}

class NullOut : public ::testing::Test {
 protected:
  NullOut() {
    expect_ok(CreateEnv(ORT_LOGGING_LEVEL_ERROR, "test", &env_));
    expect_ok(CreateSessionOptions(&options_));
    expect_ok(CreateSessionFromArray(env_, model_.data(), model_.size(), options_, &session_));
    expect_ok(CreateCpuMemoryInfo(OrtDeviceAllocator, OrtMemTypeDefault, &cpu_));
    expect_ok(GetAllocatorWithDefaultOptions(&allocator_));
    expect_ok(CreateTensorAsOrtValue(allocator_, shape_, 1, ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT, &tensor_));
    expect_ok(CreateTensorAsOrtValue(allocator_, shape_, 1, ONNX_TENSOR_ELEMENT_DATA_TYPE_STRING, &strings_));
  }
  ~NullOut() override {
    ReleaseValue(strings_);
    ReleaseValue(tensor_);
    ReleaseMemoryInfo(cpu_);
    ReleaseSession(session_);
    ReleaseSessionOptions(options_);
    ReleaseEnv(env_);
  }

  const std::string model_ = model_bytes();
  const int64_t shape_[1] = {2};
  OrtEnv* env_ = nullptr;
  OrtSessionOptions* options_ = nullptr;
  OrtSession* session_ = nullptr;
  OrtMemoryInfo* cpu_ = nullptr;
  OrtAllocator* allocator_ = nullptr;
  OrtValue *tensor_ = nullptr, *strings_ = nullptr;
};

TEST_F(NullOut, OfAllocators) {
  EXPECT_NAMED("out", GetAllocatorWithDefaultOptions, nullptr);
  EXPECT_NAMED("out", CreateAllocator, session_, cpu_, nullptr);
  EXPECT_NAMED("allocator", GetSharedAllocator, env_, cpu_, nullptr);
  EXPECT_NAMED("out", CreateArenaCfg, 0, -1, -1, -1, nullptr);
  EXPECT_NAMED("out", CreateArenaCfgV2, nullptr, nullptr, 0, nullptr);
  OrtAllocator* made = nullptr;
  expect_ok(CreateAllocator(session_, cpu_, &made));
  for (OrtAllocator* a : {allocator_, made}) {
    EXPECT_NAMED("out", AllocatorAlloc, a, 16, nullptr);
    EXPECT_NAMED("out", AllocatorGetInfo, a, nullptr);
    EXPECT_NAMED("out", AllocatorGetStats, a, nullptr);
    void* p = nullptr;
    expect_ok(AllocatorAlloc(a, 16, &p));
    expect_ok(AllocatorFree(a, p));
  }
  ReleaseAllocator(made);
}

TEST_F(NullOut, OfMemoryInfos) {
  EXPECT_NAMED("out", CreateCpuMemoryInfo, OrtDeviceAllocator, OrtMemTypeDefault, nullptr);
  EXPECT_NAMED("out", CreateMemoryInfo, "Cpu", OrtDeviceAllocator, 0, OrtMemTypeDefault, nullptr);
  EXPECT_NAMED("out", CreateMemoryInfo_V2, "Cpu", OrtMemoryInfoDeviceType_CPU, 0, 0, OrtDeviceMemoryType_DEFAULT, 0,
               OrtDeviceAllocator, nullptr);
  EXPECT_NAMED("out", MemoryInfoGetName, cpu_, nullptr);
  EXPECT_NAMED("out", MemoryInfoGetId, cpu_, nullptr);
  EXPECT_NAMED("out", MemoryInfoGetMemType, cpu_, nullptr);
  EXPECT_NAMED("out", MemoryInfoGetType, cpu_, nullptr);
  EXPECT_NAMED("out", CompareMemoryInfo, cpu_, cpu_, nullptr);
}

TEST_F(NullOut, OfEnvironmentsAndOptions) {
  EXPECT_NAMED("out", CreateEnv, ORT_LOGGING_LEVEL_ERROR, "test", nullptr);
  EXPECT_NAMED("options", CreateSessionOptions, nullptr);
  EXPECT_NAMED("out_options", CloneSessionOptions, options_, nullptr);
  EXPECT_NAMED("out", CreateThreadingOptions, nullptr);
  EXPECT_NAMED("out", CreatePrepackedWeightsContainer, nullptr);
  EXPECT_NAMED("out", HasSessionConfigEntry, options_, "key", nullptr);
  EXPECT_NAMED("out", GetSessionOptionsConfigEntries, options_, nullptr);
  EXPECT_NAMED("out", GetMemPatternEnabled, options_, nullptr);
  EXPECT_NAMED("out", GetSessionExecutionMode, options_, nullptr);
  size_t count = 0;
  const OrtEpDevice* const* devices = nullptr;
  EXPECT_NAMED("ep_devices", GetEpDevices, env_, nullptr, &count);
  EXPECT_NAMED("num_ep_devices", GetEpDevices, env_, &devices, nullptr);
  EXPECT_NAMED("num_devices", GetNumHardwareDevices, env_, nullptr);
  char** providers = nullptr;
  int length = 0;
  EXPECT_NAMED("out_ptr", GetAvailableProviders, nullptr, &length);
  EXPECT_NAMED("provider_length", GetAvailableProviders, &providers, nullptr);
  OrtRunOptions* run = nullptr;
  EXPECT_NAMED("out", CreateRunOptions, nullptr);
  expect_ok(CreateRunOptions(&run));
  EXPECT_NAMED("log_verbosity_level", RunOptionsGetRunLogVerbosityLevel, run, nullptr);
  EXPECT_NAMED("log_severity_level", RunOptionsGetRunLogSeverityLevel, run, nullptr);
  EXPECT_NAMED("run_tag", RunOptionsGetRunTag, run, nullptr);
  ReleaseRunOptions(run);
}

TEST_F(NullOut, OfSessions) {
  EXPECT_NAMED("out", CreateSession, env_, "model.onnx", options_, nullptr);
  EXPECT_NAMED("out", CreateSessionFromArray, env_, model_.data(), model_.size(), options_, nullptr);
  EXPECT_NAMED("out", SessionGetInputCount, session_, nullptr);
  EXPECT_NAMED("out", SessionGetOutputCount, session_, nullptr);
  EXPECT_NAMED("out", SessionGetOverridableInitializerCount, session_, nullptr);
  EXPECT_NAMED("type_info", SessionGetInputTypeInfo, session_, 0, nullptr);
  EXPECT_NAMED("type_info", SessionGetOutputTypeInfo, session_, 0, nullptr);
  EXPECT_NAMED("type_info", SessionGetOverridableInitializerTypeInfo, session_, 0, nullptr);
  EXPECT_NAMED("value", SessionGetInputName, session_, 0, allocator_, nullptr);
  EXPECT_NAMED("value", SessionGetOutputName, session_, 0, allocator_, nullptr);
  EXPECT_NAMED("value", SessionGetOverridableInitializerName, session_, 0, allocator_, nullptr);
  EXPECT_NAMED("inputs_memory_info", SessionGetMemoryInfoForInputs, session_, nullptr, 1);
  EXPECT_NAMED("outputs_memory_info", SessionGetMemoryInfoForOutputs, session_, nullptr, 1);
  EXPECT_NAMED("inputs_ep_devices", SessionGetEpDeviceForInputs, session_, nullptr, 1);
  EXPECT_NAMED("outputs_ep_devices", SessionGetEpDeviceForOutputs, session_, nullptr, 1);
  EXPECT_NAMED("out", SessionGetProfilingStartTimeNs, session_, nullptr);
  EXPECT_NAMED("out", SessionEndProfiling, session_, allocator_, nullptr);
  const char *const in[] = {"x"}, *const out[] = {"y"};
  EXPECT_NAMED("outputs", abi::Run, session_, nullptr, in, &tensor_, 1, out, 1, nullptr);
}

TEST_F(NullOut, OfMetadata) {
  EXPECT_NAMED("out", SessionGetModelMetadata, session_, nullptr);
  OrtModelMetadata* meta = nullptr;
  expect_ok(SessionGetModelMetadata(session_, &meta));
  for (const auto slot : {ModelMetadataGetProducerName, ModelMetadataGetGraphName, ModelMetadataGetDomain,
                          ModelMetadataGetDescription, ModelMetadataGetGraphDescription}) {
    EXPECT_NAMED("value", slot, meta, allocator_, nullptr);
  }
  EXPECT_NAMED("value", ModelMetadataLookupCustomMetadataMap, meta, allocator_, "key", nullptr);
  EXPECT_NAMED("value", ModelMetadataGetVersion, meta, nullptr);
  char** keys = nullptr;
  int64_t count = 0;
  EXPECT_NAMED("keys", ModelMetadataGetCustomMetadataMapKeys, meta, allocator_, nullptr, &count);
  EXPECT_NAMED("num_keys", ModelMetadataGetCustomMetadataMapKeys, meta, allocator_, &keys, nullptr);
  ReleaseModelMetadata(meta);
}

TEST_F(NullOut, OfBindings) {
  EXPECT_NAMED("out", CreateIoBinding, session_, nullptr);
  OrtIoBinding* binding = nullptr;
  expect_ok(CreateIoBinding(session_, &binding));
  expect_ok(BindInput(binding, "x", tensor_));
  expect_ok(BindOutputToDevice(binding, "y", cpu_));
  expect_ok(RunWithBinding(session_, nullptr, binding));
  char* names = nullptr;
  size_t *lengths = nullptr, count = 0;
  OrtValue** values = nullptr;
  EXPECT_NAMED("buffer", GetBoundOutputNames, binding, allocator_, nullptr, &lengths, &count);
  EXPECT_NAMED("lengths", GetBoundOutputNames, binding, allocator_, &names, nullptr, &count);
  EXPECT_NAMED("count", GetBoundOutputNames, binding, allocator_, &names, &lengths, nullptr);
  EXPECT_NAMED("output", GetBoundOutputValues, binding, allocator_, nullptr, &count);
  EXPECT_NAMED("output_count", GetBoundOutputValues, binding, allocator_, &values, nullptr);
  ReleaseIoBinding(binding);
}

TEST_F(NullOut, OfTensors) {
  float data[2] = {};
  const auto f32 = ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT;
  EXPECT_NAMED("out", CreateTensorAsOrtValue, allocator_, shape_, 1, f32, nullptr);
  EXPECT_NAMED("out", CreateTensorWithDataAsOrtValue, cpu_, data, sizeof data, shape_, 1, f32, nullptr);
  EXPECT_NAMED("out", GetTensorMutableData, tensor_, nullptr);
  EXPECT_NAMED("out", IsTensor, tensor_, nullptr);
  EXPECT_NAMED("out", IsSparseTensor, tensor_, nullptr);
  EXPECT_NAMED("out", HasValue, tensor_, nullptr);
  EXPECT_NAMED("out", GetValueType, tensor_, nullptr);
  EXPECT_NAMED("out", GetTypeInfo, tensor_, nullptr);
  EXPECT_NAMED("out", GetTensorTypeAndShape, tensor_, nullptr);
  EXPECT_NAMED("mem_info", GetTensorMemoryInfo, tensor_, nullptr);
  EXPECT_NAMED("size", GetTensorSizeInBytes, tensor_, nullptr);
  const int64_t at[] = {0};
  EXPECT_NAMED("out", TensorAt, tensor_, at, 1, nullptr);
  EXPECT_NAMED("len", GetStringTensorDataLength, strings_, nullptr);
  EXPECT_NAMED("out", GetStringTensorElementLength, strings_, 0, nullptr);
  EXPECT_NAMED("buffer", GetResizedStringTensorElementBuffer, strings_, 0, 4, nullptr);
  size_t offsets[2] = {};
  expect_ok(FillStringTensorElement(strings_, "text", 0));
  EXPECT_NAMED("s", GetStringTensorContent, strings_, nullptr, 4, offsets, 2);
  EXPECT_NAMED("offsets", GetStringTensorContent, strings_, data, 4, nullptr, 2);
  EXPECT_NAMED("s", GetStringTensorElement, strings_, 4, 0, nullptr);
}

TEST_F(NullOut, OfTypesAndContainers) {
  OrtTypeInfo* type = nullptr;
  const OrtTensorTypeAndShapeInfo* info = nullptr;
  expect_ok(GetTypeInfo(tensor_, &type));
  expect_ok(CastTypeInfoToTensorInfo(type, &info));
  EXPECT_NAMED("out", CastTypeInfoToTensorInfo, type, nullptr);
  EXPECT_NAMED("out", CastTypeInfoToSequenceTypeInfo, type, nullptr);
  EXPECT_NAMED("out", CastTypeInfoToMapTypeInfo, type, nullptr);
  EXPECT_NAMED("out", CastTypeInfoToOptionalTypeInfo, type, nullptr);
  EXPECT_NAMED("out", GetOnnxTypeFromTypeInfo, type, nullptr);
  EXPECT_NAMED("out", CreateTensorTypeAndShapeInfo, nullptr);
  EXPECT_NAMED("out", GetTensorElementType, info, nullptr);
  EXPECT_NAMED("out", GetDimensionsCount, info, nullptr);
  EXPECT_NAMED("dim_values", GetDimensions, info, nullptr, 1);
  EXPECT_NAMED("dim_params", GetSymbolicDimensions, info, nullptr, 1);
  EXPECT_NAMED("out", GetTensorShapeElementCount, info, nullptr);
  ReleaseTypeInfo(type);
  OrtValue* sequence = nullptr;
  EXPECT_NAMED("out", CreateValue, &tensor_, 1, ONNX_TYPE_SEQUENCE, nullptr);
  expect_ok(CreateValue(&tensor_, 1, ONNX_TYPE_SEQUENCE, &sequence));
  EXPECT_NAMED("out", GetValue, sequence, 0, allocator_, nullptr);
  EXPECT_NAMED("out", GetValueCount, sequence, nullptr);
  ReleaseValue(sequence);
}

}  // namespace
}  // namespace retort::abi
