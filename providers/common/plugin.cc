#include "plugin.h"

#include <algorithm>

namespace providers {
namespace {

struct ComputeInfo : OrtNodeComputeInfo {
  std::unique_ptr<Part> part;
  explicit ComputeInfo(std::unique_ptr<Part> p) : OrtNodeComputeInfo{}, part(std::move(p)) {
    ort_version_supported = kVersion;
    CreateState = [](OrtNodeComputeInfo* self, OrtNodeComputeContext*, void** state) -> OrtStatus* {
      *state = self;
      return nullptr;
    };
    Compute = [](OrtNodeComputeInfo* self, void*, OrtKernelContext* context) {
      return guard([&] { static_cast<ComputeInfo*>(self)->part->run(context); });
    };
    ReleaseState = [](OrtNodeComputeInfo*, void*) {};
  }
};

struct Ep : OrtEp {
  const Description& description;
  std::unique_ptr<Provider> provider;
  const OrtLogger* log;

  Ep(const Description& d, std::unique_ptr<Provider> p, const OrtLogger* l)
      : OrtEp{}, description(d), provider(std::move(p)), log(l) {
    ort_version_supported = kVersion;
    GetName = [](const OrtEp* self) noexcept { return static_cast<const Ep*>(self)->description.name; };
    GetCapability = [](OrtEp* self, const OrtGraph* graph, OrtEpGraphSupportInfo* info) noexcept {
      return guard([&] { static_cast<Ep*>(self)->claim(graph, info); });
    };
    Compile = [](OrtEp* self, const OrtGraph** graphs, const OrtNode** fused, size_t count, OrtNodeComputeInfo** infos,
                 OrtNode**) noexcept {
      return guard([&] {
        std::vector<std::unique_ptr<ComputeInfo>> made;
        for (size_t i = 0; i < count; ++i) made.push_back(static_cast<Ep*>(self)->compile(graphs[i], fused[i]));
        for (size_t i = 0; i < count; ++i) infos[i] = made[i].release();
      });
    };
    ReleaseNodeComputeInfos = [](OrtEp*, OrtNodeComputeInfo** infos, size_t count) noexcept {
      for (size_t i = 0; i < count; ++i) delete static_cast<ComputeInfo*>(infos[i]);
    };
  }

  // Bodies of If, Loop and Scan are not claimed: Retort supports no claims there, and ONNX Runtime 1.31.1 ends up with
  // an invalid graph if such a body came from the function of an operator (SequenceMap).
  void claim(const OrtGraph* handle, OrtEpGraphSupportInfo* info) const {
    const OrtNode* parent = nullptr;
    check(api().Graph_GetParentNode(handle, &parent));
    if (parent) return;
    const Graph graph(handle);
    const OrtNodeFusionOptions options{kVersion, true};
    for (const auto& group : provider->claim(graph)) {
      std::vector<const OrtNode*> nodes;
      for (const Node* n : group) nodes.push_back(n->handle);
      check(ep_api().EpGraphSupportInfo_AddNodesToFuse(info, nodes.data(), nodes.size(), &options));
    }
  }

  std::unique_ptr<ComputeInfo> compile(const OrtGraph* handle, const OrtNode* fused) const {
    const Graph graph(handle);
    const char* name = "";
    check(api().Node_GetName(fused, &name));
    return std::make_unique<ComputeInfo>(
        provider->compile({graph, name, input_names(fused), output_names(fused), log}));
  }
};

// Hosts pass a provider's options as entries of the session's configuration: "ep.<name in lower case>.<option>".
Options options_of(const OrtSessionOptions* session, std::string name) {
  std::transform(name.begin(), name.end(), name.begin(), small_letter);
  const std::string prefix = "ep." + name + ".";
  Options options;
  if (!session) return options;
  OrtKeyValuePairs* made = nullptr;
  check(api().GetSessionOptionsConfigEntries(session, &made));
  const Owned<OrtKeyValuePairs> pairs(made, api().ReleaseKeyValuePairs);
  const char *const *keys = nullptr, *const *values = nullptr;
  size_t count = 0;
  api().GetKeyValuePairs(made, &keys, &values, &count);
  for (size_t i = 0; i < count; ++i) {
    const std::string key = keys[i];
    if (key.compare(0, prefix.size(), prefix) == 0) options[key.substr(prefix.size())] = values[i];
  }
  return options;
}

struct Factory : OrtEpFactory {
  const Description& description;

  explicit Factory(const Description& d) : OrtEpFactory{}, description(d) {
    ort_version_supported = kVersion;
    GetName = [](const OrtEpFactory* self) noexcept { return of(self).name; };
    GetVendor = [](const OrtEpFactory* self) noexcept { return of(self).vendor; };
    GetVersion = [](const OrtEpFactory* self) noexcept { return of(self).version; };
    GetVendorId = [](const OrtEpFactory*) noexcept { return 0u; };
    GetSupportedDevices = [](OrtEpFactory* self, const OrtHardwareDevice* const* devices, size_t count,
                             OrtEpDevice** made, size_t room, size_t* number) noexcept {
      *number = 0;
      return guard([&] {
        for (size_t i = 0; i < count && *number < room; ++i) {
          if (api().HardwareDevice_Type(devices[i]) != OrtHardwareDeviceType_CPU) continue;
          check(ep_api().CreateEpDevice(self, devices[i], nullptr, nullptr, &made[*number]));
          ++*number;
        }
      });
    };
    CreateEp = [](OrtEpFactory* self, const OrtHardwareDevice* const*, const OrtKeyValuePairs* const*, size_t,
                  const OrtSessionOptions* session, const OrtLogger* log, OrtEp** made) noexcept {
      *made = nullptr;
      return guard([&] { *made = new Ep(of(self), of(self).make(options_of(session, of(self).name)), log); });
    };
    ReleaseEp = [](OrtEpFactory*, OrtEp* ep) noexcept { delete static_cast<Ep*>(ep); };
    CreateAllocator = [](OrtEpFactory*, const OrtMemoryInfo*, const OrtKeyValuePairs*, OrtAllocator** made) noexcept {
      *made = nullptr;  // the memory is the host's
      return static_cast<OrtStatus*>(nullptr);
    };
    ReleaseAllocator = [](OrtEpFactory*, OrtAllocator*) noexcept {};
    CreateDataTransfer = [](OrtEpFactory*, OrtDataTransferImpl** made) noexcept {
      *made = nullptr;
      return static_cast<OrtStatus*>(nullptr);
    };
    IsStreamAware = [](const OrtEpFactory*) noexcept { return false; };
  }
  static const Description& of(const OrtEpFactory* self) { return static_cast<const Factory*>(self)->description; }
};

}  // namespace

OrtStatus* create_factory(const Description& description, const OrtApiBase* base, OrtEpFactory** factories, size_t room,
                          size_t* count) noexcept {
  const OrtApi* api = base->GetApi(kVersion);
  if (!api) return nullptr;  // no factory: the host is older than the required interface
  host() = {api, api->GetEpApi()};
  return guard([&] {
    if (room < 1) throw Error(text(description.name, ": the host has no room for a factory"), ORT_INVALID_ARGUMENT);
    factories[0] = new Factory(description);
    *count = 1;
  });
}

void release_factory(OrtEpFactory* factory) noexcept { delete static_cast<Factory*>(factory); }

}  // namespace providers
