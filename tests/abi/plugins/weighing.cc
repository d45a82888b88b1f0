// A plug-in library for tests: a provider that compiles each Mul to a part and gives an EPContext node for it, says
// what it does without weights, and tells the capacity of its device's memory. `weighing_set` chooses its answers, and
// `weighing_story` returns what it was asked: one line each.
#include <map>
#include <mutex>

#include "host_device.h"

using namespace plugins;

namespace {

std::mutex mutex;
std::vector<std::string> story;
std::map<std::string, std::string> settings;

void tell(std::string line) {
  const std::lock_guard lock(mutex);
  story.push_back(std::move(line));
}
std::string setting(const std::string& key) {
  const auto found = settings.find(key);
  return found == settings.end() ? std::string() : found->second;
}
uint32_t version(const char* key) { return setting(key).empty() ? 32 : uint32_t(std::stoul(setting(key))); }

OrtStatus* nothing(OrtKernelContext* context) {
  Floats x;
  float* y = nullptr;
  TRY(read_first(context, x));
  TRY(make_output(context, 0, x.shape, y));
  std::copy(x.data, x.data + x.count, y);
  return nullptr;
}
using Part = StatelessPart<nothing>;

std::string name_of(const OrtValueInfo* value) {
  const char* name = "";
  if (value) api->ReleaseStatus(api->GetValueInfoName(value, &name));
  return name;
}

/// An EPContext node with the inputs and outputs of the part.
OrtStatus* context_node(const OrtNode* fused, OrtNode** made) {
  size_t ins = 0, outs = 0;
  TRY(api->Node_GetNumInputs(fused, &ins));
  TRY(api->Node_GetNumOutputs(fused, &outs));
  std::vector<const OrtValueInfo*> in(ins), out(outs);
  TRY(api->Node_GetInputs(fused, in.data(), ins));
  TRY(api->Node_GetOutputs(fused, out.data(), outs));
  std::vector<std::string> names;
  for (const OrtValueInfo* v : in) names.push_back(name_of(v));
  for (const OrtValueInfo* v : out) names.push_back(name_of(v));
  std::vector<const char*> pointers;
  for (const std::string& name : names) pointers.push_back(name.c_str());
  const char* node = "";
  TRY(api->Node_GetName(fused, &node));
  return api->GetModelEditorApi()->CreateNode("EPContext", "com.microsoft", node, pointers.data(), ins,
                                              pointers.data() + ins, outs, nullptr, 0, made);
}

struct Ep : OrtEp {
  const bool saves;
  explicit Ep(bool saves_contexts) : OrtEp{}, saves(saves_contexts) {
    ort_version_supported = version("ep version");
    GetName = [](const OrtEp*) noexcept { return "weighing"; };
    GetCapability = [](OrtEp*, const OrtGraph* graph, OrtEpGraphSupportInfo* info) noexcept -> OrtStatus* {
      std::vector<const OrtNode*> nodes;
      TRY(nodes_of(graph, nodes));
      const OrtNodeFusionOptions how{ORT_API_VERSION, setting("drops") == "1"};
      for (const OrtNode* node : nodes) {
        if (type_of(node) == "Mul") TRY(ep_api->EpGraphSupportInfo_AddNodesToFuse(info, &node, 1, &how));
      }
      return nullptr;
    };
    Compile = [](OrtEp* ep, const OrtGraph**, const OrtNode** fused, size_t count, OrtNodeComputeInfo** infos,
                 OrtNode** context_nodes) noexcept -> OrtStatus* {
      tell("Compile");
      for (size_t i = 0; i < count; ++i) {
        infos[i] = new Part;
        if (static_cast<Ep*>(ep)->saves) TRY(context_node(fused[i], &context_nodes[i]));
      }
      return nullptr;
    };
    ReleaseNodeComputeInfos = delete_parts<Part>;
    if (setting("support") == "missing") return;
    GetWeightlessSupport = [](const OrtEp*, OrtWeightlessSupport* support) noexcept -> OrtStatus* {
      tell("GetWeightlessSupport");
      if (setting("support") == "fails") return error("no answer today");
      *support = OrtWeightlessSupport(std::stoi("0" + setting("support")));
      return nullptr;
    };
  }
};

std::string entry(const OrtSessionOptions* options, const char* key) {
  char text[64] = {};
  size_t size = sizeof text;
  OrtStatus* status = api->GetSessionConfigEntry(options, key, text, &size);
  const bool there = !status;
  api->ReleaseStatus(status);
  return there ? text : "unset";
}

struct WeighingFactory : Factory {
  WeighingFactory() : Factory({version("factory version"), "weighing", 0xface, "1.2.3"}) {
    GetSupportedDevices = [](OrtEpFactory* f, const OrtHardwareDevice* const* devices, size_t count, OrtEpDevice** made,
                             size_t room, size_t* number) noexcept -> OrtStatus* {
      *number = 0;
      for (size_t i = 0; i < count && *number < room; ++i) {
        if (api->HardwareDevice_Type(devices[i]) != OrtHardwareDeviceType_CPU) continue;
        OrtKeyValuePairs* metadata = nullptr;
        api->CreateKeyValuePairs(&metadata);
        for (const char* key : {"weightless_supported_modes", "weightless_support"}) {
          if (!setting(key).empty()) api->AddKeyValuePair(metadata, key, setting(key).c_str());
        }
        OrtStatus* status = ep_api->CreateEpDevice(f, devices[i], metadata, nullptr, &made[*number]);
        api->ReleaseKeyValuePairs(metadata);
        if (status) return status;
        ++*number;
      }
      return nullptr;
    };
    CreateEp = [](OrtEpFactory*, const OrtHardwareDevice* const*, const OrtKeyValuePairs* const*, size_t,
                  const OrtSessionOptions* options, const OrtLogger*, OrtEp** made) noexcept -> OrtStatus* {
      tell("CreateEp, ep.enable_weightless " + entry(options, "ep.enable_weightless") + ", mode " +
           entry(options, "ep.enable_weightless_mode"));
      *made = new Ep(entry(options, "ep.context_enable") == "1");
      return nullptr;
    };
    ReleaseEp = delete_ep<Ep>;
    if (setting("capacity") == "missing") return;
    GetDeviceMemoryCapacity = [](OrtEpFactory*, const OrtEpDevice* device, OrtDeviceMemoryType type, size_t* total,
                                 size_t* available) noexcept -> OrtStatus* {
      const auto preset = [](const size_t* out) { return out ? std::to_string(*out) : std::string("null"); };
      tell("capacity of " + std::string(api->EpDevice_EpName(device)) + ", type " + std::to_string(int(type)) + ", " +
           preset(total) + ", " + preset(available));
      if (total && setting("capacity") != "half") *total = 1000;
      if (available) *available = 300;
      return setting("capacity") == "fails" ? api->CreateStatus(ORT_NO_MODEL, "no capacity today") : nullptr;
    };
  }
};

}  // namespace

PLUGIN_OF(WeighingFactory, ORT_API_VERSION)

/// The next line of the report; null at the end.
EXPORTED const char* weighing_story() {
  static size_t next = 0;
  const std::lock_guard lock(mutex);
  return next < story.size() ? story[next++].c_str() : nullptr;
}
EXPORTED void weighing_set(const char* key, const char* value) { settings[key] = value; }
