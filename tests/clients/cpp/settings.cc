// Each option of a session and of a provider, set by its own function; environments, types and metadata.
#include <cstdio>
#include <fstream>
#include <iterator>

#include "client.h"

namespace {

using Map = std::unordered_map<std::string, std::string>;

std::string bytes_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

/// Appends a provider that the library does not have: an error with a text.
template <typename Append>
void expect_absent(const char* provider, const Append& append) {
  Ort::SessionOptions options;
  try {
    append(options);
  } catch (const Ort::Exception& e) {
    return expect(*e.what() != 0, provider);
  }
  throw std::runtime_error(std::string(provider) + " was appended");
}

}  // namespace

void every_setting() {
  Ort::SessionOptions options;
  const std::string saved = "settings_saved.onnx";
  options.SetIntraOpNumThreads(1)
      .SetInterOpNumThreads(1)
      .SetExecutionMode(ORT_PARALLEL)
      .SetDeterministicCompute(true)
      .DisableCpuMemArena()
      .EnableCpuMemArena()
      .EnableMemPattern()
      .SetLogSeverityLevel(3)
      .SetLogId("settings")
      .SetLoadCancellationFlag(false)
      .EnableProfiling("settings_profile")
      .DisableProfiling()
      .SetGraphOptimizationLevel(ORT_ENABLE_BASIC)
      .SetOptimizedModelFilePath(saved.c_str())
      .AppendExecutionProvider_CPU(1);
  expect(options.GetExecutionMode() == ORT_PARALLEL && options.GetMemPatternEnabled(), "what was set");
  expect(!options.Clone().HasConfigEntry("a.key"), "a key that was not set");
  expect(options.GetConfigEntryOrDefault("a.key", "other") == "other", "its default");
  const Ort::Session session(env(), model("images.onnx").c_str(), options);
  expect(Ort::Session(env(), saved.c_str(), Ort::SessionOptions{}).GetInputCount() == 1, "the saved model");
  std::remove(saved.c_str());
  expect_error(ORT_FAIL, "a function that the program does not have",
               [&] { options.RegisterCustomOpsUsingFunction("no_such_function"); });
  expect_error(ORT_FAIL, "a library that does not exist",
               [&] { options.RegisterCustomOpsLibrary("./no_such_library.so"); });
  options.SetLoadCancellationFlag(true);
  expect_error(ORT_MODEL_LOAD_CANCELED, "a load that was cancelled",
               [&] { Ort::Session(env(), model("images.onnx").c_str(), options); });
}

void custom_op_entries() {
  Ort::CustomOpConfigs configs;
  configs.AddConfig("Scale", "factor", "2").AddConfig("Scale", "way", "up");
  expect(configs.GetFlattenedConfigs().at("custom_op.Scale.factor") == "2", "the key of an entry");
  Ort::SessionOptions options;
  for (const auto& [key, value] : configs.GetFlattenedConfigs()) options.AddConfigEntry(key.c_str(), value.c_str());
  expect(options.GetConfigEntry("custom_op.Scale.way") == "up", "an entry of a custom operator");
}

void absent_providers() {
  expect_absent("ROCM", [](auto& o) { o.AppendExecutionProvider_ROCM(OrtROCMProviderOptions{}); });
  expect_absent("OpenVINO", [](auto& o) { o.AppendExecutionProvider_OpenVINO(OrtOpenVINOProviderOptions{}); });
  expect_absent("OpenVINO", [](auto& o) { o.AppendExecutionProvider_OpenVINO_V2(Map{{"device_type", "CPU"}}); });
  expect_absent("TensorRT", [](auto& o) { o.AppendExecutionProvider_TensorRT(OrtTensorRTProviderOptions{}); });
  expect_absent("MIGraphX", [](auto& o) { o.AppendExecutionProvider_MIGraphX(OrtMIGraphXProviderOptions{}); });
  expect_absent("CANN", [](auto& o) {
    OrtCANNProviderOptions* options = nullptr;
    Ort::ThrowOnError(Ort::GetApi().CreateCANNProviderOptions(&options));
    o.AppendExecutionProvider_CANN(*options);
  });
  expect_absent("Dnnl", [](auto& o) {
    OrtDnnlProviderOptions* options = nullptr;
    Ort::ThrowOnError(Ort::GetApi().CreateDnnlProviderOptions(&options));
    o.AppendExecutionProvider_Dnnl(*options);
  });
  expect_absent("VitisAI", [](auto& o) { o.AppendExecutionProvider_VitisAI(); });
  expect_absent("NoSuch", [](auto& o) { o.AppendExecutionProvider("NoSuch", {{"key", "value"}}); });
  expect_absent("CUDA", [](auto& o) {
    Ort::CUDAProviderOptions options;
    options.Update({{"device_id", "0"}, {"do_copy_in_default_stream", "0"}});
    expect(options.GetCUDAProviderOptionsAsString().find("device_id=0") != std::string::npos, "CUDA's options");
    o.AppendExecutionProvider_CUDA_V2(*options);
  });
  expect_absent("TensorRT", [](auto& o) {
    Ort::TensorRTProviderOptions options;
    options.Update({{"device_id", "0"}});
    o.AppendExecutionProvider_TensorRT_V2(*options);
  });
  const std::vector<std::string> names = Ort::GetAvailableProviders();
  expect(names.back() == "CPUExecutionProvider", "the CPU is the last available provider");
  expect(!Ort::GetBuildInfoString().empty(), "the description of the build");
}

void environment() {
  Ort::Env& one = env();
  one.DisableTelemetryEvents().EnableTelemetryEvents().UpdateEnvWithCustomLogLevel(ORT_LOGGING_LEVEL_FATAL);
  const Ort::MemoryInfo host("Cpu", OrtDeviceAllocator, 0, OrtMemTypeDefault);
  expect(host.GetAllocatorType() == OrtDeviceAllocator && host.GetMemoryType() == OrtMemTypeDefault, "a place");
  const std::vector<Ort::ConstEpDevice> devices = one.GetEpDevices();
  for (const Ort::ConstEpDevice& device : devices) {
    if (std::string(device.EpName()) != "CPUExecutionProvider") continue;
    expect(*device.EpVendor() != 0, "who made the provider of the CPU");
    expect(device.Device().Type() == OrtHardwareDeviceType_CPU, "its device");
    const Ort::ConstHardwareDevice hardware = device.Device();
    static_cast<void>(hardware.VendorId() + hardware.DeviceId());
    static_cast<void>(hardware.Metadata().GetKeyValuePairs().size() + device.EpOptions().GetKeyValuePairs().size());
    expect_error(ORT_INVALID_ARGUMENT, "a shared allocator of a device without memory of its own",
                 [&] { one.CreateSharedAllocator(device, OrtDeviceMemoryType_DEFAULT, OrtDeviceAllocator, nullptr); });
    Ort::SessionOptions options;
    options.AppendExecutionProvider_V2(one, {device}, Map{});
    expect(Ort::Session(one, model("images.onnx").c_str(), options).GetEpDeviceForOutputs().size() == 1, "its session");
  }
  expect_error(ORT_FAIL, "a library that was never registered",
               [&] { one.UnregisterExecutionProviderLibrary("never"); });
}

void types_of_values() {
  const Ort::TensorTypeAndShapeInfo tensor_info(ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT, {2, -1},
                                                new std::vector<std::string>{"", "n"});
  expect(tensor_info.HasShape() && tensor_info.GetDimensionsCount() == 2, "a shape");
  expect(std::string(tensor_info.GetSymbolicDimensions()[1]) == "n", "the name of an extent");
  int64_t extents[2] = {};
  tensor_info.GetDimensions(extents, 2);
  expect(extents[0] == 2 && extents[1] == -1, "its extents");
  const Ort::TypeInfo plain = Ort::TypeInfo::CreateTensorInfo(tensor_info.GetConst());
  const Ort::TypeInfo sparse = Ort::TypeInfo::CreateSparseTensorInfo(tensor_info.GetConst());
  const Ort::TypeInfo sequence = Ort::TypeInfo::CreateSequenceTypeInfo(plain.GetConst());
  const Ort::TypeInfo map = Ort::TypeInfo::CreateMapTypeInfo(ONNX_TENSOR_ELEMENT_DATA_TYPE_INT64, plain.GetConst());
  const Ort::TypeInfo optional = Ort::TypeInfo::CreateOptionalTypeInfo(sequence.GetConst());
  expect(plain.GetONNXType() == ONNX_TYPE_TENSOR && sparse.GetONNXType() == ONNX_TYPE_SPARSETENSOR, "tensors");
  expect(sequence.GetSequenceTypeInfo().GetSequenceElementType().GetONNXType() == ONNX_TYPE_TENSOR, "a sequence");
  expect(map.GetMapTypeInfo().GetMapKeyType() == ONNX_TENSOR_ELEMENT_DATA_TYPE_INT64, "a map");
  expect(optional.GetOptionalTypeInfo().GetOptionalElementType().GetONNXType() == ONNX_TYPE_SEQUENCE, "an option");
}

void sessions_tell() {
  const Ort::Session session(env(), model("denoted.onnx").c_str(), Ort::SessionOptions{});
  Ort::AllocatorWithDefaultOptions allocator;
  const Ort::ModelMetadata about = session.GetModelMetadata();
  for (const char* text : {about.GetDescriptionAllocated(allocator).get(), about.GetDomainAllocated(allocator).get(),
                           about.GetGraphDescriptionAllocated(allocator).get()}) {
    expect(text != nullptr, "a text of the model");
  }
  expect(session.GetMemoryInfoForOutputs().size() == session.GetOutputCount(), "where outputs lie");
  expect(session.GetOutputTypeInfo(0).GetONNXType() == ONNX_TYPE_TENSOR, "the type of an output");
  for (size_t i = 0; i < session.GetOverridableInitializerCount(); ++i) {
    expect(*session.GetOverridableInitializerNameAllocated(i, allocator) != 0, "its name");
    static_cast<void>(session.GetOverridableInitializerTypeInfo(i));
  }
  const std::string path = model("denoted.onnx"), bytes = bytes_of(path);
  expect(!Ort::GetCompatibilityInfoFromModelAllocated(path.c_str(), "NoSuch", allocator), "of no provider");
  expect(!Ort::GetCompatibilityInfoFromModelBytesAllocated(bytes.data(), bytes.size(), "NoSuch", allocator), "bytes");
  const std::string adapter = bytes_of(model("state.onnx_adapter"));
  const auto lora = Ort::LoraAdapter::CreateLoraAdapterFromArray(adapter.data(), adapter.size(), nullptr);
  Ort::RunOptions run;
  run.AddActiveLoraAdapter(lora).EnableProfiling("x").DisableProfiling();
}
