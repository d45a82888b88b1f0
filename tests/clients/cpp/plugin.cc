// A plug-in provider that is written with the C++ interface alone: its kernel of Gemm packs and shares its weight, and
// reports events to a profile. It checks what the interface tells of the graph of dense.onnx, of its parts, and of a
// run.
#define ORT_API_MANUAL_INIT
#include <onnxruntime_cxx_api.h>

#include <cstring>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

int shared_weights = 0, runs = 0;

void expect(bool holds, const std::string& what) {
  if (!holds) throw std::runtime_error("plug-in: " + what);
}

/// The status of a call that may throw.
OrtStatus* status_of(const std::function<void()>& call) noexcept {
  try {
    call();
    return nullptr;
  } catch (const std::exception& e) {
    return Ort::Status(e.what(), ORT_FAIL).release();
  }
}

std::vector<std::string> names(const std::vector<Ort::ConstValueInfo>& values) {
  std::vector<std::string> all;
  for (const Ort::ConstValueInfo& value : values) all.push_back(value.GetName());
  return all;
}

using Names = std::vector<std::string>;

void check_value(const Ort::ConstValueInfo& g) {
  const Ort::ValueInfoConsumerProducerInfo producer = g.GetProducerNode();
  const auto readers = g.GetConsumers();
  expect(producer.node.GetOperatorType() == "Gemm" && producer.index == 0, "the node that makes g");
  expect(readers.size() == 1 && readers[0].node.GetOperatorType() == "Relu" && readers[0].index == 0, "its reader");
  expect(!g.IsConstantInitializer() && !g.IsFromOuterScope(), "g is a value of this graph");
  Ort::ExternalInitializerInfo file(nullptr);
  expect(g.GetExternalInitializerInfo(file).IsOK() && !file, "g is in no file");
  expect(g.TypeInfo().GetTensorTypeAndShapeInfo().GetElementType() == ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT, "its type");
}

void check_node(const Ort::ConstNode& gemm) {
  expect(gemm.GetDomain().empty() && gemm.GetSinceVersion() >= 7, "domain and version");
  expect(names(gemm.GetInputs()) == Names({"x", "w", "b"}) && names(gemm.GetOutputs()) == Names({"g"}), "values");
  expect(gemm.GetImplicitInputs().empty() && gemm.GetSubgraphs().empty(), "no bodies");
  expect(gemm.GetEpName().empty(), "no provider has the node yet");
  expect(gemm.GetGraph().GetNodes().size() == 3, "the graph of a node");
  Ort::ConstOpAttr attribute;
  const Ort::Status absent = gemm.GetAttributeByName("nonesuch", attribute);
  expect(!attribute && !absent.IsOK() && absent.GetErrorCode() == ORT_NOT_FOUND, "no such attribute");
  expect(gemm.GetAttributeByName("alpha", attribute).IsOK() && attribute.GetName() == "alpha", "a default");
}

void check_graph(const Ort::ConstGraph& graph) {
  expect(names(graph.GetInputs()) == Names({"x"}) && names(graph.GetOutputs()) == Names({"y", "s"}), "inputs, outputs");
  expect(graph.GetInitializers().size() == 3, "initializers");
  expect(graph.GetName() == "dense" && graph.GetOnnxIRVersion() >= 7, "name and version");
  expect(static_cast<const OrtNode*>(graph.GetParentNode()) == nullptr, "no node has the graph");
  expect(graph.GetModelPath().find("dense.onnx") != std::string::npos, "the model's file");
  expect(graph.GetOperatorSets().size() >= 1 &&
             graph.GetModelMetadata().GetGraphNameAllocated(Ort::AllocatorWithDefaultOptions()).get() ==
                 std::string("dense"),
         "operator sets and metadata");
  const std::vector<Ort::ConstNode> nodes = graph.GetNodes();
  expect(nodes.size() == 3 && nodes[0].GetOperatorType() == "Gemm", "nodes in order");
  const Ort::Graph part = graph.GetGraphView({nodes[0], nodes[1]});
  expect(part.GetNodes().size() == 2 && names(part.GetOutputs()) == Names({"y"}), "a part of the graph");
  check_node(nodes[0]);
  check_value(nodes[0].GetOutputs()[0]);
}

struct Gemm : OrtKernelImpl {
  std::vector<float> own;
  const float* weight = nullptr;

  Gemm() : OrtKernelImpl{} {
    ort_version_supported = ORT_API_VERSION;
    Release = [](OrtKernelImpl* k) noexcept { delete static_cast<Gemm*>(k); };
    Compute = [](OrtKernelImpl* k, OrtKernelContext* context) noexcept {
      return status_of([&] { static_cast<Gemm*>(k)->run(Ort::KernelContext(context)); });
    };
    PrePackWeight = [](OrtKernelImpl* k, const OrtValue* value, int input, OrtAllocator* allocator,
                       OrtSharedPrePackedWeightCache* cache, bool* is_packed) noexcept {
      *is_packed = input == 1;
      return input == 1 ? status_of([&] { static_cast<Gemm*>(k)->pack(value, allocator, cache); }) : nullptr;
    };
    SetSharedPrePackedWeight = [](OrtKernelImpl* k, const void* const* buffers, const size_t*, size_t,
                                  int) noexcept -> OrtStatus* {
      static_cast<Gemm*>(k)->weight = static_cast<const float*>(buffers[0]);
      return nullptr;
    };
  }

  void pack(const OrtValue* value, OrtAllocator* allocator, OrtSharedPrePackedWeightCache* cache) {
    const float* from = Ort::ConstValue(value).GetTensorData<float>();
    own.assign(from, from + 6);
    weight = own.data();
    if (!cache) return;
    size_t size = 6 * sizeof(float);
    void* shared = allocator->Alloc(allocator, size);
    std::memcpy(shared, from, size);
    weight = nullptr;
    Ort::ThrowOnError(Ort::UnownedSharedPrePackedWeightCache(cache).StoreWeightData(&shared, &size, 1));
    ++shared_weights;
  }

  void run(const Ort::KernelContext& context) const {
    ++runs;
    expect(context.GetSyncStream() == nullptr, "a run on the processor has no stream");
    expect(weight != nullptr, "a packed weight");
    const Ort::ConstValue x = context.GetInput(0), b = context.GetInput(2);
    const int64_t rows = x.GetTensorTypeAndShapeInfo().GetShape()[0];
    const float *in = x.GetTensorData<float>(), *bias = b.GetTensorData<float>();
    const int64_t shape[] = {rows, 2};
    float* out = context.GetOutput(0, shape, 2).GetTensorMutableData<float>();
    for (int64_t i = 0; i < 2 * rows; ++i) {
      out[i] = bias[i % 2];
      for (int64_t k = 0; k < 3; ++k) out[i] += in[i / 2 * 3 + k] * weight[2 * k + i % 2];
    }
  }
};

struct Profiler : OrtEpProfilerImpl {
  Profiler() : OrtEpProfilerImpl{} {
    ort_version_supported = ORT_API_VERSION;
    Release = [](OrtEpProfilerImpl* p) noexcept { delete static_cast<Profiler*>(p); };
    StartProfiling = [](OrtEpProfilerImpl*, int64_t) noexcept -> OrtStatus* { return nullptr; };
    StartEvent = [](OrtEpProfilerImpl*, uint64_t) noexcept -> OrtStatus* { return nullptr; };
    StopEvent = [](OrtEpProfilerImpl*, uint64_t, const OrtProfilingEvent*) noexcept -> OrtStatus* { return nullptr; };
    EndProfiling = [](OrtEpProfilerImpl*, OrtProfilingEventsContainer* to) noexcept {
      return status_of([&] {
        std::vector<Ort::ProfilingEvent> events;
        events.emplace_back(OrtProfilingEventCategory_KERNEL, -1, -1, "event of the plug-in", 10, 5);
        Ort::ThrowOnError(Ort::UnownedProfilingEventsContainer(to).AddEvents(events));
      });
    };
  }
};

struct Ep : OrtEp {
  Ort::KernelRegistry registry;

  Ep() : OrtEp{} {
    ort_version_supported = ORT_API_VERSION;
    Ort::KernelDefBuilder builder;
    builder.SetOperatorType("Gemm").SetDomain("").SetSinceVersion(7, 30).SetExecutionProvider("written_in_cpp");
    const auto make = [](void*, const OrtKernelInfo*, OrtKernelImpl** kernel) -> OrtStatus* {
      *kernel = new Gemm;
      return nullptr;
    };
    Ort::ThrowOnError(registry.AddKernel(builder.Build(), make, nullptr));
    GetName = [](const OrtEp*) noexcept { return "written_in_cpp"; };
    GetCapability = [](OrtEp*, const OrtGraph* given, OrtEpGraphSupportInfo* info) noexcept {
      return status_of([&] {
        const Ort::ConstGraph graph(given);
        for (const Ort::ConstNode& node : graph.GetNodes()) {
          if (node.GetOperatorType() != "Gemm" || !node.GetEpName().empty()) continue;
          check_graph(graph);
          Ort::ThrowOnError(Ort::GetEpApi().EpGraphSupportInfo_AddSingleNode(info, node));
        }
      });
    };
    GetKernelRegistry = [](OrtEp* ep, const OrtKernelRegistry** to) noexcept -> OrtStatus* {
      *to = static_cast<Ep*>(ep)->registry;
      return nullptr;
    };
    CreateProfiler = [](OrtEp*, OrtEpProfilerImpl** to) noexcept -> OrtStatus* {
      *to = new Profiler;
      return nullptr;
    };
  }
};

struct Factory : OrtEpFactory {
  Factory() : OrtEpFactory{} {
    ort_version_supported = ORT_API_VERSION;
    GetName = [](const OrtEpFactory*) noexcept { return "written_in_cpp"; };
    GetVendor = [](const OrtEpFactory*) noexcept { return "tests"; };
    GetVendorId = [](const OrtEpFactory*) noexcept -> uint32_t { return 0x1234; };
    GetVersion = [](const OrtEpFactory*) noexcept { return "1.0.0"; };
    GetSupportedDevices = [](OrtEpFactory* self, const OrtHardwareDevice* const* devices, size_t count,
                             OrtEpDevice** to, size_t most, size_t* found) noexcept -> OrtStatus* {
      *found = 0;
      for (size_t i = 0; i < count && *found < most; ++i) {
        if (Ort::ConstHardwareDevice(devices[i]).Type() != OrtHardwareDeviceType_CPU) continue;
        if (OrtStatus* bad = Ort::GetEpApi().CreateEpDevice(self, devices[i], nullptr, nullptr, &to[*found]))
          return bad;
        ++*found;
      }
      return nullptr;
    };
    CreateDataTransfer = [](OrtEpFactory*, OrtDataTransferImpl** to) noexcept -> OrtStatus* {
      *to = nullptr;  // its memory is that of the host
      return nullptr;
    };
    IsStreamAware = [](const OrtEpFactory*) noexcept { return false; };
    CreateEp = [](OrtEpFactory*, const OrtHardwareDevice* const*, const OrtKeyValuePairs* const*, size_t,
                  const OrtSessionOptions*, const OrtLogger*,
                  OrtEp** to) noexcept { return status_of([&] { *to = new Ep; }); };
    ReleaseEp = [](OrtEpFactory*, OrtEp* ep) noexcept { delete static_cast<Ep*>(ep); };
  }
};

}  // namespace

extern "C" {

/// Whether it shared weights and ran as often: a host may go on without a provider that fails.
__attribute__((visibility("default"))) bool plugin_did(int weights, int calls) {
  return shared_weights == weights && runs == calls;
}

__attribute__((visibility("default"))) OrtStatus* CreateEpFactories(const char*, const OrtApiBase* base,
                                                                    const OrtLogger*, OrtEpFactory** factories, size_t,
                                                                    size_t* count) {
  Ort::InitApi(base->GetApi(ORT_API_VERSION));
  factories[0] = new Factory;
  *count = 1;
  return nullptr;
}

__attribute__((visibility("default"))) OrtStatus* ReleaseEpFactory(OrtEpFactory* factory) {
  delete static_cast<Factory*>(factory);
  return nullptr;
}

}  // extern "C"
