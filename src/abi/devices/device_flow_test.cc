// Devices through the C interface, with a provider whose memory the host cannot access. The tests find devices, choose
// them by policy, delegate or name, fill their memory, run on them and read results, without code for a certain
// provider.
#include <gtest/gtest.h>
#include <unistd.h>

#include "abi/sessions/environment.h"
#include "abi/sessions/session.h"
#include "abi/slots.h"
#include "abi/status_testing.h"
#include "onnx/writer.h"
#include "session/device_testing.h"

namespace retort::abi {
namespace {

using retort::testing::DeviceControl;
using retort::testing::TestFactory;

/// y = (a + b) * b runs on the device; Neg, which the device does not run, computes z = -y.
std::string model_file(bool with_cpu_node) {
  Model model;
  model.ir_version = 8;
  model.opsets[""] = 17;
  Graph& g = *model.graph;
  const ValueType type = ValueType::tensor(DType::f32, Shape{4});
  for (const char* name : {"a", "b"}) g.inputs.push_back(g.add_value(name, type));
  const NodeId sum = g.add({.type = "Add", .inputs = g.inputs, .name = "sum", .version = 17});
  const NodeId product =
      g.add({.type = "Mul", .inputs = {g.node(sum).outputs[0], g.inputs[1]}, .name = "product", .version = 17});
  const auto output = [&](NodeId node, const char* name) {
    const ValueId out = g.node(node).outputs[0];
    g.value(out).name = name;
    g.value(out).type = type;
    g.outputs.push_back(out);
  };
  output(product, "y");
  if (with_cpu_node)
    output(g.add({.type = "Neg", .inputs = {g.node(product).outputs[0]}, .name = "minus", .version = 17}), "z");
  const std::string path =
      ::testing::TempDir() + "device_flow_" + std::to_string(getpid()) + (with_cpu_node ? "_z.onnx" : ".onnx");
  write_model(model, path, {});
  return path;
}

class DeviceFlow : public ::testing::Test {
 protected:
  static constexpr int64_t kShape[1] = {4};

  DeviceFlow() {
    const char* keys[] = {"retort.virtual_devices"};
    OrtKeyValuePairs* config = nullptr;
    CreateKeyValuePairs(&config);
    AddKeyValuePair(config, keys[0], "gpu:0xbeef:0x0001,npu:0xbeef:0x0002");
    OrtEnvCreationOptions options{};
    options.version = ORT_API_VERSION;
    options.logging_severity_level = ORT_LOGGING_LEVEL_ERROR;
    options.log_id = "device_flow";
    options.config_entries = config;
    expect_ok(CreateEnvWithOptions(&options, &env));
    ReleaseKeyValuePairs(config);
    size_t hardware = 0;
    for (const OrtHardwareDevice* d : hardware_of(*env)) {
      if (d->vendor_id == 0xbeef && d->type == OrtHardwareDeviceType_GPU) gpu = hardware;
      ++hardware;
    }
    factory = std::make_shared<TestFactory>(control, gpu);
    env->devices->add(*env, factory);
    expect_ok(CreateSessionOptions(&session_options));
  }
  ~DeviceFlow() override {
    ReleaseSessionOptions(session_options);
    ReleaseEnv(env);
  }

  const OrtEpDevice* device() {
    const OrtEpDevice* const* all = nullptr;
    size_t count = 0;
    expect_ok(GetEpDevices(env, &all, &count));
    EXPECT_EQ(count, 2u);
    EXPECT_STREQ(EpDevice_EpName(all[0]), "CPUExecutionProvider");
    return all[count - 1];
  }
  OrtSession* session(bool with_cpu_node = false) {
    OrtSession* s = nullptr;
    expect_ok(CreateSession(env, model_file(with_cpu_node).c_str(), session_options, &s));
    return s;
  }
  const OrtMemoryInfo* info() { return EpDevice_MemoryInfo(device(), OrtDeviceMemoryType_DEFAULT); }
  OrtAllocator* shared() {
    OrtAllocator* allocator = nullptr;
    expect_ok(GetSharedAllocator(env, info(), &allocator));
    EXPECT_NE(allocator, nullptr);
    return allocator;
  }
  OrtValue* device_tensor() {
    OrtValue* value = nullptr;
    expect_ok(CreateTensorAsOrtValue(shared(), kShape, 1, ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT, &value));
    return value;
  }
  static OrtValue* host_tensor(float* data) {
    OrtValue* value = nullptr;
    expect_ok(CreateTensorWithDataAsOrtValue(&cpu_memory_info(), data, 4 * sizeof(float), kShape, 1,
                                             ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT, &value));
    return value;
  }
  void copy(const OrtValue* from, OrtValue* to, OrtSyncStream* stream = nullptr) {
    expect_ok(CopyTensors(env, &from, &to, stream, 1));
  }

  DeviceControl control;
  size_t gpu = 0;
  std::shared_ptr<TestFactory> factory;
  OrtEnv* env = nullptr;
  OrtSessionOptions* session_options = nullptr;
};

TEST_F(DeviceFlow, DevicesDescribeThemselves) {
  const OrtEpDevice* d = device();
  EXPECT_STREQ(EpDevice_EpName(d), "TestProvider");
  EXPECT_STREQ(EpDevice_EpVendor(d), "Retort tests");
  EXPECT_STREQ(GetKeyValue(EpDevice_EpMetadata(d), "version"), "1");
  EXPECT_EQ(HardwareDevice_Type(EpDevice_Device(d)), OrtHardwareDeviceType_GPU);
  EXPECT_EQ(HardwareDevice_VendorId(EpDevice_Device(d)), 0xbeefu);
  const char* name = nullptr;
  expect_ok(MemoryInfoGetName(info(), &name));
  EXPECT_STREQ(name, "TestMemory");
  EXPECT_EQ(MemoryInfoGetVendorId(info()), 0xbeefu);
  EXPECT_EQ(EpDevice_MemoryInfo(d, OrtDeviceMemoryType_HOST_ACCESSIBLE), nullptr);
}

// The example of docs/io_binding.md: one upload, a hundred runs, one download.
TEST_F(DeviceFlow, AnyGpuByPolicy) {
  expect_ok(SessionOptionsSetEpSelectionPolicy(session_options, OrtExecutionProviderDevicePolicy_PREFER_GPU));
  OrtSession* s = session();
  const OrtEpDevice *in[2] = {}, *out[1] = {};
  expect_ok(SessionGetEpDeviceForInputs(s, in, 2));
  expect_ok(SessionGetEpDeviceForOutputs(s, out, 1));
  EXPECT_EQ(in[0], device());
  EXPECT_EQ(out[0], device());
  const OrtMemoryInfo* where[2] = {};
  expect_ok(SessionGetMemoryInfoForInputs(s, where, 2));
  EXPECT_EQ(where[0], info());
  float a[4] = {1, 2, 3, 4}, b[4] = {1, 1, 2, 2}, y[4] = {};
  OrtValue *host_a = host_tensor(a), *host_b = host_tensor(b), *host_y = host_tensor(y);
  OrtValue *dev_a = device_tensor(), *dev_b = device_tensor(), *dev_y = device_tensor();
  const OrtValue* from[2] = {host_a, host_b};
  OrtValue* to[2] = {dev_a, dev_b};
  expect_ok(CopyTensors(env, from, to, nullptr, 2));
  OrtIoBinding* binding = nullptr;
  expect_ok(CreateIoBinding(s, &binding));
  expect_ok(BindInput(binding, "a", dev_a));
  expect_ok(BindInput(binding, "b", dev_b));
  expect_ok(BindOutput(binding, "y", dev_y));
  const int up = control.copies_up;
  for (int i = 0; i < 100; ++i) expect_ok(RunWithBinding(s, nullptr, binding));
  expect_ok(SynchronizeBoundOutputs(binding));
  EXPECT_EQ(control.copies_up, up);
  EXPECT_EQ(control.copies_down + control.copies_across, 0);
  copy(dev_y, host_y);
  EXPECT_EQ(control.copies_down, 1);
  EXPECT_EQ(y[0], 2);
  EXPECT_EQ(y[3], 12);
  ReleaseIoBinding(binding);
  ReleaseSession(s);
  for (OrtValue* v : {host_a, host_b, host_y, dev_a, dev_b, dev_y}) ReleaseValue(v);
}

TEST_F(DeviceFlow, StreamsOfTheCaller) {
  expect_ok(SessionOptionsSetEpSelectionPolicy(session_options, OrtExecutionProviderDevicePolicy_MAX_PERFORMANCE));
  control.delay = std::chrono::milliseconds(2);
  OrtSession* s = session();
  OrtSyncStream* stream = nullptr;
  expect_ok(CreateSyncStreamForEpDevice(device(), nullptr, &stream));
  EXPECT_NE(SyncStream_GetHandle(stream), nullptr);
  float a[4] = {1, 2, 3, 4}, b[4] = {1, 1, 2, 2}, y[4] = {};
  OrtValue *host_a = host_tensor(a), *host_b = host_tensor(b), *host_y = host_tensor(y);
  OrtValue *dev_a = device_tensor(), *dev_b = device_tensor(), *dev_y = device_tensor();
  copy(host_a, dev_a, stream);
  copy(host_b, dev_b, stream);
  OrtRunOptions* run_options = nullptr;
  expect_ok(CreateRunOptions(&run_options));
  RunOptionsSetSyncStream(run_options, stream);
  expect_ok(AddRunConfigEntry(run_options, "disable_synchronize_execution_providers", "1"));
  OrtIoBinding* binding = nullptr;
  expect_ok(CreateIoBinding(s, &binding));
  expect_ok(BindInput(binding, "a", dev_a));
  expect_ok(BindInput(binding, "b", dev_b));
  expect_ok(BindOutput(binding, "y", dev_y));
  expect_ok(RunWithBinding(s, run_options, binding));
  copy(dev_y, host_y, stream);  // runs after the run, as they are on one stream
  synchronize(*stream->stream);
  EXPECT_EQ(y[3], 12);
  ReleaseIoBinding(binding);
  ReleaseRunOptions(run_options);
  ReleaseSession(s);
  ReleaseSyncStream(stream);
  for (OrtValue* v : {host_a, host_b, host_y, dev_a, dev_b, dev_y}) ReleaseValue(v);
}

TEST_F(DeviceFlow, PartsOnTheCpu) {
  const OrtEpDevice* d = device();
  expect_ok(SessionOptionsAppendExecutionProvider_V2(session_options, env, &d, 1, nullptr, nullptr, 0));
  OrtSession* s = session(true);
  const OrtEpDevice* out[2] = {};
  expect_ok(SessionGetEpDeviceForOutputs(s, out, 2));
  EXPECT_EQ(out[0], d);
  EXPECT_STREQ(EpDevice_EpName(out[1]), "CPUExecutionProvider");
  float a[4] = {1, 2, 3, 4}, b[4] = {1, 1, 2, 2};
  OrtValue *host_a = host_tensor(a), *host_b = host_tensor(b), *results[2] = {};
  const OrtValue* inputs[2] = {host_a, host_b};
  const char *in[2] = {"a", "b"}, *names[2] = {"z", "y"};
  expect_ok(abi::Run(s, nullptr, in, inputs, 2, names, 2, results));
  void* data = nullptr;
  expect_ok(GetTensorMutableData(results[0], &data));
  EXPECT_EQ(static_cast<float*>(data)[3], -12);
  expect_ok(GetTensorMutableData(results[1], &data));
  EXPECT_EQ(static_cast<float*>(data)[3], 12);
  ReleaseSession(s);
  for (OrtValue* v : {host_a, host_b, results[0], results[1]}) ReleaseValue(v);
}

TEST_F(DeviceFlow, NodesOfEachProvider) {
  const OrtEpDevice* d = device();
  expect_ok(SessionOptionsAppendExecutionProvider_V2(session_options, env, &d, 1, nullptr, nullptr, 0));
  expect_ok(AddSessionConfigEntry(session_options, "session.record_ep_graph_assignment_info", "1"));
  OrtSession* s = session(true);
  const OrtEpAssignedSubgraph* const* parts = nullptr;
  size_t count = 0;
  expect_ok(Session_GetEpGraphAssignmentInfo(s, &parts, &count));
  ASSERT_EQ(count, 2u);
  const size_t sizes[] = {2, 1};
  for (size_t i = 0; i < 2; ++i) {
    const OrtEpAssignedNode* const* nodes = nullptr;
    const char* text = nullptr;
    expect_ok(EpAssignedSubgraph_GetEpName(parts[i], &text));
    EXPECT_STREQ(text, i == 0 ? "TestProvider" : "CPUExecutionProvider");
    expect_ok(EpAssignedSubgraph_GetNodes(parts[i], &nodes, &count));
    ASSERT_EQ(count, sizes[i]);
    expect_ok(EpAssignedNode_GetName(nodes[count - 1], &text));
    EXPECT_STREQ(text, i == 0 ? "product" : "minus");
  }
  ReleaseSession(s);
}

TEST_F(DeviceFlow, FallingBackCanBeForbidden) {
  const OrtEpDevice* d = device();
  expect_ok(SessionOptionsAppendExecutionProvider_V2(session_options, env, &d, 1, nullptr, nullptr, 0));
  expect_ok(AddSessionConfigEntry(session_options, "session.disable_cpu_ep_fallback", "1"));
  ReleaseSession(session());
  OrtSession* s = nullptr;
  const std::string text = failure(CreateSession(env, model_file(true).c_str(), session_options, &s), ORT_FAIL);
  EXPECT_NE(text.find("no provider takes node 'minus' (Neg)"), std::string::npos) << text;
  EXPECT_EQ(s, nullptr);
}

TEST_F(DeviceFlow, ProvidersByName) {
  expect_ok(SessionOptionsAppendExecutionProvider(session_options, "TestProvider", nullptr, nullptr, 0));
  OrtSession* s = session();
  const OrtEpDevice* in[2] = {};
  expect_ok(SessionGetEpDeviceForInputs(s, in, 2));
  EXPECT_EQ(in[0], device());
  ReleaseSession(s);
  expect_ok(SessionOptionsAppendExecutionProvider(session_options, "TestProvider", nullptr, nullptr, 0));
  failure(CreateSession(env, model_file(false).c_str(), session_options, &s), ORT_FAIL);  // both attempts fail
  failure(SessionOptionsAppendExecutionProvider(session_options, "NobodysProvider", nullptr, nullptr, 0),
          ORT_INVALID_ARGUMENT);
}

// A name of the old interface selects the plug-in of that name if one is registered.
TEST_F(DeviceFlow, OldNamesReachPlugIns) {
  failure(SessionOptionsAppendExecutionProvider_CUDA_V2(session_options, nullptr), ORT_FAIL);
  DeviceControl cuda;
  cuda.name = "CUDAExecutionProvider";
  cuda.space.device_id = 5;
  env->devices->add(*env, std::make_shared<TestFactory>(cuda, gpu));
  expect_ok(SessionOptionsAppendExecutionProvider_CUDA_V2(session_options, nullptr));
  OrtSession* s = session();
  const OrtEpDevice* in[2] = {};
  expect_ok(SessionGetEpDeviceForInputs(s, in, 2));
  EXPECT_STREQ(EpDevice_EpName(in[0]), "CUDAExecutionProvider");
  ReleaseSession(s);
  // References to the second device must be released before the one that counts them.
  ReleaseSessionOptions(std::exchange(session_options, nullptr));
  ReleaseEnv(std::exchange(env, nullptr));
}

TEST_F(DeviceFlow, DelegatesSeeAllDevices) {
  struct Seen {
    size_t offered = 0;
    bool take_cpu = false;
  } seen;
  const auto delegate = [](const OrtEpDevice** devices, size_t count, const OrtKeyValuePairs*, const OrtKeyValuePairs*,
                           const OrtEpDevice** selected, size_t, size_t* chosen, void* state) -> OrtStatus* {
    auto& s = *static_cast<Seen*>(state);
    s.offered = count;
    selected[0] = devices[s.take_cpu ? count - 1 : 0];
    *chosen = 1;
    return nullptr;
  };
  expect_ok(SessionOptionsSetEpSelectionPolicyDelegate(session_options, delegate, &seen));
  for (const bool cpu : {false, true}) {
    seen.take_cpu = cpu;
    OrtSession* s = session();
    EXPECT_EQ(seen.offered, 2u);
    const OrtEpDevice* in[2] = {};
    expect_ok(SessionGetEpDeviceForInputs(s, in, 2));
    EXPECT_EQ(in[0] == device(), !cpu);
    ReleaseSession(s);
  }
}

TEST_F(DeviceFlow, PoliciesWithoutSuchADevice) {
  for (const auto policy :
       {OrtExecutionProviderDevicePolicy_PREFER_NPU, OrtExecutionProviderDevicePolicy_PREFER_CPU,
        OrtExecutionProviderDevicePolicy_DEFAULT, OrtExecutionProviderDevicePolicy_MIN_OVERALL_POWER}) {
    expect_ok(SessionOptionsSetEpSelectionPolicy(session_options, policy));
    OrtSession* s = session();
    const OrtEpDevice* in[2] = {};
    expect_ok(SessionGetEpDeviceForInputs(s, in, 2));
    EXPECT_STREQ(EpDevice_EpName(in[0]), "CPUExecutionProvider");
    ReleaseSession(s);
  }
}

TEST_F(DeviceFlow, SharedAllocators) {
  OrtAllocator *first = shared(), *again = nullptr;
  expect_ok(CreateSharedAllocator(env, device(), OrtDeviceMemoryType_DEFAULT, OrtDeviceAllocator, nullptr, &again));
  EXPECT_EQ(first, again);
  void* p = nullptr;
  expect_ok(AllocatorAlloc(first, 100, &p));
  EXPECT_EQ(factory->memory().blocks(), 1u);
  expect_ok(AllocatorFree(first, p));
  EXPECT_EQ(factory->memory().blocks(), 0u);
  expect_ok(ReleaseSharedAllocator(env, device(), OrtDeviceMemoryType_DEFAULT));
  const std::string gone =
      failure(ReleaseSharedAllocator(env, device(), OrtDeviceMemoryType_DEFAULT), ORT_INVALID_ARGUMENT);
  EXPECT_NE(gone.find("no allocator is shared"), std::string::npos);
  expect_ok(GetSharedAllocator(env, info(), &again));
  EXPECT_EQ(again, nullptr);
  expect_ok(CreateSharedAllocator(env, device(), OrtDeviceMemoryType_DEFAULT, OrtDeviceAllocator, nullptr, &again));
  EXPECT_NE(again, nullptr);
  failure(
      CreateSharedAllocator(env, device(), OrtDeviceMemoryType_HOST_ACCESSIBLE, OrtDeviceAllocator, nullptr, &again),
      ORT_INVALID_ARGUMENT);
}

// Functions that would read such memory on the host reject it, and do not touch the guard pages around the device's
// memory.
TEST_F(DeviceFlow, TensorsOfDevicesWhereTheHostReads) {
  OrtValue *dev = device_tensor(), *made = nullptr;
  const OrtValue* two[2] = {dev, dev};
  failure(CreateValue(two, 2, ONNX_TYPE_SEQUENCE, &made), ORT_INVALID_ARGUMENT);
  failure(CreateValue(two, 2, ONNX_TYPE_MAP, &made), ORT_INVALID_ARGUMENT);
  const char* name = "w";
  failure(AddExternalInitializers(session_options, &name, two, 1), ORT_INVALID_ARGUMENT);
  failure(CreateTensorAsOrtValue(shared(), kShape, 1, ONNX_TENSOR_ELEMENT_DATA_TYPE_STRING, &made),
          ORT_INVALID_ARGUMENT);
  EXPECT_EQ(made, nullptr);
  ReleaseValue(dev);
}

TEST_F(DeviceFlow, CopiesThatCannotBe) {
  float a[4] = {1, 2, 3, 4}, three[3] = {};
  OrtValue *host = host_tensor(a), *dev = device_tensor(), *other = host_tensor(a), *small = nullptr;
  const int64_t shape[1] = {3};
  expect_ok(CreateTensorWithDataAsOrtValue(&cpu_memory_info(), three, sizeof three, shape, 1,
                                           ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT, &small));
  const auto refused = [&](const OrtValue* from, OrtValue* to, OrtErrorCode code) {
    return failure(CopyTensors(env, &from, &to, nullptr, 1), code);
  };
  EXPECT_NE(refused(small, dev, ORT_INVALID_ARGUMENT).find("float32[3] cannot be copied to float32[4]"),
            std::string::npos);
  refused(host, other, ORT_NOT_IMPLEMENTED);
  const OrtValue* mixed[2] = {host, dev};
  OrtValue* to[2] = {dev, dev};
  failure(CopyTensors(env, mixed, to, nullptr, 2), ORT_INVALID_ARGUMENT);
  EXPECT_EQ(control.copies_up, 0);
  for (OrtValue* v : {host, dev, other, small}) ReleaseValue(v);
}

}  // namespace
}  // namespace retort::abi
