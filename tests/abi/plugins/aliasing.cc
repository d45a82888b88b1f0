// A plug-in library for tests: a provider whose kernels declare that an output lies over an input, always (Identity,
// Reshape) or if nothing needs the input afterwards (Neg, and Sub for both of its inputs). It reports where it found
// its outputs in `aliasing_story`.
#include <mutex>

#include "host_device.h"

using namespace plugins;

namespace {

std::mutex mutex;
std::vector<std::string> story;
std::atomic<bool> on_device{false};

void tell(std::string line) {
  const std::lock_guard lock(mutex);
  story.push_back(std::move(line));
}

struct Kernel : OrtKernelImpl {
  std::string type;
  Kernel() : OrtKernelImpl{} {
    ort_version_supported = ORT_API_VERSION;
    Release = [](OrtKernelImpl* k) noexcept { delete static_cast<Kernel*>(k); };
    Compute = [](OrtKernelImpl* k, OrtKernelContext* context) noexcept {
      return static_cast<Kernel*>(k)->run(context);
    };
  }

  OrtStatus* run(OrtKernelContext* context) const {
    Floats x, z;
    float* y = nullptr;
    TRY(read_first(context, x));
    std::vector<int64_t> shape = x.shape;
    const OrtValue* second = nullptr;
    if (type == "Reshape" || type == "Sub") TRY(api->KernelContext_GetInput(context, 1, &second));
    if (type == "Sub") TRY(read(second, z));
    if (type == "Reshape") shape = {int64_t(x.count)};
    TRY(make_output(context, 0, shape, y));
    const char* where = y == x.data ? "in place" : z.data && y == z.data ? "in the place of the second" : "elsewhere";
    tell(type + " " + where);
    for (size_t i = 0; i < x.count; ++i) {
      const float a = x.data[i];
      if (type == "Neg") y[i] = -a;
      if (type == "Sub") y[i] = a - z.data[i];
      if ((type == "Identity" || type == "Reshape") && y != x.data) y[i] = a;
    }
    return nullptr;
  }
};

OrtStatus* make_kernel(void* type, const OrtKernelInfo*, OrtKernelImpl** made) {
  auto* kernel = new Kernel;
  kernel->type = static_cast<const char*>(type);
  *made = kernel;
  return nullptr;
}

OrtStatus* add_kernel(OrtKernelRegistry* registry, const char* type) {
  OrtKernelDefBuilder* builder = nullptr;
  OrtKernelDef* def = nullptr;
  const std::string name = type;
  const int inputs[2] = {0, 1}, outputs[2] = {0, 0};
  TRY(ep_api->CreateKernelDefBuilder(&builder));
  TRY(ep_api->KernelDefBuilder_SetOperatorType(builder, type));
  TRY(ep_api->KernelDefBuilder_SetDomain(builder, ""));
  TRY(ep_api->KernelDefBuilder_SetSinceVersion(builder, 1, 30));
  TRY(ep_api->KernelDefBuilder_SetExecutionProvider(builder, "aliasing"));
  if (name == "Reshape") TRY(ep_api->KernelDefBuilder_SetInputMemType(builder, 1, OrtMemTypeCPUInput));
  if (name == "Identity" || name == "Reshape")
    TRY(ep_api->KernelDefBuilder_AddInputOutputAliases(builder, inputs, outputs, 1));
  else
    TRY(ep_api->KernelDefBuilder_AddInputOutputMutableAliases(builder, inputs, outputs, name == "Sub" ? 2 : 1));
  TRY(ep_api->KernelDefBuilder_Build(builder, &def));
  TRY(ep_api->KernelRegistry_AddKernel(registry, def, make_kernel, const_cast<char*>(type)));
  ep_api->ReleaseKernelDef(def);
  ep_api->ReleaseKernelDefBuilder(builder);
  return nullptr;
}

struct Ep : OrtEp {
  OrtKernelRegistry* registry = nullptr;
  Ep() : OrtEp{} {
    ort_version_supported = ORT_API_VERSION;
    GetName = [](const OrtEp*) noexcept { return "aliasing"; };
    GetCapability = [](OrtEp*, const OrtGraph* graph, OrtEpGraphSupportInfo* info) noexcept -> OrtStatus* {
      return claim_nodes_of_kernels(graph, info);
    };
    GetKernelRegistry = [](OrtEp* ep, const OrtKernelRegistry** given) noexcept -> OrtStatus* {
      auto* self = static_cast<Ep*>(ep);
      *given = self->registry;
      if (self->registry) return nullptr;
      TRY(ep_api->CreateKernelRegistry(&self->registry));
      for (const char* type : {"Identity", "Reshape", "Neg", "Sub"}) TRY(add_kernel(self->registry, type));
      *given = self->registry;
      return nullptr;
    };
  }
  ~Ep() {
    if (registry) ep_api->ReleaseKernelRegistry(registry);
  }
};

struct AliasingFactory : Factory {
  AliasingFactory() : Factory({ORT_API_VERSION, "aliasing", 0xa11a, "1.2.3", on_device ? "AliasingMemory" : nullptr}) {
    CreateEp = create_ep<Ep>;
    ReleaseEp = delete_ep<Ep>;
  }
};

}  // namespace

PLUGIN_OF(AliasingFactory, ORT_API_VERSION)

/// The next line of the report; null at the end.
EXPORTED const char* aliasing_story() {
  static size_t next = 0;
  const std::lock_guard lock(mutex);
  return next < story.size() ? story[next++].c_str() : nullptr;
}
/// Call it before the registration: whether the provider has a device with separate memory.
EXPORTED void aliasing_device(bool has) { on_device = has; }
