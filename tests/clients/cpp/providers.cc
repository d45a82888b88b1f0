// What providers and newer parts of the interface offer: schemas, events, devices, compiled models, entries.
#include <onnxruntime_ep_device_ep_metadata_keys.h>
#include <onnxruntime_session_options_config_keys.h>

#include <algorithm>
#include <cstdio>

#include "client.h"

void schemas() {
  const Ort::OpSchema add = Ort::GetOpSchema("Add", 20, "");
  expect(add.GetNumInputs() == 2 && add.GetInputName(0) == "A" && add.GetOutputName(0) == "C", "Add has A, B and C");
  const Ort::ConstOpSchemaTypeConstraint t = add.GetInputTypeConstraint(1);
  const auto types = t.GetAllowedTypes();
  expect(t.GetTypeParamName() == "T" && std::count(types.begin(), types.end(), "tensor(float)") == 1, "its T");
  expect(t.GetInputIndices() == std::vector<size_t>({0, 1}) && t.GetOutputIndices().size() == 1, "where T stands");
  expect(static_cast<OrtOpSchema*>(Ort::GetOpSchema("Nonesuch", 20, "")) == nullptr, "an operator that does not exist");
}

void events() {
  const Ort::ProfilingEvent event(OrtProfilingEventCategory_NODE, 1, 2, "node", 5000, 300, {{"op_name", "Conv"}});
  const Ort::ConstProfilingEvent view = event.GetConst();
  expect(view.GetCategory() == OrtProfilingEventCategory_NODE && std::string(view.GetName()) == "node", "an event");
  expect(view.GetTimestampUs() == 5000 && view.GetDurationUs() == 300, "its times");
  expect(std::string(view.GetArgValue("op_name")) == "Conv" && !view.GetArgValue("other"), "its arguments");
}

void kernel_definitions() {
  const OrtDataType* floats = nullptr;
  Ort::ThrowOnError(Ort::GetEpApi().GetTensorDataType(ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT, &floats));
  Ort::KernelDefBuilder builder;
  builder.SetOperatorType("Relu").SetDomain("").SetSinceVersion(14, 20).SetExecutionProvider("Mine");
  const Ort::KernelDef relu = builder.SetInputMemType(0, OrtMemTypeCPUInput).AddTypeConstraint("T", floats).Build();
  expect(std::string(relu.GetOperatorType()) == "Relu" && relu.GetSinceVersion() == std::pair(14, 20), "a kernel");
  expect(relu.GetInputMemType(0) == OrtMemTypeCPUInput && std::string(relu.GetExecutionProvider()) == "Mine", "its");
  Ort::KernelRegistry registry;
  const auto make = [](void*, const OrtKernelInfo*, OrtKernelImpl**) -> OrtStatus* { return nullptr; };
  expect(registry.AddKernel(relu, make, nullptr).IsOK(), "a registry");
}

void assignment() {
  Ort::SessionOptions options;
  options.AddConfigEntry(kOrtSessionOptionsRecordEpGraphAssignmentInfo, "1");
  expect(options.GetConfigEntry(kOrtSessionOptionsRecordEpGraphAssignmentInfo) == "1", "an entry");
  expect(!options.HasConfigEntry("other") && options.GetConfigEntryOrDefault("other", "none") == "none", "another");
  const Ort::Session session(env(), model("images.onnx").c_str(), options);
  const auto subgraphs = session.GetEpGraphAssignmentInfo();
  expect(subgraphs.size() == 1 && subgraphs[0].GetEpName() == "CPUExecutionProvider", "the provider");
  expect(subgraphs[0].GetNodes()[0].GetOperatorType() == "Relu", "the node");
  expect(session.GetMemoryInfoForInputs()[0].GetDeviceType() == OrtMemoryInfoDeviceType_CPU, "memory of the input");
  expect(session.GetInputs()[0].GetName() == "input1" && session.GetOpset("") == 17, "names and operator sets");
}

void hardware() {
  const auto all = env().GetHardwareDevices();
  const auto is_cpu = [](const Ort::ConstHardwareDevice& d) { return d.Type() == OrtHardwareDeviceType_CPU; };
  expect(std::count_if(all.begin(), all.end(), is_cpu) == 1, "one processor");
  for (const Ort::ConstEpDevice& device : env().GetEpDevices()) {
    expect(device.EpName() && device.Device().Vendor(), "a device has names");
    if (std::string(device.EpName()) != "CPUExecutionProvider") continue;
    expect(device.EpMetadata().GetValue(kOrtEpDevice_EpMetadataKey_Version) != nullptr, "the version of a provider");
  }
}

void compiled() {
  Ort::SessionOptions options;
  Ort::AllocatorWithDefaultOptions allocator;
  void* bytes = nullptr;
  size_t size = 0;
  Ort::ModelCompilationOptions compilation(env(), options);
  const std::string path = model("images.onnx");
  compilation.SetInputModelPath(path.c_str()).SetOutputModelBuffer(allocator, &bytes, &size);
  Ort::ThrowOnError(Ort::CompileModel(env(), compilation));
  const Ort::MemoryAllocation owner(allocator, bytes, size);
  const Ort::Session session(env(), bytes, size, options);
  expect(session.GetInputNames() == std::vector<std::string>{"input1"}, "the compiled model");
}

void pairs() {
  Ort::KeyValuePairs pairs({{"a", "1"}, {"b", "2"}});
  pairs.Add("a", "3");
  pairs.Remove("b");
  expect(pairs.GetKeyValuePairs() == std::unordered_map<std::string, std::string>{{"a", "3"}}, "pairs");
  Ort::KeyValuePairs taken = std::move(pairs);
  expect(std::string(taken.GetConst().GetValue("a")) == "3" && !taken.GetValue("b"), "moved pairs");
}

void statuses() {
  const Ort::Status good, bad("bad", ORT_FAIL);
  expect(good.IsOK() && good.GetErrorCode() == ORT_OK && good.GetErrorMessage().empty(), "success");
  expect(!bad.IsOK() && bad.GetErrorCode() == ORT_FAIL && bad.GetErrorMessage() == "bad", "an error");
  expect_error(ORT_FAIL, "an error is thrown", [&] { Ort::ThrowOnError(bad); });
  expect_error(ORT_INVALID_ARGUMENT, "tensors without a partner", [] {
    std::vector<Ort::Value> one;
    one.emplace_back(nullptr);
    Ort::ThrowOnError(env().CopyTensors(one, {}, nullptr));
  });
}
