// A plug-in library for tests: a provider that runs Neg, on a device with streams whose memory is host memory under
// another name, and reports each call: one line each, in `plugin_story`. Options of the provider choose its answers.
#include <algorithm>
#include <map>
#include <numeric>
#include <thread>

#include "telling_profiler.h"
#include "telling_twice.h"

using namespace telling;

namespace {

std::atomic<int> running{0}, most{0};

// A compiled part
// ---------------------------------------------------------------------------------------------------------------------

struct Part : OrtNodeComputeInfo {
  bool slow = false;
  Part() : OrtNodeComputeInfo{} {
    ort_version_supported = 23;
    CreateState = [](OrtNodeComputeInfo* p, OrtNodeComputeContext*, void** state) -> OrtStatus* {
      *state = p;
      return nullptr;
    };
    Compute = [](OrtNodeComputeInfo*, void* state, OrtKernelContext* context) {
      if (const int now = ++running; now > most) most = now;
      if (static_cast<Part*>(state)->slow) std::this_thread::sleep_for(std::chrono::milliseconds(30));
      OrtStatus* status = negate(context);
      --running;
      return status;
    };
    ReleaseState = [](OrtNodeComputeInfo*, void*) {};
  }
  static OrtStatus* negate(OrtKernelContext* context) {
    Floats x;
    float* y = nullptr;
    void* resource = &x;
    TRY(api->KernelContext_GetResource(context, 1, 2, &resource));
    if (resource) return error("a stream of ours has a resource");
    TRY(read_first(context, x));
    TRY(make_output(context, 0, x.shape, y));
    for (size_t i = 0; i < x.count; ++i) y[i] = -x.data[i];
    return nullptr;
  }
};

// The provider
// ---------------------------------------------------------------------------------------------------------------------

template <typename Of, typename CountOf, typename FillOf>
std::string names(const Of* of, CountOf count_of, FillOf fill, bool sorted = false) {
  size_t count = 0;
  api->ReleaseStatus(count_of(of, &count));
  std::vector<const OrtValueInfo*> values(count);
  api->ReleaseStatus(fill(of, values.data(), count));
  std::vector<std::string> all;
  for (const OrtValueInfo* value : values) {
    const char* name = "";
    api->ReleaseStatus(api->GetValueInfoName(value, &name));
    all.push_back(std::string(" ") + name);
  }
  if (sorted) std::sort(all.begin(), all.end());
  return std::accumulate(all.begin(), all.end(), std::string());
}

void tell_part(const OrtGraph* graph, const OrtNode* node) {
  tell("part, graph inputs:" + names(graph, api->Graph_GetNumInputs, api->Graph_GetInputs));
  tell("part, constants:" +
       names(graph, api->Graph_GetNumInitializers, api->Graph_GetInitializers, true));  // in any order
  tell("part, node inputs:" + names(node, api->Node_GetNumInputs, api->Node_GetInputs));
}

struct Ep : OrtEp {
  std::map<std::string, std::string> options;
  bool is(const char* option) const { return options.count(option) && options.at(option) == "1"; }
  Ep() : OrtEp{} {
    ort_version_supported = 31;
    GetName = [](const OrtEp*) noexcept { return "telling"; };
    GetCapability = [](OrtEp* e, const OrtGraph* graph, OrtEpGraphSupportInfo* info) noexcept -> OrtStatus* {
      const auto& ep = *static_cast<Ep*>(e);
      std::vector<const OrtNode*> nodes;
      TRY(nodes_of(graph, nodes));
      const OrtNodeFusionOptions how{23, ep.is("drop_constants")};
      std::vector<const OrtNode*> mine;
      for (const OrtNode* node : nodes) {
        const std::string type = type_of(node);
        if (type == "Neg" || (ep.is("products") && type == "Mul")) mine.push_back(node);
      }
      if (!mine.empty() && ep.is("products"))  // one part, whose results are not used
        return ep_api->EpGraphSupportInfo_AddNodesToFuse(info, mine.data(), mine.size(), &how);
      for (const OrtNode* node : mine) TRY(ep_api->EpGraphSupportInfo_AddNodesToFuse(info, &node, 1, &how));
      return nullptr;
    };
    Compile = [](OrtEp* e, const OrtGraph** graphs, const OrtNode** nodes, size_t count, OrtNodeComputeInfo** infos,
                 OrtNode**) noexcept -> OrtStatus* {
      tell("Compile");
      for (size_t i = 0; i < count; ++i) {
        tell_part(graphs[i], nodes[i]);
        auto* part = new Part;
        part->slow = static_cast<Ep*>(e)->is("slow");
        infos[i] = part;
      }
      return nullptr;
    };
    ReleaseNodeComputeInfos = delete_parts<Part>;
    hooks();
  }
  void hooks();
};

OrtStatus* told_run(const char* what, const OrtRunOptions* options) {
  const char *tag = nullptr, *entry = nullptr;
  TRY(api->RunOptionsGetRunTag(options, &tag));
  entry = api->GetRunConfigEntry(options, "tests.key");
  tell(std::string(what) + " tag '" + (tag ? tag : "null") + "' entry '" + (entry ? entry : "null") + "'");
  return nullptr;
}

void Ep::hooks() {
  SetDynamicOptions = [](OrtEp* e, const char* const* keys, const char* const* values, size_t count) noexcept {
    for (size_t i = 0; i < count; ++i) tell(std::string("SetDynamicOptions ") + keys[i] + "=" + values[i]);
    return static_cast<Ep*>(e)->is("refuse_options") ? error("no such option") : nullptr;
  };
  OnRunStart = [](OrtEp*, const OrtRunOptions* options) noexcept { return told_run("OnRunStart", options); };
  OnRunEnd = [](OrtEp*, const OrtRunOptions* options, bool) noexcept { return told_run("OnRunEnd", options); };
  GetCompiledModelCompatibilityInfo = [](OrtEp*, const OrtGraph* graph) noexcept {
    const char* name = "";
    api->ReleaseStatus(api->Graph_GetName(graph, &name));
    tell(std::string("GetCompiledModelCompatibilityInfo ") + name);
    return "fits device 7";
  };
  IsConcurrentRunSupported = [](OrtEp* e, bool* is) noexcept -> OrtStatus* {
    tell("IsConcurrentRunSupported");
    *is = !static_cast<Ep*>(e)->is("serial");
    return nullptr;
  };
  OnSessionInitializationEnd = [](OrtEp* e) noexcept {
    tell("OnSessionInitializationEnd");
    return static_cast<Ep*>(e)->is("refuse_session") ? error("not this session") : nullptr;
  };
  CreateProfiler = [](OrtEp* e, OrtEpProfilerImpl** made) noexcept -> OrtStatus* {
    tell("CreateProfiler");
    *made = static_cast<Ep*>(e)->is("no_profiler") ? nullptr : new Profiler;
    return nullptr;
  };
}

struct TellingFactory : Factory {
  OrtCustomOpDomain* domain = nullptr;
  const Twice operation;
  TellingFactory();
  void answers();
  ~TellingFactory() { api->ReleaseCustomOpDomain(domain); }
  OrtStatus* prepare() {
    TRY(api->CreateCustomOpDomain("tests.telling", &domain));
    TRY(api->CustomOpDomain_Add(domain, &operation));
    return Factory::prepare();
  }
};

OrtStatus* make_ep(const OrtSessionOptions* options, OrtEp** made) {
  auto* ep = new Ep;
  for (const char* key :
       {"slow", "serial", "refuse_options", "refuse_session", "no_profiler", "products", "drop_constants"}) {
    char value[8] = {};
    size_t size = sizeof value;
    const std::string entry = std::string("ep.telling.") + key;
    OrtStatus* status = api->GetSessionConfigEntry(options, entry.c_str(), value, &size);
    if (!status) ep->options[key] = value;
    api->ReleaseStatus(status);
  }
  *made = ep;
  return nullptr;
}

// Selects the one whose note calls itself the best, otherwise the last.
OrtStatus* select_candidate(const OrtHardwareDevice* device, const OrtKeyValuePairs* const* candidates, size_t count,
                            const OrtSessionOptions* options, size_t* selected) {
  tell("SelectBestModelCandidate of " + std::to_string(count) + (device ? " for a device" : "") +
       (options ? " with options" : ""));
  *selected = count - 1;
  for (size_t i = 0; i < count; ++i) {
    const char *const *keys = nullptr, *const *values = nullptr;
    size_t pairs = 0;
    api->GetKeyValuePairs(candidates[i], &keys, &values, &pairs);
    std::string line = "candidate";
    for (size_t k = 0; k < pairs; ++k) {
      line += std::string(" ") + keys[k] + "=" + values[k];
      const std::string value = values[k];
      if (value == "best") *selected = i;
      if (value == "beyond") *selected = count;
      if (value == "refuse") return error("none of them");
    }
    tell(line);
  }
  return nullptr;
}

TellingFactory::TellingFactory() : Factory({31, "telling", 0xcafe, "4.5.6", "TellingMemory"}) {
  CreateEp = [](OrtEpFactory*, const OrtHardwareDevice* const*, const OrtKeyValuePairs* const*, size_t,
                const OrtSessionOptions* options, const OrtLogger* log, OrtEp** made) noexcept -> OrtStatus* {
    OrtStatus* failed = api->Logger_LogMessage(log, ORT_LOGGING_LEVEL_INFO, "a provider is made", "telling.cc", 1, "");
    return failed ? failed : make_ep(options, made);
  };
  ReleaseEp = [](OrtEpFactory*, OrtEp* ep) noexcept {
    tell("ReleaseEp");
    delete static_cast<Ep*>(ep);
  };
  IsStreamAware = [](const OrtEpFactory*) noexcept { return true; };
  CreateSyncStreamForDevice = [](OrtEpFactory*, const OrtMemoryDevice*, const OrtKeyValuePairs*,
                                 OrtSyncStreamImpl** made) noexcept -> OrtStatus* {
    *made = new Stream;
    return nullptr;
  };
  GetNumCustomOpDomains = [](OrtEpFactory*, size_t* count) noexcept -> OrtStatus* {
    *count = 1;
    return nullptr;
  };
  GetCustomOpDomains = [](OrtEpFactory* f, OrtCustomOpDomain** domains, size_t count) noexcept -> OrtStatus* {
    tell("GetCustomOpDomains " + std::to_string(count));
    domains[0] = static_cast<TellingFactory*>(f)->domain;
    return nullptr;
  };
  answers();
}

// Answers to queries of callers and of the host before there is a session.
void TellingFactory::answers() {
  ValidateCompiledModelCompatibilityInfo = [](OrtEpFactory*, const OrtHardwareDevice* const*, size_t count,
                                              const char* text,
                                              OrtCompiledModelCompatibility* how) noexcept -> OrtStatus* {
    tell("ValidateCompiledModelCompatibilityInfo of " + std::to_string(count) + " devices: " + text);
    if (std::strcmp(text, "broken") == 0) return error("cannot read that");
    const std::string note = text;
    *how = note == "fits device 7" ? OrtCompiledModelCompatibility_EP_SUPPORTED_OPTIMAL
           : note == "recompile"   ? OrtCompiledModelCompatibility_EP_SUPPORTED_PREFER_RECOMPILATION
           : note == "unknown"     ? OrtCompiledModelCompatibility_EP_NOT_APPLICABLE
                                   : OrtCompiledModelCompatibility_EP_UNSUPPORTED;
    return nullptr;
  };
  SelectBestModelCandidate = [](OrtEpFactory*, const OrtHardwareDevice* device,
                                const OrtKeyValuePairs* const* candidates, size_t count,
                                const OrtSessionOptions* options, size_t* selected) noexcept {
    return select_candidate(device, candidates, count, options, selected);
  };
  GetHardwareDeviceIncompatibilityDetails = [](OrtEpFactory*, const OrtHardwareDevice* hardware,
                                               OrtDeviceEpIncompatibilityDetails* details) noexcept -> OrtStatus* {
    tell("GetHardwareDeviceIncompatibilityDetails " + std::to_string(api->HardwareDevice_Type(hardware)));
    return ep_api->DeviceEpIncompatibilityDetails_SetDetails(
        details, OrtDeviceEpIncompatibility_DRIVER_INCOMPATIBLE | OrtDeviceEpIncompatibility_MISSING_DEPENDENCY, 99,
        "an older driver");
  };
}

}  // namespace

PLUGIN_OF(TellingFactory, ORT_API_VERSION)

/// The next line of the report; null at the end.
EXPORTED const char* plugin_story() {
  static size_t next = 0;
  const std::lock_guard lock(mutex);
  return next < story.size() ? story[next++].c_str() : nullptr;
}

/// The largest number of runs of parts at the same time.
EXPORTED int plugin_most_at_once() { return most; }
