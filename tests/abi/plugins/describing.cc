// A plug-in library for tests: a provider on a device that it creates, with one kernel, for Mul, which reports
// everything that the host provides about its definition, its node and its runs: one line each, in `describing_story`.
#include <mutex>

#include "host_device.h"

using namespace plugins;

namespace {

std::mutex mutex;
std::vector<std::string> story;

void tell(std::string line) {
  const std::lock_guard lock(mutex);
  story.push_back(std::move(line));
}

/// The code of a status, which is released.
std::string code(OrtStatus* status) {
  const int found = status ? int(api->GetErrorCode(status)) : 0;
  api->ReleaseStatus(status);
  return found ? "code " + std::to_string(found) : "ok";
}

std::string name(const char* text) { return text ? std::string("'") + text + "'" : "null"; }

// The reports
// ---------------------------------------------------------------------------------------------------------------------

void tell_definition(const OrtKernelDef* def) {
  int first = -7, last = -7;
  tell("operator " + name(ep_api->KernelDef_GetOperatorType(def)) + " of " + name(ep_api->KernelDef_GetDomain(def)) +
       " by " + name(ep_api->KernelDef_GetExecutionProvider(def)));
  const std::string versions = code(ep_api->KernelDef_GetSinceVersion(def, &first, &last));
  tell("versions " + versions + ": " + std::to_string(first) + " to " + std::to_string(last));
  for (size_t i = 0; i < 3; ++i) {
    OrtMemType in = OrtMemTypeCPUOutput, out = OrtMemTypeCPUInput;
    const std::string of_in = code(ep_api->KernelDef_GetInputMemType(def, i, &in));
    const std::string of_out = code(ep_api->KernelDef_GetOutputMemType(def, i, &out));
    tell("memory " + std::to_string(i) + ": " + of_in + " " + std::to_string(in) + ", " + of_out + " " +
         std::to_string(out));
  }
}

/// The text that a function with a buffer and a size writes.
template <typename F>
std::string text_of(F fill) {
  char text[64] = {};
  size_t size = sizeof text;
  const std::string answer = code(fill(text, &size));
  return answer + " " + name(text) + " of " + std::to_string(size);
}

void tell_allocator(const OrtKernelInfo* info, OrtMemType type) {
  OrtAllocator* allocator = nullptr;
  const OrtMemoryInfo* memory = nullptr;
  const char* called = nullptr;
  const std::string answer = code(api->KernelInfoGetAllocator(info, type, &allocator));
  if (allocator) api->ReleaseStatus(api->AllocatorGetInfo(allocator, &memory));
  if (memory) api->ReleaseStatus(api->MemoryInfoGetName(memory, &called));
  void* block = allocator ? allocator->Alloc(allocator, 24) : nullptr;
  tell("allocator " + std::to_string(type) + ": " + answer + " " + name(called) + (block ? "" : ", no block"));
  if (block) allocator->Free(allocator, block);
  if (allocator) api->ReleaseAllocator(allocator);
}

void tell_logger(const std::string& whose, const std::string& answer, const OrtLogger* logger) {
  OrtLoggingLevel level = ORT_LOGGING_LEVEL_FATAL;
  const std::string leveled = logger ? code(api->Logger_GetLoggingSeverityLevel(logger, &level)) : "none";
  tell(whose + " logger: " + answer + ", level " + leveled + " " + std::to_string(level));
  if (!logger) return;
  const std::string line = "heard from " + whose;
  tell("logged " +
       code(api->Logger_LogMessage(logger, ORT_LOGGING_LEVEL_ERROR, line.c_str(), "describing.cc", 7, "f")));
  tell("logged below " +
       code(api->Logger_LogMessage(logger, ORT_LOGGING_LEVEL_VERBOSE, "never heard", "describing.cc", 8, "f")));
}

void tell_entries(const OrtKernelInfo* info) {
  OrtKeyValuePairs* entries = nullptr;
  tell("entries " + code(api->KernelInfo_GetConfigEntries(info, &entries)));
  if (entries) tell("the scene's " + name(api->GetKeyValue(entries, "tests.of_the_session")));
  api->ReleaseKeyValuePairs(entries);
}

void tell_info(const OrtKernelInfo* info, const OrtEp* mine) {
  const OrtEp* ep = nullptr;
  const OrtLogger* logger = nullptr;
  int since = -7;
  const std::string provider = code(ep_api->KernelInfo_GetEp(info, &ep));
  tell("provider " + provider + (ep == mine ? ", the same" : ", another"));
  tell("node " + text_of([&](char* t, size_t* n) { return api->KernelInfo_GetNodeName(info, t, n); }));
  tell("type " + text_of([&](char* t, size_t* n) { return api->KernelInfo_GetOperatorType(info, t, n); }));
  tell("domain " + text_of([&](char* t, size_t* n) { return api->KernelInfo_GetOperatorDomain(info, t, n); }));
  const std::string answer = code(api->KernelInfo_GetOperatorSinceVersion(info, &since));
  tell("since " + answer + " " + std::to_string(since));
  for (size_t i = 0; i < 3; ++i) {
    tell("input " + text_of([&](char* t, size_t* n) { return api->KernelInfo_GetInputName(info, i, t, n); }));
    tell("output " + text_of([&](char* t, size_t* n) { return api->KernelInfo_GetOutputName(info, i, t, n); }));
  }
  tell_entries(info);
  for (OrtMemType type : {OrtMemTypeDefault, OrtMemTypeCPUInput, OrtMemTypeCPUOutput}) tell_allocator(info, type);
  const std::string logging = code(api->KernelInfo_GetLogger(info, &logger));
  tell_logger("kernel", logging, logger);
}

/// The result of a query about a run, and whether it returns anything.
template <typename T, typename F>
void tell_given(const std::string& what, F ask) {
  T* given = nullptr;
  const std::string answer = code(ask(&given));
  tell(what + " " + answer + (given ? "" : " none"));
}

void tell_run(const OrtKernelContext* context) {
  tell_given<OrtSyncStream>("stream", [&](auto out) { return api->KernelContext_GetSyncStream(context, out); });
  tell_given<void>("compute stream", [&](auto out) { return api->KernelContext_GetGPUComputeStream(context, out); });
  tell_given<void>("resource", [&](auto out) { return api->KernelContext_GetResource(context, 1, 2, out); });
  for (size_t i : {0, 3})
    tell_given<OrtValue>("preallocated",
                         [&](auto out) { return api->KernelContext_GetPreallocatedOutput(context, i, out); });
  const OrtLogger* logger = nullptr;
  const std::string logging = code(api->KernelContext_GetLogger(context, &logger));
  tell_logger("run", logging, logger);
}

// The provider
// ---------------------------------------------------------------------------------------------------------------------

OrtStatus* multiply(OrtKernelContext* context) {
  Floats x, w;
  const OrtValue* second = nullptr;
  float* y = nullptr;
  tell_run(context);
  TRY(read_first(context, x));
  TRY(api->KernelContext_GetInput(context, 1, &second));
  TRY(read(second, w));
  TRY(make_output(context, 0, x.shape, y));
  for (size_t i = 0; i < x.count; ++i) y[i] = x.data[i] * w.data[i];
  return nullptr;
}

struct Kernel : OrtKernelImpl {
  Kernel() : OrtKernelImpl{} {
    ort_version_supported = ORT_API_VERSION;
    Release = [](OrtKernelImpl* k) noexcept { delete static_cast<Kernel*>(k); };
    Compute = [](OrtKernelImpl*, OrtKernelContext* context) noexcept { return multiply(context); };
  }
};

struct Ep : OrtEp {
  OrtKernelRegistry* registry = nullptr;
  Ep() : OrtEp{} {
    ort_version_supported = ORT_API_VERSION;
    GetName = [](const OrtEp*) noexcept { return "describing"; };
    GetCapability = [](OrtEp*, const OrtGraph* graph, OrtEpGraphSupportInfo* info) noexcept -> OrtStatus* {
      return claim_nodes_of_kernels(graph, info, tell_definition);
    };
    GetKernelRegistry = [](OrtEp* ep, const OrtKernelRegistry** given) noexcept -> OrtStatus* {
      auto* self = static_cast<Ep*>(ep);
      if (!self->registry) TRY(self->fill());
      *given = self->registry;
      return nullptr;
    };
  }
  ~Ep() { ep_api->ReleaseKernelRegistry(registry); }

  OrtStatus* fill() {
    OrtKernelDefBuilder* builder = nullptr;
    OrtKernelDef* def = nullptr;
    TRY(ep_api->CreateKernelRegistry(&registry));
    TRY(ep_api->CreateKernelDefBuilder(&builder));
    TRY(ep_api->KernelDefBuilder_SetOperatorType(builder, "Mul"));
    TRY(ep_api->KernelDefBuilder_SetDomain(builder, ""));
    TRY(ep_api->KernelDefBuilder_SetSinceVersion(builder, 14, 14));
    TRY(ep_api->KernelDefBuilder_SetExecutionProvider(builder, "describing"));
    TRY(ep_api->KernelDefBuilder_SetInputMemType(builder, 1, OrtMemTypeCPUInput));
    TRY(ep_api->KernelDefBuilder_Build(builder, &def));
    ep_api->ReleaseKernelDefBuilder(builder);
    const auto make = [](void* ep, const OrtKernelInfo* info, OrtKernelImpl** made) -> OrtStatus* {
      tell_info(info, static_cast<const OrtEp*>(ep));
      *made = new Kernel;
      return nullptr;
    };
    TRY(ep_api->KernelRegistry_AddKernel(registry, def, make, static_cast<OrtEp*>(this)));
    tell("built");
    tell_definition(def);
    ep_api->ReleaseKernelDef(def);
    return nullptr;
  }
};

/// Its device is hardware that the host did not find.
struct DescribingFactory : Factory {
  OrtHardwareDevice* hardware = nullptr;
  DescribingFactory() : Factory({ORT_API_VERSION, "describing", 0xde5c, "1.2.3", "DescribingMemory"}) {
    GetSupportedDevices = [](OrtEpFactory* f, const OrtHardwareDevice* const*, size_t, OrtEpDevice** made, size_t room,
                             size_t* number) noexcept -> OrtStatus* {
      auto* self = static_cast<DescribingFactory*>(f);
      OrtEpDevice* dropped = nullptr;
      *number = 0;
      if (room == 0) return nullptr;
      TRY(ep_api->CreateEpDevice(f, self->hardware, nullptr, nullptr, &dropped));
      ep_api->ReleaseEpDevice(dropped);
      ep_api->ReleaseEpDevice(nullptr);
      TRY(ep_api->CreateEpDevice(f, self->hardware, nullptr, nullptr, &made[0]));
      *number = 1;
      return ep_api->EpDevice_AddAllocatorInfo(made[0], self->info);
    };
    CreateEp = [](OrtEpFactory*, const OrtHardwareDevice* const* devices, const OrtKeyValuePairs* const*, size_t count,
                  const OrtSessionOptions*, const OrtLogger*, OrtEp** made) noexcept -> OrtStatus* {
      tell("a provider for " + std::to_string(count) + ", the first " + name(api->HardwareDevice_Vendor(devices[0])));
      *made = new Ep;
      return nullptr;
    };
    ReleaseEp = delete_ep<Ep>;
  }
  ~DescribingFactory() {
    ep_api->ReleaseHardwareDevice(hardware);
    ep_api->ReleaseHardwareDevice(nullptr);
  }
  OrtStatus* prepare() {
    OrtKeyValuePairs* metadata = nullptr;
    api->CreateKeyValuePairs(&metadata);
    api->AddKeyValuePair(metadata, "made", "up");
    OrtStatus* status =
        ep_api->CreateHardwareDevice(OrtHardwareDeviceType_NPU, 0xde5c, 0x77, "Nobody", metadata, &hardware);
    api->ReleaseKeyValuePairs(metadata);
    TRY(status);
    return Factory::prepare();
  }
};

}  // namespace

PLUGIN_OF(DescribingFactory, ORT_API_VERSION)

/// The next line of the report; null at the end.
EXPORTED const char* describing_story() {
  static size_t next = 0;
  const std::lock_guard lock(mutex);
  return next < story.size() ? story[next++].c_str() : nullptr;
}
