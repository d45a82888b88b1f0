// Devices and their providers: what a library without plug-ins reports about the processor.
#include <algorithm>
#include <string>

#include "models.h"

using scenes::open;
using scenes::Scene;

namespace {

std::string text_of(const Scene& s, const OrtKeyValuePairs* pairs) {
  if (!pairs) return "null";
  const char *const *keys = nullptr, *const *values = nullptr;
  size_t n = 0;
  s.api.GetKeyValuePairs(pairs, &keys, &values, &n);
  std::vector<std::string> entries;
  for (size_t i = 0; i < n; ++i) entries.push_back(std::string(keys[i]) + "=" + values[i]);
  std::sort(entries.begin(), entries.end());
  std::string text = std::to_string(n) + ":";
  for (const std::string& entry : entries) text += " " + entry;
  return text;
}

void note_hardware(Scene& s, const OrtHardwareDevice* device) {
  s.note("hardware", device);
  if (!device) return;
  s.note("type", s.api.HardwareDevice_Type(device));
  s.note("vendor id", s.api.HardwareDevice_VendorId(device));
  s.note("vendor", s.api.HardwareDevice_Vendor(device));
  s.note("device id", s.api.HardwareDevice_DeviceId(device));
  s.note("metadata", text_of(s, s.api.HardwareDevice_Metadata(device)));
}

void note_device(Scene& s, const OrtEpDevice* device) {
  s.note("device", device);
  if (!device) return;
  s.note("ep name", s.api.EpDevice_EpName(device));
  s.note("ep vendor", s.api.EpDevice_EpVendor(device));
  s.note("ep metadata", text_of(s, s.api.EpDevice_EpMetadata(device)));
  s.note("ep options", text_of(s, s.api.EpDevice_EpOptions(device)));
  note_hardware(s, s.api.EpDevice_Device(device));
  for (int type : {OrtDeviceMemoryType_DEFAULT, OrtDeviceMemoryType_HOST_ACCESSIBLE}) {
    s.note("memory info", s.api.EpDevice_MemoryInfo(device, OrtDeviceMemoryType(type)));
  }
}

/// The devices of the environment.
std::vector<const OrtEpDevice*> devices(Scene& s) {
  const OrtEpDevice* const* all = nullptr;
  size_t n = 77;
  CALL(GetEpDevices, s.env(), &all, &n);
  s.note("devices", n);
  return {all, all + (all ? n : 0)};
}

const OrtEpDevice* cpu_device(Scene& s) { return s.device("CPUExecutionProvider"); }

/// Runs dense.onnx with the options.
void run_dense(Scene& s, const OrtSessionOptions* options) {
  OrtSession* session = open(s, "dense", options);
  if (!session) return;
  float data[3] = {1, 2, 3};
  const OrtValue* input = scenes::floats(s, data, {1, 3});
  const char *in = "x", *out = "y";
  OrtValue* output = nullptr;
  CALL(Run, session, nullptr, &in, &input, 1, &out, 1, &output);
  scenes::note_tensor(s, "y", output);
  s.api.ReleaseSession(session);
}

}  // namespace

SCENE(devices, list) {
  for (const OrtEpDevice* device : devices(s)) note_device(s, device);
  const OrtEpDevice *const *one = nullptr, *const *two = nullptr;
  size_t n = 0;
  CALL(GetEpDevices, s.env(), &one, &n);
  CALL(GetEpDevices, s.env(), &two, &n);
  s.note("same entries", one[0] == two[0]);
}

SCENE(devices, are_the_same_every_time) {
  const OrtEpDevice* first = cpu_device(s);
  OrtEnv* again = nullptr;
  CALL(CreateEnv, ORT_LOGGING_LEVEL_FATAL, "again", &again);
  s.note("same", cpu_device(s) == first);
  s.api.ReleaseEnv(again);
  s.note("same", cpu_device(s) == first);
}

SCENE(devices, hardware) {
  size_t n = 77;
  CALL(GetNumHardwareDevices, s.env(), &n);
  s.note("count", n);
  std::vector<const OrtHardwareDevice*> all(n + 2);
  CALL(GetHardwareDevices, s.env(), all.data(), n);
  s.note("is the provider's", all[n - 1] == s.api.EpDevice_Device(cpu_device(s)));
  // In the official library, devices before the processor are in the order of a hash table.
  const auto place = [&](const OrtHardwareDevice* d) {
    return std::pair(s.api.HardwareDevice_Type(d), text_of(s, s.api.HardwareDevice_Metadata(d)));
  };
  std::sort(all.begin(), all.begin() + int64_t(n), [&](auto* a, auto* b) { return place(a) < place(b); });
  for (size_t i = 0; i < n; ++i) note_hardware(s, all[i]);
  const auto* untouched = reinterpret_cast<const OrtHardwareDevice*>(&s);
  std::fill(all.begin(), all.end(), untouched);
  CALL(GetHardwareDevices, s.env(), all.data(), n - 1);
  s.note("untouched", all[0] == untouched);
  CALL(GetHardwareDevices, s.env(), all.data(), n + 1);
  s.note("untouched", all[0] == untouched);
  s.note("spare", all[n] == untouched ? "untouched" : all[n] ? "set" : "null");
}

// The entry is for plug-in providers, which may then offer such devices; alone it adds none.
SCENE(devices, virtual_ones_are_allowed) {
  for (const char* value : {"0", "1", "x"}) {
    OrtKeyValuePairs* config = nullptr;
    s.api.CreateKeyValuePairs(&config);
    s.api.AddKeyValuePair(config, "allow_virtual_devices", value);
    OrtEnvCreationOptions options = {};
    options.version = ORT_API_VERSION;
    options.logging_severity_level = ORT_LOGGING_LEVEL_FATAL;
    options.log_id = "virtual";
    options.config_entries = config;
    OrtEnv* env = nullptr;
    CALL(CreateEnvWithOptions, &options, &env);
    s.api.ReleaseKeyValuePairs(config);
    size_t n = 77, m = 77;
    CALL(GetNumHardwareDevices, env, &n);
    s.note("hardware", n);
    const OrtEpDevice* const* all = nullptr;
    CALL(GetEpDevices, env, &all, &m);
    s.note("devices", m);
    OrtKeyValuePairs* seen = nullptr;
    s.call("GetEnvConfigEntries", s.api.GetEpApi()->GetEnvConfigEntries(&seen));
    s.note("config", text_of(s, seen));
    s.api.ReleaseKeyValuePairs(seen);
    s.api.ReleaseEnv(env);
  }
}

SCENE(devices, incompatibility) {
  const OrtHardwareDevice* hardware = s.api.EpDevice_Device(cpu_device(s));
  for (const char* name : {"CPUExecutionProvider", "CPU", "NoSuchProvider", ""}) {
    OrtDeviceEpIncompatibilityDetails* details = nullptr;
    CALL(GetHardwareDeviceEpIncompatibilityDetails, s.env(), name, hardware, &details);
    s.note("details", details);
    if (!details) continue;
    scenes::note_details(s, details);
    s.api.ReleaseDeviceEpIncompatibilityDetails(details);
  }
  s.api.ReleaseDeviceEpIncompatibilityDetails(nullptr);
}

SCENE(devices, append) {
  const OrtEpDevice* cpu = cpu_device(s);
  OrtSessionOptions* o = s.options();
  const OrtEpDevice* twice[] = {cpu, cpu};
  const OrtEpDevice* none[] = {nullptr};
  const char *keys[] = {"a", "b"}, *values[] = {"1", "2"}, *bad[] = {nullptr, nullptr}, *empty[] = {"", ""};
  CALL(SessionOptionsAppendExecutionProvider_V2, o, s.env(), &cpu, 0, nullptr, nullptr, 0);
  CALL(SessionOptionsAppendExecutionProvider_V2, o, s.env(), nullptr, 0, nullptr, nullptr, 0);
  CALL(SessionOptionsAppendExecutionProvider_V2, o, s.env(), none, 0, nullptr, nullptr, 0);
  CALL(SessionOptionsAppendExecutionProvider_V2, o, s.env(), &cpu, 1, keys, values, 2);
  CALL(SessionOptionsAppendExecutionProvider_V2, o, s.env(), twice, 2, nullptr, nullptr, 0);
  CALL(SessionOptionsAppendExecutionProvider_V2, o, s.env(), &cpu, 1, empty, values, 2);
  CALL(SessionOptionsAppendExecutionProvider_V2, o, s.env(), &cpu, 1, keys, empty, 2);
  CALL(SessionOptionsAppendExecutionProvider_V2, o, s.env(), &cpu, 1, bad, values, 2);
  CALL(SessionOptionsAppendExecutionProvider_V2, o, s.env(), &cpu, 1, keys, bad, 2);
  run_dense(s, o);
}

SCENE(devices, append_and_run) {
  const OrtEpDevice* cpu = cpu_device(s);
  OrtSessionOptions* o = s.options();
  CALL(SessionOptionsAppendExecutionProvider_V2, o, s.env(), &cpu, 1, nullptr, nullptr, 0);
  run_dense(s, o);
  CALL(SessionOptionsAppendExecutionProvider_V2, o, s.env(), &cpu, 1, nullptr, nullptr, 0);
  run_dense(s, o);
}

SCENE(devices, append_with_options) {
  const OrtEpDevice* cpu = cpu_device(s);
  OrtSessionOptions* o = s.options();
  const char *keys[] = {"use_arena"}, *values[] = {"0"};
  CALL(SessionOptionsAppendExecutionProvider_V2, o, s.env(), &cpu, 1, keys, values, 1);
  int has = 77;
  for (const char* key : {"use_arena", "ep.cpuexecutionprovider.use_arena", "ep.cpu.use_arena"}) {
    CALL(HasSessionConfigEntry, o, key, &has);
    s.note(key, has);
  }
  run_dense(s, o);
}

SCENE(devices, fallback_disabled) {
  const OrtEpDevice* cpu = cpu_device(s);
  OrtSessionOptions* o = s.options();
  CALL(AddSessionConfigEntry, o, "session.disable_cpu_ep_fallback", "1");
  run_dense(s, o);
  CALL(SessionOptionsAppendExecutionProvider_V2, o, s.env(), &cpu, 1, nullptr, nullptr, 0);
  run_dense(s, o);
}

namespace {

void with_policy(Scene& s, int policy) {
  s.note("policy", policy);
  OrtSessionOptions* o = s.options();
  CALL(SessionOptionsSetEpSelectionPolicy, o, OrtExecutionProviderDevicePolicy(policy));
  run_dense(s, o);
  s.api.ReleaseSessionOptions(o);
}

/// The arguments of a delegate, and its answer.
struct Choice {
  Scene* s;
  size_t count = 1;
  bool refuse = false, same = false, null = false;
  int calls = 0;
};

OrtStatus* ORT_API_CALL choose(const OrtEpDevice** all, size_t n, const OrtKeyValuePairs* model,
                               const OrtKeyValuePairs* runtime, const OrtEpDevice** selected, size_t max,
                               size_t* num_selected, void* state) {
  Choice& choice = *static_cast<Choice*>(state);
  Scene& s = *choice.s;
  ++choice.calls;
  s.note("offered", n);
  for (size_t i = 0; i < n; ++i) s.note("ep name", s.api.EpDevice_EpName(all[i]));
  s.note("model", text_of(s, model));
  s.note("runtime", text_of(s, runtime));
  s.note("max", max);
  s.note("selected before", *num_selected);
  if (choice.refuse) return s.api.CreateStatus(ORT_EP_FAIL, "none of these");
  for (size_t i = 0; i < std::min(choice.count, max); ++i) selected[i] = choice.null ? nullptr : all[0];
  *num_selected = choice.count;
  return nullptr;
}

void with_delegate(Scene& s, Choice choice) {
  choice.s = &s;
  OrtSessionOptions* o = s.options();
  CALL(SessionOptionsSetEpSelectionPolicyDelegate, o, choose, &choice);
  run_dense(s, o);
  s.note("calls", choice.calls);
  s.api.ReleaseSessionOptions(o);
}

}  // namespace

SCENE(devices, policies) {
  for (int policy = OrtExecutionProviderDevicePolicy_DEFAULT;
       policy <= OrtExecutionProviderDevicePolicy_MIN_OVERALL_POWER; ++policy) {
    with_policy(s, policy);
  }
}
SCENE(devices, policy_that_is_none) { with_policy(s, 7); }
SCENE(devices, policy_below_all) { with_policy(s, -1); }

SCENE(devices, added_by_name_and_by_device) {
  const OrtEpDevice* cpu = cpu_device(s);
  OrtSessionOptions* o = s.options();
  CALL(SessionOptionsAppendExecutionProvider, o, "CPU", nullptr, nullptr, 0);
  CALL(SessionOptionsAppendExecutionProvider, o, "CPUExecutionProvider", nullptr, nullptr, 0);
  run_dense(s, o);
  CALL(SessionOptionsAppendExecutionProvider_V2, o, s.env(), &cpu, 1, nullptr, nullptr, 0);
  run_dense(s, o);
}

SCENE(devices, delegate_selects_the_cpu) { with_delegate(s, {}); }
SCENE(devices, delegate_selects_nothing) { with_delegate(s, {.count = 0}); }
SCENE(devices, delegate_selects_one_twice) { with_delegate(s, {.count = 2}); }
SCENE(devices, delegate_selects_too_many) { with_delegate(s, {.count = 99}); }
SCENE(devices, delegate_refuses) { with_delegate(s, {.refuse = true}); }
SCENE(devices, delegate_selects_null) { with_delegate(s, {.null = true}); }

SCENE(devices, delegate_is_not_asked_when_a_provider_was_added) {
  const OrtEpDevice* cpu = cpu_device(s);
  Choice choice{&s};
  OrtSessionOptions* o = s.options();
  CALL(SessionOptionsSetEpSelectionPolicyDelegate, o, choose, &choice);
  CALL(SessionOptionsAppendExecutionProvider_V2, o, s.env(), &cpu, 1, nullptr, nullptr, 0);
  run_dense(s, o);
  s.note("calls", choice.calls);
}

SCENE(devices, delegate_and_policy_replace_each_other) {
  Choice choice{&s};
  OrtSessionOptions* o = s.options();
  CALL(SessionOptionsSetEpSelectionPolicyDelegate, o, choose, &choice);
  CALL(SessionOptionsSetEpSelectionPolicy, o, OrtExecutionProviderDevicePolicy_PREFER_CPU);
  run_dense(s, o);
  s.note("calls", choice.calls);
  CALL(SessionOptionsSetEpSelectionPolicyDelegate, o, choose, &choice);
  run_dense(s, o);
  s.note("calls", choice.calls);
}

SCENE(devices, ports) {
  const OrtEpDevice* cpu = cpu_device(s);
  OrtSession* session = open(s, "step");
  size_t inputs = 0, outputs = 0;
  CALL(SessionGetInputCount, session, &inputs);
  CALL(SessionGetOutputCount, session, &outputs);
  s.note("inputs", inputs);
  s.note("outputs", outputs);
  for (size_t n : {size_t(0), inputs - 1, inputs, inputs + 2}) {
    std::vector<const OrtEpDevice*> found(inputs + 3, reinterpret_cast<const OrtEpDevice*>(&s));
    CALL(SessionGetEpDeviceForInputs, session, found.data(), n);
    for (const OrtEpDevice* f : found) s.note("is", f == cpu ? "cpu" : !f ? "null" : "untouched");
  }
  for (size_t n : {size_t(0), outputs - 1, outputs, outputs + 2}) {
    std::vector<const OrtEpDevice*> found(outputs + 3, reinterpret_cast<const OrtEpDevice*>(&s));
    CALL(SessionGetEpDeviceForOutputs, session, found.data(), n);
    for (const OrtEpDevice* f : found) s.note("is", f == cpu ? "cpu" : !f ? "null" : "untouched");
  }
  s.api.ReleaseSession(session);
}

SCENE(devices, ports_of_an_added_provider) {
  const OrtEpDevice* cpu = cpu_device(s);
  OrtSessionOptions* o = s.options();
  CALL(SessionOptionsAppendExecutionProvider_V2, o, s.env(), &cpu, 1, nullptr, nullptr, 0);
  OrtSession* session = open(s, "dense", o);
  const OrtEpDevice* found = nullptr;
  CALL(SessionGetEpDeviceForInputs, session, &found, 1);
  s.note("cpu", found == cpu);
  found = nullptr;
  CALL(SessionGetEpDeviceForOutputs, session, &found, 1);
  s.note("cpu", found == cpu);
  const OrtMemoryInfo* info = nullptr;
  CALL(SessionGetMemoryInfoForInputs, session, &info, 1);
  const char* name = nullptr;
  CALL(MemoryInfoGetName, info, &name);
  s.note("name", name);
}

SCENE(devices, streams) {
  const OrtEpDevice* cpu = cpu_device(s);
  OrtSyncStream* stream = nullptr;
  OrtKeyValuePairs* pairs = nullptr;
  s.api.CreateKeyValuePairs(&pairs);
  CALL(CreateSyncStreamForEpDevice, cpu, nullptr, &stream);
  CALL(CreateSyncStreamForEpDevice, cpu, pairs, &stream);
  s.note("stream", stream);
  s.api.ReleaseSyncStream(nullptr);
}

SCENE(devices, shared_allocators) {
  const OrtEpDevice* cpu = cpu_device(s);
  OrtAllocator* allocator = nullptr;
  for (auto memory : {OrtDeviceMemoryType_DEFAULT, OrtDeviceMemoryType_HOST_ACCESSIBLE}) {
    for (auto kind : {OrtDeviceAllocator, OrtArenaAllocator, OrtReadOnlyAllocator}) {
      CALL(CreateSharedAllocator, s.env(), cpu, memory, kind, nullptr, &allocator);
      s.note("allocator", allocator);
    }
    CALL(CreateSharedAllocator, s.env(), cpu, memory, OrtDeviceAllocator, nullptr, nullptr);
    CALL(ReleaseSharedAllocator, s.env(), cpu, memory);
  }
}

SCENE(devices, copies) {
  float from[4] = {1, 2, 3, 4}, to[4] = {};
  OrtValue* source = scenes::floats(s, from, {4});
  OrtValue* target = scenes::floats(s, to, {4});
  const OrtValue* sources[] = {source};
  CALL(CopyTensors, s.env(), sources, &target, nullptr, 1);
  s.note("copied", to[3]);
  CALL(CopyTensors, s.env(), sources, &target, nullptr, 0);
  CALL(CopyTensors, s.env(), nullptr, &target, nullptr, 1);
  CALL(CopyTensors, s.env(), sources, nullptr, nullptr, 1);
  CALL(CopyTensors, s.env(), nullptr, nullptr, nullptr, 0);
}
