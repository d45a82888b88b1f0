// Plug-in providers: a library that compiles parts of models, on a device with separate memory, in both engines.
#include <dlfcn.h>

#include "binder.h"

using scenes::Binder;
using scenes::Maker;
using scenes::Scene;

namespace {

constexpr const char* kPlugin = RETORT_COMPILING_PROVIDER;

OrtErrorCode load(Scene& s, const char* name = "tests", const char* path = kPlugin) {
  return CALL(RegisterExecutionProviderLibrary, s.env(), name, path);
}

std::vector<const OrtEpDevice*> devices_of(Scene& s) {
  const OrtEpDevice* const* all = nullptr;
  size_t n = 0;
  CALL(GetEpDevices, s.env(), &all, &n);
  return {all, all + n};
}

const OrtEpDevice* device(Scene& s) { return s.device("compiling"); }

/// Copies to the device and from it, runs of parts, allocated blocks, over all runs so far.
struct Counts {
  int64_t up = 0, down = 0, computed = 0, alive = 0;
};
Counts counts() {
  Counts c;
  void* library = dlopen(kPlugin, RTLD_NOW | RTLD_NOLOAD);
  auto* tell = library ? reinterpret_cast<void (*)(int64_t*)>(dlsym(library, "plugin_counts")) : nullptr;
  if (tell) tell(&c.up);
  if (library) dlclose(library);
  return c;
}
void note_counts(Scene& s, const Counts& since) {
  const Counts now = counts();
  s.note("copies to the device", now.up - since.up);
  s.note("copies from the device", now.down - since.down);
  s.note("parts that ran", now.computed - since.computed);
}

OrtSessionOptions* on_device(Scene& s) {
  OrtSessionOptions* o = s.options();
  const OrtEpDevice* d = device(s);
  CALL(SessionOptionsAppendExecutionProvider_V2, o, s.env(), &d, 1, nullptr, nullptr, 0);
  return o;
}

Maker two_inputs() { return Maker().floats_in("a", {2}).floats_in("b", {2}).floats_out("y", {2}); }
/// Everything runs on the device.
Maker whole() { return two_inputs().node("Add", {"a", "b"}, {"c"}).node("Mul", {"c", "b"}, {"y"}); }
/// The CPU runs a node in the middle, which also reads an input.
Maker mixed() {
  return two_inputs()
      .node("Add", {"a", "b"}, {"c"})
      .node("Relu", {"c"}, {"d"})
      .node("Mul", {"d", "a"}, {"e"})
      .node("Abs", {"a"}, {"f"})
      .node("Add", {"e", "f"}, {"y"});
}

OrtValue* on_device_of(Scene& s, OrtAllocator* allocator) {
  const int64_t shape[1] = {2};
  OrtValue* value = nullptr;
  CALL(CreateTensorAsOrtValue, allocator, shape, 1, ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT, &value);
  return value;
}

OrtAllocator* shared_allocator(Scene& s) {
  OrtAllocator* allocator = nullptr;
  CALL(GetSharedAllocator, s.env(), s.api.EpDevice_MemoryInfo(device(s), OrtDeviceMemoryType_DEFAULT), &allocator);
  s.note("shared allocator", static_cast<const void*>(allocator));
  return allocator;
}

void run_by_name(Scene& s, OrtSession* session, float* a, float* b) {
  const OrtValue* in[2] = {scenes::floats(s, a, {2}), scenes::floats(s, b, {2})};
  const char *names[2] = {"a", "b"}, *out = "y";
  OrtValue* y = nullptr;
  CALL(Run, session, nullptr, names, in, 2, &out, 1, &y);
  scenes::note_tensor(s, "y", y);
  s.api.ReleaseValue(y);
}

}  // namespace

SCENE(plugins, registering) {
  load(s, "a", "/nowhere/lib.so");
  load(s, "a", "libm.so.6");
  load(s, "a", "");
  load(s, nullptr);
  load(s, "a", nullptr);
  CALL(UnregisterExecutionProviderLibrary, s.env(), "a");
  load(s, "a");
  load(s, "a");
  CALL(UnregisterExecutionProviderLibrary, s.env(), "b");
  s.note("devices", devices_of(s).size());
  CALL(UnregisterExecutionProviderLibrary, s.env(), "a");
  s.note("devices", devices_of(s).size());
  load(s, "c");
  s.note("devices", devices_of(s).size());
}

SCENE(plugins, device) {
  load(s);
  const OrtEpDevice* d = device(s);
  s.note("device", static_cast<const void*>(d));
  s.note("vendor", s.api.EpDevice_EpVendor(d));
  s.note("version", s.api.GetKeyValue(s.api.EpDevice_EpMetadata(d), "version"));
  const char* path = s.api.GetKeyValue(s.api.EpDevice_EpMetadata(d), "library_path");
  s.note("library path", path && std::strcmp(path, kPlugin) == 0);
  s.note("hardware", s.api.HardwareDevice_Type(s.api.EpDevice_Device(d)));
  const OrtMemoryInfo* info = s.api.EpDevice_MemoryInfo(d, OrtDeviceMemoryType_DEFAULT);
  const char* name = nullptr;
  CALL(MemoryInfoGetName, info, &name);
  s.note("memory", name);
  s.note("memory vendor", s.api.MemoryInfoGetVendorId(info));
  s.note("host memory", static_cast<const void*>(s.api.EpDevice_MemoryInfo(d, OrtDeviceMemoryType_HOST_ACCESSIBLE)));
}

SCENE(plugins, whole_model) {
  load(s);
  OrtSession* session = whole().open(s, on_device(s));
  const OrtMemoryInfo* where[2] = {};
  CALL(SessionGetMemoryInfoForInputs, session, where, 2);
  const char* name = nullptr;
  CALL(MemoryInfoGetName, where[0], &name);
  s.note("inputs lie in", name);
  const OrtEpDevice* out[1] = {};
  CALL(SessionGetEpDeviceForOutputs, session, out, 1);
  s.note("output is the device's", out[0] == device(s));
  float a[2] = {1, -2}, b[2] = {3, 4};
  const Counts before = counts();
  for (int i = 0; i < 3; ++i) run_by_name(s, session, a, b);
  note_counts(s, before);
}

SCENE(plugins, cpu_between_two_parts) {
  load(s);
  OrtSession* session = mixed().open(s, on_device(s));
  float a[2] = {1, -2}, b[2] = {3, 4};
  const OrtValue* in[2] = {scenes::floats(s, a, {2}), scenes::floats(s, b, {2})};
  const char *names[2] = {"a", "b"}, *out = "y";
  OrtValue* y = nullptr;
  CALL(Run, session, nullptr, names, in, 2, &out, 1, &y);
  if (y)
    scenes::note_value(s, "y", y);
  else
    s.note("y", "none");
}

SCENE(plugins, constants_of_a_part) {
  load(s);
  const Maker model = Maker()
                          .floats_in("x", {2})
                          .floats_out("y", {2})
                          .floats("w", {2}, {10, 20})
                          .node("Neg", {"x"}, {"n"})
                          .node("Mul", {"w", "n"}, {"m"})
                          .node("Add", {"m", "w"}, {"y"});
  Binder binding(s, model, on_device(s));
  float x[2] = {1, 2};
  binding.in("x", scenes::floats(s, x, {2}));
  binding.out("y");
  for (int i = 0; i < 2; ++i) binding.run_and_note();
}

SCENE(plugins, bound_on_the_device) {
  load(s);
  Binder binding(s, whole(), on_device(s));
  OrtAllocator* allocator = shared_allocator(s);
  float a[2] = {1, -2}, b[2] = {3, 4}, y[2] = {};
  const OrtValue* from[2] = {scenes::floats(s, a, {2}), scenes::floats(s, b, {2})};
  OrtValue* to[2] = {on_device_of(s, allocator), on_device_of(s, allocator)};
  const Counts start = counts();
  CALL(CopyTensors, s.env(), from, to, nullptr, 2);
  note_counts(s, start);
  OrtValue* result = on_device_of(s, allocator);
  binding.in("a", to[0]);
  binding.in("b", to[1]);
  binding.out("y", result);
  const Counts before = counts();
  for (int i = 0; i < 10; ++i) binding.run();
  note_counts(s, before);
  s.note("blocks that runs keep", counts().alive - before.alive);
  OrtValue* host = scenes::floats(s, y, {2});
  const OrtValue* source = result;
  CALL(CopyTensors, s.env(), &source, &host, nullptr, 1);
  scenes::note_tensor(s, "y", host);
}

SCENE(plugins, bound_from_the_host) {
  load(s);
  Binder binding(s, whole(), on_device(s));
  float a[2] = {1, -2}, b[2] = {3, 4};
  const Counts before = counts();
  binding.in("a", scenes::floats(s, a, {2}));
  binding.in("b", scenes::floats(s, b, {2}));
  note_counts(s, before);
  a[0] = 100;
  CALL(BindOutputToDevice, binding.binding, "y", s.api.EpDevice_MemoryInfo(device(s), OrtDeviceMemoryType_DEFAULT));
  for (int i = 0; i < 5; ++i) binding.run();
  note_counts(s, before);
  float y[2] = {};
  OrtValue* host = scenes::floats(s, y, {2});
  const OrtValue* source = binding.values().at(0);
  CALL(CopyTensors, s.env(), &source, &host, nullptr, 1);
  scenes::note_tensor(s, "y", host);
}

SCENE(plugins, outputs_on_the_host) {
  load(s);
  Binder binding(s, whole(), on_device(s));
  float a[2] = {1, -2}, b[2] = {3, 4}, y[2] = {};
  binding.in("a", scenes::floats(s, a, {2}));
  binding.in("b", scenes::floats(s, b, {2}));
  OrtValue* given = scenes::floats(s, y, {2});
  binding.out("y", given);
  const Counts before = counts();
  binding.run();
  note_counts(s, before);
  scenes::note_tensor(s, "y", given);
  binding.out("y");
  binding.run_and_note();
}

SCENE(plugins, no_fallback) {
  load(s);
  for (const Maker& model : {whole(), mixed()}) {
    OrtSessionOptions* o = on_device(s);
    CALL(AddSessionConfigEntry, o, "session.disable_cpu_ep_fallback", "1");
    s.note("session", static_cast<const void*>(model.open(s, o)));
  }
}

SCENE(plugins, copies_that_cannot_be) {
  load(s);
  OrtAllocator* allocator = shared_allocator(s);
  float two[2] = {1, 2}, three[3] = {1, 2, 3};
  const OrtValue* small = scenes::floats(s, two, {2});
  const OrtValue* large = scenes::floats(s, three, {3});
  OrtValue* there = on_device_of(s, allocator);
  const Counts before = counts();
  CALL(CopyTensors, s.env(), &small, &there, nullptr, 0);
  CALL(CopyTensors, s.env(), nullptr, &there, nullptr, 1);
  CALL(CopyTensors, s.env(), &large, &there, nullptr, 1);
  OrtSyncStream* stream = nullptr;
  CALL(CreateSyncStreamForEpDevice, device(s), nullptr, &stream);
  s.note("stream", static_cast<const void*>(stream));
  note_counts(s, before);
}

SCENE(plugins, unregistered_while_in_use) {
  load(s);
  OrtSession* session = whole().open(s, on_device(s));
  CALL(UnregisterExecutionProviderLibrary, s.env(), "tests");
  s.api.ReleaseSession(session);
}
