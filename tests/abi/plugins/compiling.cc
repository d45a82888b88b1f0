// A plug-in library for tests: a provider that compiles Add, Mul and Neg of equal shapes, on a device whose memory is that
// of the host under another name, with a transfer that counts. It runs in any engine that hosts plug-ins; counters are told
// by `plugin_counts`.
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>
#include <vector>

#include "retort/onnxruntime_ep_c_api.h"

namespace {

const OrtApi* api = nullptr;
const OrtEpApi* ep_api = nullptr;

std::atomic<int64_t> up{0}, down{0}, computed{0}, alive{0};

OrtStatus* error(const char* text) { return api->CreateStatus(ORT_EP_FAIL, text); }

#define TRY(call)                        \
  do {                                   \
    if (OrtStatus* s = (call)) return s; \
  } while (false)

// Memory
// ---------------------------------------------------------------------------------------------------------------------

struct Memory : OrtAllocator {
  OrtMemoryInfo* info = nullptr;
  Memory() : OrtAllocator{} {
    version = 23;
    Alloc = [](OrtAllocator*, size_t size) -> void* {
      ++alive;
      return std::malloc(size ? size : 1);
    };
    Reserve = Alloc;
    Free = [](OrtAllocator*, void* p) {
      if (!p) return;
      --alive;
      std::free(p);
    };
    Info = [](const OrtAllocator* a) -> const OrtMemoryInfo* { return static_cast<const Memory*>(a)->info; };
  }
};

struct Transfer : OrtDataTransferImpl {
  Transfer() : OrtDataTransferImpl{} {
    ort_version_supported = 23;
    OrtDataTransferImpl::Release = [](OrtDataTransferImpl* t) noexcept { delete static_cast<Transfer*>(t); };
    CanCopy = [](const OrtDataTransferImpl*, const OrtMemoryDevice* from, const OrtMemoryDevice* to) noexcept {
      const auto known = [](const OrtMemoryDevice* d) {
        return ep_api->MemoryDevice_GetDeviceType(d) == OrtMemoryInfoDeviceType_CPU ||
               ep_api->MemoryDevice_GetVendorId(d) == 0xbeef;
      };
      return known(from) && known(to);
    };
    CopyTensors = [](OrtDataTransferImpl*, const OrtValue** from, OrtValue** to, OrtSyncStream**,
                     size_t count) noexcept -> OrtStatus* {
      for (size_t i = 0; i < count; ++i) {
        const bool to_device =
            ep_api->MemoryDevice_GetDeviceType(ep_api->Value_GetMemoryDevice(to[i])) != OrtMemoryInfoDeviceType_CPU;
        ++(to_device ? up : down);
        size_t bytes = 0;
        const void* source = nullptr;
        void* target = nullptr;
        TRY(api->GetTensorSizeInBytes(from[i], &bytes));
        TRY(api->GetTensorData(from[i], &source));
        TRY(api->GetTensorMutableData(to[i], &target));
        std::memcpy(target, source, bytes);
      }
      return nullptr;
    };
  }
};

// A compiled part: its nodes one after the other
// ---------------------------------------------------------------------------------------------------------------------

struct Operation {
  std::string type;
  std::vector<std::string> in;
  std::string out;
};

std::string name_of(const OrtValueInfo* value) {
  const char* name = "";
  if (value) api->ReleaseStatus(api->GetValueInfoName(value, &name));
  return name;
}

std::string type_of(const OrtNode* node) {
  const char* type = "";
  api->ReleaseStatus(api->Node_GetOperatorType(node, &type));
  return type;
}

std::vector<std::string> names_of(const OrtNode* node, bool outputs) {
  size_t count = 0;
  api->ReleaseStatus(outputs ? api->Node_GetNumOutputs(node, &count) : api->Node_GetNumInputs(node, &count));
  std::vector<const OrtValueInfo*> values(count);
  api->ReleaseStatus(outputs ? api->Node_GetOutputs(node, values.data(), count)
                             : api->Node_GetInputs(node, values.data(), count));
  std::vector<std::string> names;
  for (const OrtValueInfo* v : values) names.push_back(name_of(v));
  return names;
}

struct Part : OrtNodeComputeInfo {
  std::vector<Operation> operations;
  std::vector<std::string> inputs, outputs;
  Part() : OrtNodeComputeInfo{} {
    ort_version_supported = 23;
    CreateState = [](OrtNodeComputeInfo* p, OrtNodeComputeContext* context, void** state) -> OrtStatus* {
      if (!*ep_api->NodeComputeContext_NodeName(context)) return error("a part without a name");
      *state = p;
      return nullptr;
    };
    Compute = [](OrtNodeComputeInfo*, void* state, OrtKernelContext* context) {
      return static_cast<Part*>(state)->run(context);
    };
    ReleaseState = [](OrtNodeComputeInfo*, void*) {};
  }

  OrtStatus* run(OrtKernelContext* context) const {
    ++computed;
    std::map<std::string, std::vector<float>> values;
    std::vector<int64_t> shape;
    for (size_t i = 0; i < inputs.size(); ++i) {
      const OrtValue* value = nullptr;
      const void* data = nullptr;
      OrtTensorTypeAndShapeInfo* info = nullptr;
      size_t count = 0, rank = 0;
      TRY(api->KernelContext_GetInput(context, i, &value));
      if (ep_api->MemoryDevice_GetDeviceType(ep_api->Value_GetMemoryDevice(value)) == OrtMemoryInfoDeviceType_CPU)
        return error("an input lies on the host");
      TRY(api->GetTensorData(value, &data));
      TRY(api->GetTensorTypeAndShape(value, &info));
      TRY(api->GetTensorShapeElementCount(info, &count));
      TRY(api->GetDimensionsCount(info, &rank));
      shape.resize(rank);
      TRY(api->GetDimensions(info, shape.data(), rank));
      api->ReleaseTensorTypeAndShapeInfo(info);
      values[inputs[i]].assign(static_cast<const float*>(data), static_cast<const float*>(data) + count);
    }
    for (const Operation& op : operations) {
      std::vector<float> y = values[op.in[0]];
      for (size_t i = 0; i < y.size(); ++i) {
        if (op.type == "Neg") y[i] = -y[i];
        if (op.type == "Add") y[i] += values[op.in[1]][i];
        if (op.type == "Mul") y[i] *= values[op.in[1]][i];
      }
      values[op.out] = std::move(y);
    }
    for (size_t i = 0; i < outputs.size(); ++i) {
      OrtValue* value = nullptr;
      void* data = nullptr;
      TRY(api->KernelContext_GetOutput(context, i, shape.data(), shape.size(), &value));
      TRY(api->GetTensorMutableData(value, &data));
      std::memcpy(data, values[outputs[i]].data(), values[outputs[i]].size() * sizeof(float));
    }
    return nullptr;
  }
};

struct Ep : OrtEp {
  Ep() : OrtEp{} {
    ort_version_supported = 23;
    GetName = [](const OrtEp*) noexcept { return "compiling"; };
    GetCapability = [](OrtEp*, const OrtGraph* graph, OrtEpGraphSupportInfo* info) noexcept -> OrtStatus* {
      size_t count = 0;
      TRY(api->Graph_GetNumNodes(graph, &count));
      std::vector<const OrtNode*> nodes(count), group;
      TRY(api->Graph_GetNodes(graph, nodes.data(), count));
      const OrtNodeFusionOptions options{23, false};
      const auto close = [&]() -> OrtStatus* {
        OrtStatus* status = group.empty()
                                ? nullptr
                                : ep_api->EpGraphSupportInfo_AddNodesToFuse(info, group.data(), group.size(), &options);
        group.clear();
        return status;
      };
      for (const OrtNode* node : nodes) {
        const std::string type = type_of(node);
        if (type == "Add" || type == "Mul" || type == "Neg")
          group.push_back(node);
        else
          TRY(close());
      }
      return close();
    };
    Compile = [](OrtEp*, const OrtGraph** graphs, const OrtNode** fused, size_t count, OrtNodeComputeInfo** infos,
                 OrtNode**) noexcept -> OrtStatus* {
      for (size_t g = 0; g < count; ++g) {
        auto* part = new Part;
        infos[g] = part;
        size_t n = 0;
        TRY(api->Graph_GetNumNodes(graphs[g], &n));
        std::vector<const OrtNode*> nodes(n);
        TRY(api->Graph_GetNodes(graphs[g], nodes.data(), n));
        for (const OrtNode* node : nodes)
          part->operations.push_back({type_of(node), names_of(node, false), names_of(node, true)[0]});
        part->inputs = names_of(fused[g], false);
        part->outputs = names_of(fused[g], true);
      }
      return nullptr;
    };
    ReleaseNodeComputeInfos = [](OrtEp*, OrtNodeComputeInfo** infos, size_t count) noexcept {
      for (size_t i = 0; i < count; ++i) delete static_cast<Part*>(infos[i]);
    };
  }
};

struct Factory : OrtEpFactory {
  OrtMemoryInfo* info = nullptr;
  Factory() : OrtEpFactory{} {
    ort_version_supported = 23;
    GetName = [](const OrtEpFactory*) noexcept { return "compiling"; };
    GetVendor = [](const OrtEpFactory*) noexcept { return "Retort tests"; };
    GetVendorId = [](const OrtEpFactory*) noexcept { return 0xbeefu; };
    GetVersion = [](const OrtEpFactory*) noexcept { return "1.2.3"; };
    GetSupportedDevices = [](OrtEpFactory* f, const OrtHardwareDevice* const* devices, size_t count, OrtEpDevice** made,
                             size_t room, size_t* number) noexcept -> OrtStatus* {
      *number = 0;
      for (size_t i = 0; i < count && *number < room; ++i) {
        if (api->HardwareDevice_Type(devices[i]) != OrtHardwareDeviceType_CPU) continue;
        TRY(ep_api->CreateEpDevice(f, devices[i], nullptr, nullptr, &made[*number]));
        TRY(ep_api->EpDevice_AddAllocatorInfo(made[*number], static_cast<Factory*>(f)->info));
        ++*number;
      }
      return nullptr;
    };
    CreateEp = [](OrtEpFactory*, const OrtHardwareDevice* const*, const OrtKeyValuePairs* const*, size_t,
                  const OrtSessionOptions*, const OrtLogger*, OrtEp** made) noexcept -> OrtStatus* {
      *made = new Ep;
      return nullptr;
    };
    ReleaseEp = [](OrtEpFactory*, OrtEp* ep) noexcept { delete static_cast<Ep*>(ep); };
    CreateAllocator = [](OrtEpFactory* f, const OrtMemoryInfo*, const OrtKeyValuePairs*,
                         OrtAllocator** made) noexcept -> OrtStatus* {
      auto* memory = new Memory;
      memory->info = static_cast<Factory*>(f)->info;
      *made = memory;
      return nullptr;
    };
    ReleaseAllocator = [](OrtEpFactory*, OrtAllocator* a) noexcept { delete static_cast<Memory*>(a); };
    CreateDataTransfer = [](OrtEpFactory*, OrtDataTransferImpl** made) noexcept -> OrtStatus* {
      *made = new Transfer;
      return nullptr;
    };
    IsStreamAware = [](const OrtEpFactory*) noexcept { return false; };
  }
  ~Factory() { api->ReleaseMemoryInfo(info); }
};

}  // namespace

extern "C" {

__attribute__((visibility("default"))) OrtStatus* CreateEpFactories(const char*, const OrtApiBase* base,
                                                                    const OrtLogger*, OrtEpFactory** factories,
                                                                    size_t room, size_t* count) {
  api = base->GetApi(23);
  ep_api = api->GetEpApi();
  if (room < 1) return error("no room for a factory");
  auto* factory = new Factory;
  *count = 1;
  factories[0] = factory;
  return api->CreateMemoryInfo_V2("CompilingMemory", OrtMemoryInfoDeviceType_GPU, 0xbeef, 0,
                                  OrtDeviceMemoryType_DEFAULT, 0, OrtDeviceAllocator, &factory->info);
}

__attribute__((visibility("default"))) OrtStatus* ReleaseEpFactory(OrtEpFactory* factory) {
  delete static_cast<Factory*>(factory);
  return nullptr;
}

/// Copies to the device, from it, parts computed, blocks alive.
__attribute__((visibility("default"))) void plugin_counts(int64_t counts[4]) {
  counts[0] = up;
  counts[1] = down;
  counts[2] = computed;
  counts[3] = alive;
}
}
