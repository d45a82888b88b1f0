// A plug-in library for tests of how devices are chosen: a provider that runs Neg, and EPContext as if it were Neg, on
// hardware that the name of the registration describes: "NAME:KIND:VENDOR". NAME is the provider's. KIND is cpu (the processor of the host), or gpu,
// card (a discrete GPU) and npu, which the library makes up. VENDOR says what provider and hardware have in common:
// name, id, or none; or it is microsoft, the vendor of the library's own provider. With its option `whole`, it claims
// all its nodes as one part. It reports the providers that are made, with their option `level`, what they compile, and
// the parts that run, in `choosing_story`.
#include <mutex>

#include "host_device.h"

using namespace plugins;

namespace {

constexpr uint32_t kVendor = 0xc405;

std::mutex mutex;
std::vector<std::string> story;

void tell(std::string line) {
  const std::lock_guard lock(mutex);
  story.push_back(std::move(line));
}

struct Part : OrtNodeComputeInfo {
  std::string provider;
  explicit Part(std::string of) : OrtNodeComputeInfo{}, provider(std::move(of)) {
    ort_version_supported = 23;
    CreateState = [](OrtNodeComputeInfo* p, OrtNodeComputeContext*, void** state) -> OrtStatus* {
      *state = p;
      return nullptr;
    };
    Compute = [](OrtNodeComputeInfo*, void* state, OrtKernelContext* context) -> OrtStatus* {
      tell("a run of " + static_cast<Part*>(state)->provider);
      Floats x;
      float* y = nullptr;
      TRY(read_first(context, x));
      TRY(make_output(context, 0, x.shape, y));
      for (size_t i = 0; i < x.count; ++i) y[i] = -x.data[i];
      return nullptr;
    };
    ReleaseState = [](OrtNodeComputeInfo*, void*) {};
  }
};

struct Ep : OrtEp {
  const std::string provider;
  const bool whole;
  Ep(std::string of, bool claims_one) : OrtEp{}, provider(std::move(of)), whole(claims_one) {
    ort_version_supported = 23;
    GetName = [](const OrtEp* e) noexcept { return static_cast<const Ep*>(e)->provider.c_str(); };
    GetCapability = [](OrtEp* e, const OrtGraph* graph, OrtEpGraphSupportInfo* info) noexcept -> OrtStatus* {
      std::vector<const OrtNode*> nodes, mine;
      TRY(nodes_of(graph, nodes));
      const OrtNodeFusionOptions how{23, false};
      for (const OrtNode* node : nodes) {
        const std::string type = type_of(node);
        if (type == "Neg" || type == "EPContext") mine.push_back(node);
      }
      if (static_cast<Ep*>(e)->whole && !mine.empty())
        return ep_api->EpGraphSupportInfo_AddNodesToFuse(info, mine.data(), mine.size(), &how);
      for (const OrtNode* node : mine) TRY(ep_api->EpGraphSupportInfo_AddNodesToFuse(info, &node, 1, &how));
      return nullptr;
    };
    Compile = [](OrtEp* e, const OrtGraph**, const OrtNode**, size_t count, OrtNodeComputeInfo** infos,
                 OrtNode**) noexcept -> OrtStatus* {
      tell("Compile of " + std::to_string(count) + " parts");
      for (size_t i = 0; i < count; ++i) infos[i] = new Part(static_cast<Ep*>(e)->provider);
      return nullptr;
    };
    ReleaseNodeComputeInfos = delete_parts<Part>;
  }
};

struct ChoosingFactory : OrtEpFactory {
  std::string name, kind, shared, vendor = "Retort tests";
  uint32_t vendor_id = 0;
  OrtHardwareDevice* made_up = nullptr;

  explicit ChoosingFactory(const std::string& registration) : OrtEpFactory{} {
    const size_t first = registration.find(':'), last = registration.rfind(':');
    name = registration.substr(0, first);
    kind = registration.substr(first + 1, last - first - 1);
    shared = registration.substr(last + 1);
    answers();
  }
  ~ChoosingFactory() { ep_api->ReleaseHardwareDevice(made_up); }
  static ChoosingFactory& of(OrtEpFactory* f) { return *static_cast<ChoosingFactory*>(f); }
  static const ChoosingFactory& of(const OrtEpFactory* f) { return *static_cast<const ChoosingFactory*>(f); }

  OrtStatus* prepare() {
    if (kind == "cpu") return nullptr;
    OrtKeyValuePairs* metadata = nullptr;
    api->CreateKeyValuePairs(&metadata);
    if (kind == "card") api->AddKeyValuePair(metadata, "Discrete", "1");
    OrtStatus* status =
        ep_api->CreateHardwareDevice(kind == "npu" ? OrtHardwareDeviceType_NPU : OrtHardwareDeviceType_GPU, kVendor, 1,
                                     "Makers", metadata, &made_up);
    api->ReleaseKeyValuePairs(metadata);
    return status;
  }

  OrtStatus* add_device(const OrtHardwareDevice* hardware, OrtEpDevice** made) {
    if (shared == "microsoft") vendor = "Microsoft";  // as the library's own provider of the CPU
    if (shared == "name") vendor = api->HardwareDevice_Vendor(hardware);
    if (shared == "id") vendor_id = api->HardwareDevice_VendorId(hardware);
    OrtKeyValuePairs* options = nullptr;
    api->CreateKeyValuePairs(&options);
    api->AddKeyValuePair(options, "level", "7");
    OrtStatus* status = ep_api->CreateEpDevice(this, hardware, nullptr, options, made);
    api->ReleaseKeyValuePairs(options);
    return status;
  }

  OrtStatus* make(size_t devices, const OrtSessionOptions* options, OrtEp** made) const {
    tell(name + " for " + std::to_string(devices) + " devices, level " + option(options, "level"));
    *made = new Ep(name, option(options, "whole") == "1");
    return nullptr;
  }

  std::string option(const OrtSessionOptions* options, const char* key) const {
    char text[16] = "unset";
    size_t size = sizeof text;
    api->ReleaseStatus(api->GetSessionConfigEntry(options, ("ep." + name + "." + key).c_str(), text, &size));
    return text;
  }

  void answers() {
    ort_version_supported = 24;
    GetName = [](const OrtEpFactory* f) noexcept { return of(f).name.c_str(); };
    GetVendor = [](const OrtEpFactory* f) noexcept { return of(f).vendor.c_str(); };
    GetVendorId = [](const OrtEpFactory* f) noexcept { return of(f).vendor_id; };
    GetVersion = [](const OrtEpFactory*) noexcept { return "1.2.3"; };
    GetSupportedDevices = [](OrtEpFactory* f, const OrtHardwareDevice* const* devices, size_t count, OrtEpDevice** made,
                             size_t room, size_t* number) noexcept -> OrtStatus* {
      ChoosingFactory& self = of(f);
      const OrtHardwareDevice* own = self.made_up;
      for (size_t i = 0; !own && i < count; ++i)
        if (api->HardwareDevice_Type(devices[i]) == OrtHardwareDeviceType_CPU) own = devices[i];
      *number = own && room > 0 ? 1 : 0;
      return *number ? self.add_device(own, &made[0]) : nullptr;
    };
    CreateEp = [](OrtEpFactory* f, const OrtHardwareDevice* const*, const OrtKeyValuePairs* const*, size_t count,
                  const OrtSessionOptions* options, const OrtLogger*,
                  OrtEp** made) noexcept { return of(f).make(count, options, made); };
    ReleaseEp = delete_ep<Ep>;
    CreateAllocator = [](OrtEpFactory*, const OrtMemoryInfo*, const OrtKeyValuePairs*,
                         OrtAllocator** made) noexcept -> OrtStatus* {
      *made = nullptr;
      return nullptr;
    };
    ReleaseAllocator = [](OrtEpFactory*, OrtAllocator*) noexcept {};
    CreateDataTransfer = [](OrtEpFactory*, OrtDataTransferImpl** made) noexcept -> OrtStatus* {
      *made = nullptr;
      return nullptr;
    };
    IsStreamAware = [](const OrtEpFactory*) noexcept { return false; };
  }
};

}  // namespace

EXPORTED OrtStatus* CreateEpFactories(const char* name, const OrtApiBase* base, const OrtLogger*,
                                      OrtEpFactory** factories, size_t room, size_t* count) {
  for (uint32_t version = ORT_API_VERSION; !api && version > 0; --version) api = base->GetApi(version);
  ep_api = api->GetEpApi();
  if (room < 1) return error("no room for a factory");
  auto* factory = new ChoosingFactory(name);
  *count = 1;
  factories[0] = factory;
  return factory->prepare();
}
EXPORTED OrtStatus* ReleaseEpFactory(OrtEpFactory* f) {
  delete static_cast<ChoosingFactory*>(f);
  return nullptr;
}

/// The next line of the report; null at the end.
EXPORTED const char* choosing_story() {
  static size_t next = 0;
  static std::string line;
  const std::lock_guard lock(mutex);
  if (next == story.size()) return nullptr;
  line = story[next++];
  return line.c_str();
}
