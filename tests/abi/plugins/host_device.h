// Shared by the plug-in libraries of tests: the host's interface, a device whose memory is host memory under another
// name, and a factory that offers it on the CPU. Build a library that includes this with hidden visibility; otherwise
// the loader would give all of them one `api`, whatever version each has requested.
#pragma once
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "retort/onnxruntime_ep_c_api.h"

namespace plugins {

inline const OrtApi* api = nullptr;
inline const OrtEpApi* ep_api = nullptr;

/// Copies to the device and from it, and blocks of its memory that were not freed.
inline std::atomic<int64_t> up{0}, down{0}, alive{0};

inline OrtStatus* error(const char* text) { return api->CreateStatus(ORT_EP_FAIL, text); }

#define TRY(call)                        \
  do {                                   \
    if (OrtStatus* s = (call)) return s; \
  } while (false)

// Nodes and tensors
// ---------------------------------------------------------------------------------------------------------------------

inline OrtStatus* nodes_of(const OrtGraph* graph, std::vector<const OrtNode*>& nodes) {
  size_t count = 0;
  TRY(api->Graph_GetNumNodes(graph, &count));
  nodes.resize(count);
  return api->Graph_GetNodes(graph, nodes.data(), count);
}

/// Claims the nodes that a registered kernel computes; `tell` receives the definition of each.
inline OrtStatus* claim_nodes_of_kernels(const OrtGraph* graph, OrtEpGraphSupportInfo* info,
                                         void (*tell)(const OrtKernelDef*) = nullptr) {
  std::vector<const OrtNode*> nodes;
  TRY(nodes_of(graph, nodes));
  for (const OrtNode* node : nodes) {
    const OrtKernelDef* def = nullptr;
    TRY(ep_api->EpGraphSupportInfo_LookUpKernel(info, node, &def));
    if (!def) continue;
    if (tell) tell(def);
    TRY(ep_api->EpGraphSupportInfo_AddSingleNode(info, node));
  }
  return nullptr;
}

/// A compiled part without state between runs.
template <OrtStatus* (*kCompute)(OrtKernelContext*)>
struct StatelessPart : OrtNodeComputeInfo {
  StatelessPart() : OrtNodeComputeInfo{} {
    ort_version_supported = 23;
    CreateState = [](OrtNodeComputeInfo* p, OrtNodeComputeContext*, void** state) -> OrtStatus* {
      *state = p;
      return nullptr;
    };
    Compute = [](OrtNodeComputeInfo*, void*, OrtKernelContext* context) { return kCompute(context); };
    ReleaseState = [](OrtNodeComputeInfo*, void*) {};
  }
};

/// OrtEpFactory::CreateEp and OrtEpFactory::ReleaseEp of providers that take no options.
template <typename Ep>
OrtStatus* create_ep(OrtEpFactory*, const OrtHardwareDevice* const*, const OrtKeyValuePairs* const*, size_t,
                     const OrtSessionOptions*, const OrtLogger*, OrtEp** made) noexcept {
  *made = new Ep;
  return nullptr;
}
template <typename Ep>
void delete_ep(OrtEpFactory*, OrtEp* ep) noexcept {
  delete static_cast<Ep*>(ep);
}

/// OrtEp::Compile and OrtEp::ReleaseNodeComputeInfos of parts that are all alike.
template <typename Part>
OrtStatus* make_parts(OrtEp*, const OrtGraph**, const OrtNode**, size_t count, OrtNodeComputeInfo** infos,
                      OrtNode**) noexcept {
  for (size_t i = 0; i < count; ++i) infos[i] = new Part;
  return nullptr;
}
template <typename Part>
void delete_parts(OrtEp*, OrtNodeComputeInfo** infos, size_t count) noexcept {
  for (size_t i = 0; i < count; ++i) delete static_cast<Part*>(infos[i]);
}

inline std::string type_of(const OrtNode* node) {
  const char* type = "";
  api->ReleaseStatus(api->Node_GetOperatorType(node, &type));
  return type;
}

struct Floats {
  const float* data = nullptr;
  size_t count = 0;
  std::vector<int64_t> shape;
};

inline OrtStatus* read(const OrtValue* value, Floats& floats) {
  OrtTensorTypeAndShapeInfo* info = nullptr;
  const void* data = nullptr;
  size_t rank = 0;
  TRY(api->GetTensorData(value, &data));
  TRY(api->GetTensorTypeAndShape(value, &info));
  TRY(api->GetTensorShapeElementCount(info, &floats.count));
  TRY(api->GetDimensionsCount(info, &rank));
  floats.shape.resize(rank);
  TRY(api->GetDimensions(info, floats.shape.data(), rank));
  api->ReleaseTensorTypeAndShapeInfo(info);
  floats.data = static_cast<const float*>(data);
  return nullptr;
}

/// The first input of a kernel or part.
inline OrtStatus* read_first(OrtKernelContext* context, Floats& floats) {
  const OrtValue* value = nullptr;
  TRY(api->KernelContext_GetInput(context, 0, &value));
  return read(value, floats);
}

inline OrtStatus* make_output(OrtKernelContext* context, size_t index, const std::vector<int64_t>& shape,
                              float*& data) {
  OrtValue* value = nullptr;
  void* raw = nullptr;
  TRY(api->KernelContext_GetOutput(context, index, shape.data(), shape.size(), &value));
  TRY(api->GetTensorMutableData(value, &raw));
  data = static_cast<float*>(raw);
  return nullptr;
}

// The device
// ---------------------------------------------------------------------------------------------------------------------

struct Memory : OrtAllocator {
  const OrtMemoryInfo* info;
  explicit Memory(const OrtMemoryInfo* of) : OrtAllocator{}, info(of) {
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
    Info = [](const OrtAllocator* a) { return static_cast<const Memory*>(a)->info; };
  }
};

struct Transfer : OrtDataTransferImpl {
  const uint32_t vendor;
  explicit Transfer(uint32_t of) : OrtDataTransferImpl{}, vendor(of) {
    ort_version_supported = 23;
    OrtDataTransferImpl::Release = [](OrtDataTransferImpl* t) noexcept { delete static_cast<Transfer*>(t); };
    CanCopy = [](const OrtDataTransferImpl* t, const OrtMemoryDevice* from, const OrtMemoryDevice* to) noexcept {
      const auto known = [&](const OrtMemoryDevice* d) {
        return on_host(d) || ep_api->MemoryDevice_GetVendorId(d) == static_cast<const Transfer*>(t)->vendor;
      };
      return known(from) && known(to);
    };
    CopyTensors = [](OrtDataTransferImpl*, const OrtValue** from, OrtValue** to, OrtSyncStream**,
                     size_t count) noexcept -> OrtStatus* {
      for (size_t i = 0; i < count; ++i) TRY(copy(from[i], to[i]));
      return nullptr;
    };
  }
  static bool on_host(const OrtMemoryDevice* d) {
    return ep_api->MemoryDevice_GetDeviceType(d) == OrtMemoryInfoDeviceType_CPU;
  }
  static OrtStatus* copy(const OrtValue* from, OrtValue* to) {
    ++(on_host(ep_api->Value_GetMemoryDevice(to)) ? down : up);
    size_t bytes = 0;
    const void* source = nullptr;
    void* target = nullptr;
    TRY(api->GetTensorSizeInBytes(from, &bytes));
    TRY(api->GetTensorData(from, &source));
    TRY(api->GetTensorMutableData(to, &target));
    std::memcpy(target, source, bytes);
    return nullptr;
  }
};

// The factory
// ---------------------------------------------------------------------------------------------------------------------

struct About {
  uint32_t interface;  ///< the version that its structs are written for
  const char* name;
  uint32_t vendor;
  const char* version;
  const char* memory = nullptr;  ///< the name of its device's memory; null: it uses host memory
};

/// Everything except CreateEp and ReleaseEp, which the library adds.
struct Factory : OrtEpFactory {
  const About about;
  OrtMemoryInfo* info = nullptr;  ///< null if it uses host memory

  explicit Factory(const About& what) : OrtEpFactory{}, about(what) {
    ort_version_supported = about.interface;
    GetName = [](const OrtEpFactory* f) noexcept { return of(f).about.name; };
    GetVendor = [](const OrtEpFactory*) noexcept { return "Retort tests"; };
    GetVendorId = [](const OrtEpFactory* f) noexcept { return of(f).about.vendor; };
    GetVersion = [](const OrtEpFactory* f) noexcept { return of(f).about.version; };
    GetSupportedDevices = [](OrtEpFactory* f, const OrtHardwareDevice* const* devices, size_t count, OrtEpDevice** made,
                             size_t room, size_t* number) noexcept -> OrtStatus* {
      *number = 0;
      for (size_t i = 0; i < count && *number < room; ++i) {
        if (api->HardwareDevice_Type(devices[i]) != OrtHardwareDeviceType_CPU) continue;
        TRY(ep_api->CreateEpDevice(f, devices[i], nullptr, nullptr, &made[*number]));
        if (of(f).info) TRY(ep_api->EpDevice_AddAllocatorInfo(made[*number], of(f).info));
        ++*number;
      }
      return nullptr;
    };
    CreateAllocator = [](OrtEpFactory* f, const OrtMemoryInfo*, const OrtKeyValuePairs*,
                         OrtAllocator** made) noexcept -> OrtStatus* {
      *made = of(f).info ? new Memory(of(f).info) : nullptr;
      return nullptr;
    };
    ReleaseAllocator = [](OrtEpFactory*, OrtAllocator* a) noexcept { delete static_cast<Memory*>(a); };
    CreateDataTransfer = [](OrtEpFactory* f, OrtDataTransferImpl** made) noexcept -> OrtStatus* {
      *made = of(f).info ? new Transfer(of(f).about.vendor) : nullptr;
      return nullptr;
    };
    IsStreamAware = [](const OrtEpFactory*) noexcept { return false; };
  }
  ~Factory() {
    if (info) api->ReleaseMemoryInfo(info);
  }
  static const Factory& of(const OrtEpFactory* f) { return *static_cast<const Factory*>(f); }

  OrtStatus* prepare() {
    if (!about.memory) return nullptr;
    return api->CreateMemoryInfo_V2(about.memory, OrtMemoryInfoDeviceType_GPU, about.vendor, 0,
                                    OrtDeviceMemoryType_DEFAULT, 0, OrtDeviceAllocator, &info);
  }
};

/// The body of CreateEpFactories. The library uses this version of the host's interface, or the newest that the host has.
template <typename F>
OrtStatus* give_factory(uint32_t version, const OrtApiBase* base, OrtEpFactory** factories, size_t room,
                        size_t* count) {
  for (api = nullptr; !api && version > 0; --version) api = base->GetApi(version);
  ep_api = api->GetEpApi();
  if (room < 1) return error("no room for a factory");
  auto* factory = new F;
  *count = 1;
  factories[0] = factory;
  return factory->prepare();
}

}  // namespace plugins

#define EXPORTED extern "C" __attribute__((visibility("default")))

/// Defines the two functions that a host looks for in the library.
#define PLUGIN_OF(FACTORY, VERSION)                                                                              \
  EXPORTED OrtStatus* CreateEpFactories(const char*, const OrtApiBase* base, const OrtLogger*, OrtEpFactory** f, \
                                        size_t room, size_t* count) {                                            \
    return plugins::give_factory<FACTORY>(VERSION, base, f, room, count);                                        \
  }                                                                                                              \
  EXPORTED OrtStatus* ReleaseEpFactory(OrtEpFactory* f) {                                                        \
    delete static_cast<FACTORY*>(f);                                                                             \
    return nullptr;                                                                                              \
  }
