// A plug-in library for tests: a provider in memory of the host whose kernel of Add packs its second input, and shares what
// it has packed where it may. Counters are told by `packing_counts`, and what it does wrong on purpose is set by
// `packing_fault`.
#include <atomic>
#include <cstring>
#include <string>
#include <vector>

#include "retort/onnxruntime_c_api.h"
#include "retort/onnxruntime_ep_c_api.h"

namespace {

const OrtApi* api = nullptr;
const OrtEpApi* ep_api = nullptr;

/// How often it packed, was given a cache, and was given a shared weight; the last one's address as a number of its own.
std::atomic<int64_t> packed{0}, caches{0}, shared{0}, different{0};
std::atomic<const void*> last{nullptr};
std::atomic<int> fault{
    0};  ///< 1: stores and says that nothing was packed; 2: has no SetSharedPrePackedWeight; 3: fails; from 4 on: asks for
         ///< kernels of control flow; 9: has its own for If

OrtStatus* error(const char* text) { return api->CreateStatus(ORT_EP_FAIL, text); }

#define TRY(call)                        \
  do {                                   \
    if (OrtStatus* s = (call)) return s; \
  } while (false)

OrtStatus* read(const OrtValue* value, const float*& data, size_t& count, std::vector<int64_t>& shape) {
  OrtTensorTypeAndShapeInfo* info = nullptr;
  const void* raw = nullptr;
  size_t rank = 0;
  TRY(api->GetTensorData(value, &raw));
  TRY(api->GetTensorTypeAndShape(value, &info));
  TRY(api->GetTensorShapeElementCount(info, &count));
  TRY(api->GetDimensionsCount(info, &rank));
  shape.resize(rank);
  TRY(api->GetDimensions(info, shape.data(), rank));
  api->ReleaseTensorTypeAndShapeInfo(info);
  data = static_cast<const float*>(raw);
  return nullptr;
}

/// y = x + w; the packed form of w is twice w, so that a result shows which form was read.
struct Add : OrtKernelImpl {
  const float* weight = nullptr;
  void* own = nullptr;
  OrtAllocator* from = nullptr;

  Add() : OrtKernelImpl{} {
    ort_version_supported = ORT_API_VERSION;
    Release = [](OrtKernelImpl* k) noexcept {
      auto* self = static_cast<Add*>(k);
      if (self->own) self->from->Free(self->from, self->own);
      delete self;
    };
    Compute = [](OrtKernelImpl* k, OrtKernelContext* context) noexcept { return static_cast<Add*>(k)->run(context); };
    PrePackWeight = [](OrtKernelImpl* k, const OrtValue* weight, int input, OrtAllocator* allocator,
                       OrtSharedPrePackedWeightCache* cache, bool* is_packed) noexcept {
      return static_cast<Add*>(k)->pack(weight, input, allocator, cache, is_packed);
    };
    if (fault == 2) return;
    SetSharedPrePackedWeight = [](OrtKernelImpl* k, const void* const* buffers, const size_t*, size_t count,
                                  int input) noexcept -> OrtStatus* {
      if (count != 2 || input != 1) return error("not what was stored");
      ++shared;
      if (last.exchange(buffers[0]) != buffers[0]) ++different;
      static_cast<Add*>(k)->weight = static_cast<const float*>(buffers[0]);
      return nullptr;
    };
  }

  OrtStatus* pack(const OrtValue* value, int input, OrtAllocator* allocator, OrtSharedPrePackedWeightCache* cache,
                  bool* is_packed) {
    *is_packed = false;
    if (input != 1) return nullptr;
    const float* data = nullptr;
    size_t count = 0;
    std::vector<int64_t> shape;
    TRY(read(value, data, count, shape));
    ++packed;
    caches += cache != nullptr;
    if (fault == 3) return error("it packs nothing today");
    auto* twice = static_cast<float*>(allocator->Alloc(allocator, count * sizeof(float)));
    for (size_t i = 0; i < count; ++i) twice[i] = 2 * data[i];
    if (cache) {
      void* second = allocator->Alloc(allocator, 1);
      *static_cast<char*>(second) = 7;
      void* buffers[2] = {twice, second};
      size_t sizes[2] = {count * sizeof(float), 1};
      TRY(ep_api->SharedPrePackedWeightCache_StoreWeightData(cache, buffers, sizes, 2));
    } else {
      weight = twice;
      own = twice;
      from = allocator;
    }
    *is_packed = fault != 1;
    return nullptr;
  }

  OrtStatus* run(OrtKernelContext* context) const {
    const OrtValue* x = nullptr;
    const float* data = nullptr;
    size_t count = 0;
    std::vector<int64_t> shape;
    OrtValue* y = nullptr;
    void* raw = nullptr;
    TRY(api->KernelContext_GetInput(context, 0, &x));
    TRY(read(x, data, count, shape));
    TRY(api->KernelContext_GetOutput(context, 0, shape.data(), shape.size(), &y));
    TRY(api->GetTensorMutableData(y, &raw));
    if (!weight) return error("the weight is not packed");
    for (size_t i = 0; i < count; ++i) static_cast<float*>(raw)[i] = data[i] + weight[i];
    return nullptr;
  }
};

struct Loop : OrtLoopKernelHelper {
  explicit Loop(bool concatenates) : OrtLoopKernelHelper{} {
    ort_version_supported = ORT_API_VERSION;
    OrtLoopKernelHelper::Release = [](OrtLoopKernelHelper*) noexcept {};
    if (!concatenates) return;
    ConcatOutput = [](OrtLoopKernelHelper*, void*, const OrtValue* const*, size_t, void*, size_t) noexcept {
      return error("never called");
    };
  }
};

OrtStatus* make_add(void*, const OrtKernelInfo* info, OrtKernelImpl** made) {
  static Loop whole(true), lacking(false);
  if (fault == 4) return ep_api->CreateIfKernel(info, made);
  if (fault == 5) return ep_api->CreateLoopKernel(info, &whole, made);
  if (fault == 6) return ep_api->CreateLoopKernel(info, &lacking, made);
  if (fault == 7) return ep_api->CreateLoopKernel(info, nullptr, made);
  if (fault == 8) return ep_api->CreateIfKernel(nullptr, made);
  *made = new Add;
  return nullptr;
}

OrtStatus* add_kernel(OrtKernelRegistry* registry, const char* type) {
  OrtKernelDefBuilder* builder = nullptr;
  OrtKernelDef* def = nullptr;
  TRY(ep_api->CreateKernelDefBuilder(&builder));
  TRY(ep_api->KernelDefBuilder_SetOperatorType(builder, type));
  TRY(ep_api->KernelDefBuilder_SetDomain(builder, ""));
  TRY(ep_api->KernelDefBuilder_SetSinceVersion(builder, 7, 30));
  TRY(ep_api->KernelDefBuilder_SetExecutionProvider(builder, "packing"));
  TRY(ep_api->KernelDefBuilder_Build(builder, &def));
  TRY(ep_api->KernelRegistry_AddKernel(registry, def, make_add, nullptr));
  ep_api->ReleaseKernelDef(def);
  ep_api->ReleaseKernelDefBuilder(builder);
  return nullptr;
}

OrtStatus* make_registry(OrtKernelRegistry** registry) {
  TRY(ep_api->CreateKernelRegistry(registry));
  TRY(add_kernel(*registry, "Add"));
  return add_kernel(*registry, "If");
}

struct Ep : OrtEp {
  OrtKernelRegistry* registry = nullptr;
  Ep() : OrtEp{} {
    ort_version_supported = ORT_API_VERSION;
    GetName = [](const OrtEp*) noexcept { return "packing"; };
    GetCapability = [](OrtEp*, const OrtGraph* graph, OrtEpGraphSupportInfo* info) noexcept -> OrtStatus* {
      size_t count = 0;
      TRY(api->Graph_GetNumNodes(graph, &count));
      std::vector<const OrtNode*> nodes(count);
      TRY(api->Graph_GetNodes(graph, nodes.data(), count));
      for (const OrtNode* node : nodes) {
        const char* type = "";
        TRY(api->Node_GetOperatorType(node, &type));
        if (std::strcmp(type, fault == 9 ? "If" : "Add") == 0)
          TRY(ep_api->EpGraphSupportInfo_AddSingleNode(info, node));
      }
      return nullptr;
    };
    GetKernelRegistry = [](OrtEp* ep, const OrtKernelRegistry** given) noexcept -> OrtStatus* {
      auto* self = static_cast<Ep*>(ep);
      if (!self->registry) TRY(make_registry(&self->registry));
      *given = self->registry;
      return nullptr;
    };
  }
  ~Ep() {
    if (registry) ep_api->ReleaseKernelRegistry(registry);
  }
};

struct Factory : OrtEpFactory {
  Factory() : OrtEpFactory{} {
    ort_version_supported = ORT_API_VERSION;
    GetName = [](const OrtEpFactory*) noexcept { return "packing"; };
    GetVendor = [](const OrtEpFactory*) noexcept { return "Retort tests"; };
    GetVendorId = [](const OrtEpFactory*) noexcept { return 0xbeefu; };
    GetVersion = [](const OrtEpFactory*) noexcept { return "1.2.3"; };
    GetSupportedDevices = [](OrtEpFactory* f, const OrtHardwareDevice* const* devices, size_t count, OrtEpDevice** made,
                             size_t, size_t* number) noexcept -> OrtStatus* {
      *number = 0;
      for (size_t i = 0; i < count && *number == 0; ++i) {
        if (api->HardwareDevice_Type(devices[i]) != OrtHardwareDeviceType_CPU) continue;
        TRY(ep_api->CreateEpDevice(f, devices[i], nullptr, nullptr, &made[(*number)++]));
      }
      return nullptr;
    };
    CreateEp = [](OrtEpFactory*, const OrtHardwareDevice* const*, const OrtKeyValuePairs* const*, size_t,
                  const OrtSessionOptions*, const OrtLogger*, OrtEp** made) noexcept -> OrtStatus* {
      *made = new Ep;
      return nullptr;
    };
    ReleaseEp = [](OrtEpFactory*, OrtEp* ep) noexcept { delete static_cast<Ep*>(ep); };
    CreateAllocator = [](OrtEpFactory*, const OrtMemoryInfo*, const OrtKeyValuePairs*,
                         OrtAllocator** made) noexcept -> OrtStatus* { return *made = nullptr, nullptr; };
    ReleaseAllocator = [](OrtEpFactory*, OrtAllocator*) noexcept {};
    CreateDataTransfer = [](OrtEpFactory*, OrtDataTransferImpl** made) noexcept -> OrtStatus* {
      return *made = nullptr, nullptr;
    };
    IsStreamAware = [](const OrtEpFactory*) noexcept { return false; };
  }
};

}  // namespace

extern "C" {

__attribute__((visibility("default"))) OrtStatus* CreateEpFactories(const char*, const OrtApiBase* base,
                                                                    const OrtLogger*, OrtEpFactory** factories,
                                                                    size_t room, size_t* count) {
  api = base->GetApi(ORT_API_VERSION);
  ep_api = api->GetEpApi();
  if (room < 1) return error("no room for a factory");
  factories[0] = new Factory;
  *count = 1;
  return nullptr;
}

__attribute__((visibility("default"))) OrtStatus* ReleaseEpFactory(OrtEpFactory* factory) {
  delete static_cast<Factory*>(factory);
  return nullptr;
}

/// Packed, with a cache, given a shared one, of which differed from the one before.
__attribute__((visibility("default"))) void packing_counts(int64_t counts[4]) {
  counts[0] = packed;
  counts[1] = caches;
  counts[2] = shared;
  counts[3] = different;
}
__attribute__((visibility("default"))) void packing_fault(int number) { fault = number; }
}
