// A plug-in library for tests: a provider in host memory whose kernel of Add packs its second input, and shares the
// packed weight if it can. `packing_counts` returns counters; `packing_fault` selects an intentional error.
#include "host_device.h"

using namespace plugins;

namespace {

/// How often it packed, received a cache, and received a shared weight; and how often that weight's address changed.
std::atomic<int64_t> packed{0}, caches{0}, shared{0}, different{0};
std::atomic<const void*> last{nullptr};
/// 1: stores, but reports that nothing was packed; 2: has no SetSharedPrePackedWeight; 3: fails; from 4 on: requests
/// the host's kernels for control flow; 9: has its own kernel for If.
std::atomic<int> fault{0};

/// y = x + w; the packed form of w is 2 * w, so that a result shows which form was read.
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
    Floats given;
    TRY(read(value, given));
    ++packed;
    caches += cache != nullptr;
    if (fault == 3) return error("it packs nothing today");
    auto* twice = static_cast<float*>(allocator->Alloc(allocator, given.count * sizeof(float)));
    for (size_t i = 0; i < given.count; ++i) twice[i] = 2 * given.data[i];
    if (cache) {
      void* second = allocator->Alloc(allocator, 1);
      *static_cast<char*>(second) = 7;
      void* buffers[2] = {twice, second};
      size_t sizes[2] = {given.count * sizeof(float), 1};
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
    Floats x;
    float* y = nullptr;
    TRY(read_first(context, x));
    TRY(make_output(context, 0, x.shape, y));
    if (!weight) return error("the weight is not packed");
    for (size_t i = 0; i < x.count; ++i) y[i] = x.data[i] + weight[i];
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
      std::vector<const OrtNode*> nodes;
      TRY(nodes_of(graph, nodes));
      for (const OrtNode* node : nodes)
        if (type_of(node) == (fault == 9 ? "If" : "Add")) TRY(ep_api->EpGraphSupportInfo_AddSingleNode(info, node));
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

struct PackingFactory : Factory {
  PackingFactory() : Factory({ORT_API_VERSION, "packing", 0xbeef, "1.2.3"}) {
    CreateEp = create_ep<Ep>;
    ReleaseEp = delete_ep<Ep>;
  }
};

}  // namespace

PLUGIN_OF(PackingFactory, ORT_API_VERSION)

/// Packed, with a cache, received a shared weight, a different one than before.
EXPORTED void packing_counts(int64_t counts[4]) {
  counts[0] = packed;
  counts[1] = caches;
  counts[2] = shared;
  counts[3] = different;
}
EXPORTED void packing_fault(int number) { fault = number; }
