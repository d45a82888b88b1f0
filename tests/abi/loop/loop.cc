#include "loop/loop.h"

#include <dlfcn.h>

namespace scenes {

Loop::Loop(Scene& scene, std::initializer_list<Setting> settings, bool registers_too) : s(scene) {
  void* library = dlopen(RETORT_LOOPBACK_PROVIDER, RTLD_NOW | RTLD_LOCAL);
  s.note("library", library);
  if (!library) exit(4);
  counters_ = reinterpret_cast<LoopbackCountersFn>(dlsym(library, "LoopbackCounters"));
  reset_ = reinterpret_cast<LoopbackResetFn>(dlsym(library, "LoopbackReset"));
  set_ = reinterpret_cast<LoopbackSetFn>(dlsym(library, "LoopbackSet"));
  record_ = reinterpret_cast<LoopbackRecordFn>(dlsym(library, "LoopbackRecord"));
  events_ = reinterpret_cast<LoopbackEventsFn>(dlsym(library, "LoopbackEvents"));
  for (const auto& [key, value] : settings) set(key, value);
  if (registers_too) registers();
}

OrtErrorCode Loop::registers() {
  return CALL(RegisterExecutionProviderLibrary, s.env(), "loop", RETORT_LOOPBACK_PROVIDER);
}

const OrtEpDevice* Loop::device(Where where) { return s.device(where == Where::device2 ? "loopback2" : "loopback"); }

const OrtMemoryInfo* Loop::memory(Where where) {
  if (where == Where::host) {
    OrtMemoryInfo* cpu = nullptr;
    s.api.ReleaseStatus(s.api.CreateCpuMemoryInfo(OrtDeviceAllocator, OrtMemTypeDefault, &cpu));
    return cpu;
  }
  const OrtEpDevice* of = device(where);
  if (!of) return nullptr;
  const bool pinned = where == Where::pinned;
  return s.api.EpDevice_MemoryInfo(of, pinned ? OrtDeviceMemoryType_HOST_ACCESSIBLE : OrtDeviceMemoryType_DEFAULT);
}

OrtAllocator* Loop::allocator(Where where) {
  OrtAllocator* allocator = nullptr;
  if (where == Where::host)
    s.api.ReleaseStatus(s.api.GetAllocatorWithDefaultOptions(&allocator));
  else
    s.api.ReleaseStatus(s.api.GetSharedAllocator(s.env(), memory(where), &allocator));
  return allocator;
}

OrtSessionOptions* Loop::options(std::initializer_list<Setting> settings, Where where) {
  OrtSessionOptions* o = s.options();
  add_provider(o, where, settings);
  return o;
}

void Loop::add_provider(OrtSessionOptions* o, Where where, std::initializer_list<Setting> settings) {
  std::vector<const char*> keys, values;
  for (const auto& [key, value] : settings) {
    keys.push_back(key);
    values.push_back(value);
  }
  const OrtEpDevice* d = device(where);
  CALL(SessionOptionsAppendExecutionProvider_V2, o, s.env(), &d, 1, keys.data(), values.data(), keys.size());
}

OrtValue* Loop::empty(Where where, const std::vector<int64_t>& shape, int type) {
  OrtValue* value = nullptr;
  OrtAllocator* from = allocator(where);
  if (from) CALL(CreateTensorAsOrtValue, from, shape.data(), shape.size(), ONNXTensorElementDataType(type), &value);
  return value;
}

OrtValue* Loop::tensor(Where where, const std::vector<int64_t>& shape, const std::vector<float>& data) {
  OrtValue* value = empty(where, shape);
  if (!value || data.empty()) return value;
  if (where == Where::host || where == Where::pinned) {
    void* to = nullptr;
    s.api.ReleaseStatus(s.api.GetTensorMutableData(value, &to));
    std::memcpy(to, data.data(), data.size() * sizeof(float));
  } else {
    const OrtValue* from = floats(s, const_cast<float*>(data.data()), shape);
    CALL(CopyTensors, s.env(), &from, &value, nullptr, 1);
  }
  return value;
}

void Loop::note(std::string_view key, const OrtValue* value) {
  const OrtApi& api = s.api;
  const OrtMemoryInfo* info = nullptr;
  const char* name = "nowhere";
  int has = 0;
  if (value) api.ReleaseStatus(api.HasValue(value, &has));
  if (has) api.ReleaseStatus(api.GetTensorMemoryInfo(value, &info));
  if (info) api.ReleaseStatus(api.MemoryInfoGetName(info, &name));
  s.note(std::string(key) + " lies in", name);
  if (!has) return s.note(key, value ? "empty" : "null");
  const bool readable = std::strncmp(name, "Loopback", 8) != 0 || std::strstr(name, "Pinned");
  OrtValue* copy = readable ? nullptr : copied(value);
  note_value(s, key, readable ? value : copy);
  api.ReleaseValue(copy);
}

OrtValue* Loop::copied(const OrtValue* value) {
  const OrtApi& api = s.api;
  OrtTensorTypeAndShapeInfo* shape = nullptr;
  size_t rank = 0;
  ONNXTensorElementDataType type = ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT;
  api.ReleaseStatus(api.GetTensorTypeAndShape(value, &shape));
  api.ReleaseStatus(api.GetDimensionsCount(shape, &rank));
  api.ReleaseStatus(api.GetTensorElementType(shape, &type));
  std::vector<int64_t> dims(rank);
  api.ReleaseStatus(api.GetDimensions(shape, dims.data(), rank));
  api.ReleaseTensorTypeAndShapeInfo(shape);
  OrtValue* copy = nullptr;
  api.ReleaseStatus(api.CreateTensorAsOrtValue(allocator(Where::host), dims.data(), rank, type, &copy));
  if (OrtStatus* status = api.CopyTensors(s.env(), &value, &copy, nullptr, 1)) {
    s.note("# not read", api.GetErrorMessage(status));
    api.ReleaseStatus(status);
    api.ReleaseValue(copy);
    return nullptr;
  }
  return copy;
}

void Loop::note(Binder& binding) {
  const OrtApi& api = s.api;
  OrtAllocator* from = allocator(Where::host);
  OrtValue** values = nullptr;
  size_t n = 0;
  api.ReleaseStatus(api.SynchronizeBoundOutputs(binding.binding));
  api.ReleaseStatus(api.GetBoundOutputValues(binding.binding, from, &values, &n));
  s.note("outputs", n);
  for (size_t i = 0; i < n; ++i) {
    note("value", values[i]);
    api.ReleaseValue(values[i]);
  }
  if (values) api.ReleaseStatus(api.AllocatorFree(from, values));
}

void Loop::run(OrtSession* session, const std::vector<std::pair<const char*, const OrtValue*>>& inputs) {
  std::vector<const char*> names;
  std::vector<const OrtValue*> values;
  for (const auto& [name, value] : inputs) {
    names.push_back(name);
    values.push_back(value);
  }
  const char* out = "y";
  OrtValue* y = nullptr;
  forget();
  const bool good = CALL(Run, session, nullptr, names.data(), values.data(), values.size(), &out, 1, &y) == ORT_OK;
  note_counts("a run", !good);
  note("y", y);
  s.api.ReleaseValue(y);
}

void Loop::run_from_both(OrtSession* session) {
  for (const Where where : {Where::host, Where::device}) {
    const OrtValue* x = tensor(where, {2}, {1, -2});
    for (int i = 0; i < 2; ++i) run(session, x);
  }
}

LoopbackCounts Loop::counts() const {
  LoopbackCounts c;
  counters_(&c);
  return c;
}

void Loop::note_counts(std::string_view of, bool failed) {
  const LoopbackCounts c = counts();
  const auto note = [&](std::string_view key, int64_t count) { failed ? s.note(key, "-") : s.note(key, count); };
  s.note("# of", of);
  note("copied to the device", c.to_device);
  note("copied to the device (bytes)", c.to_device_bytes);
  note("copied from the device", c.from_device);
  note("copied from the device (bytes)", c.from_device_bytes);
  note("copied between devices", c.on_device);
  note("copied between devices (bytes)", c.on_device_bytes);
  note("parts that ran", c.runs);
  forget();
}

}  // namespace scenes
