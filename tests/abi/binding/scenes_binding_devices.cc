// I/O binding: memory of all kinds that a caller can name.
#include "binder.h"

using namespace scenes;

namespace {

Maker negated() { return Maker().floats_in("x", {2}).node("Neg", {"x"}, {"y"}).floats_out("y", {2}); }

/// Memory infos of all kinds; null entries are left out.
struct Kinds {
  explicit Kinds(Scene& s) {
    const auto named = [&](const char* name, OrtAllocatorType type, int id, OrtMemType kind) {
      OrtMemoryInfo* info = nullptr;
      s.call("CreateMemoryInfo", s.api.CreateMemoryInfo(name, type, id, kind, &info));
      add(std::string(name) + " " + std::to_string(id) + " " + std::to_string(kind), info);
    };
    named("Cpu", OrtDeviceAllocator, 0, OrtMemTypeDefault);
    named("Cpu", OrtArenaAllocator, 0, OrtMemTypeCPUInput);
    named("Cpu", OrtArenaAllocator, 0, OrtMemTypeCPUOutput);
    named("Cpu", OrtDeviceAllocator, 3, OrtMemTypeDefault);
    named("Cuda", OrtDeviceAllocator, 0, OrtMemTypeDefault);
    named("Cuda", OrtDeviceAllocator, 0, OrtMemTypeCPUOutput);
    named("CudaPinned", OrtDeviceAllocator, 0, OrtMemTypeCPUOutput);
    named("CudaPinned", OrtDeviceAllocator, 1, OrtMemTypeDefault);
    const auto second = [&](const char* name, OrtMemoryInfoDeviceType device, uint32_t vendor,
                            OrtDeviceMemoryType kind) {
      OrtMemoryInfo* info = nullptr;
      s.call("CreateMemoryInfo_V2",
             s.api.CreateMemoryInfo_V2(name, device, vendor, 0, kind, 0, OrtDeviceAllocator, &info));
      add(std::string(name) + " of vendor " + std::to_string(vendor), info);
    };
    second("mine", OrtMemoryInfoDeviceType_CPU, 0, OrtDeviceMemoryType_DEFAULT);
    second("shared", OrtMemoryInfoDeviceType_CPU, 0x8086, OrtDeviceMemoryType_HOST_ACCESSIBLE);
    second("reachable", OrtMemoryInfoDeviceType_GPU, 0x10de, OrtDeviceMemoryType_HOST_ACCESSIBLE);
    second("gpu", OrtMemoryInfoDeviceType_GPU, 0x10de, OrtDeviceMemoryType_DEFAULT);
    second("npu", OrtMemoryInfoDeviceType_NPU, 7, OrtDeviceMemoryType_DEFAULT);
  }
  void add(std::string what, OrtMemoryInfo* info) {
    if (info) all.emplace_back(std::move(what), info);
  }
  std::vector<std::pair<std::string, OrtMemoryInfo*>> all;
};

void note_memory(Scene& s, const OrtValue* value) {
  const OrtMemoryInfo* info = nullptr;
  const char* name = nullptr;
  int id = -7;
  OrtMemType kind = OrtMemType(-7);
  OrtAllocatorType type = OrtAllocatorType(-7);
  CALL(GetTensorMemoryInfo, value, &info);
  if (!info) return s.note("info", info);
  CALL(MemoryInfoGetName, info, &name);
  CALL(MemoryInfoGetId, info, &id);
  CALL(MemoryInfoGetMemType, info, &kind);
  CALL(MemoryInfoGetType, info, &type);
  s.note("name", name);
  s.note("id", id);
  s.note("kind", kind);
  s.note("allocator type", type);
}

}  // namespace

SCENE(binding_devices, inputs_of_each_kind) {
  Binder session(s, negated());
  for (const auto& [what, info] : Kinds(s).all) {
    s.note("memory", what);
    Binder b(s, session.session);
    float x[2] = {1, 2}, y[2] = {};
    OrtValue* in = over(s, x, sizeof x, {2}, ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT, info);
    b.out("y", floats(s, y, {2}));
    const bool bound = b.in("x", in) == ORT_OK;
    s.note("ran", bound && s.api.RunWithBinding(b.session, nullptr, b.binding) == nullptr);
    note_all(s, "y", y);
  }
}

SCENE(binding_devices, outputs_of_each_kind) {
  Binder session(s, negated());
  float x[2] = {1, 2};
  OrtValue* in = floats(s, x, {2});
  for (const auto& [what, info] : Kinds(s).all) {
    s.note("memory", what);
    Binder b(s, session.session);
    b.in("x", in);
    const bool bound = CALL(BindOutputToDevice, b.binding, "y", info) == ORT_OK;
    s.note("ran", bound && s.api.RunWithBinding(b.session, nullptr, b.binding) == nullptr);
  }
}

SCENE(binding_devices, what_results_say_of_their_memory) {
  Binder b(s, negated());
  float x[2] = {1, 2};
  OrtMemoryInfo *arena = nullptr, *mine = nullptr;
  CALL(CreateCpuMemoryInfo, OrtArenaAllocator, OrtMemTypeCPUOutput, &arena);
  CALL(CreateMemoryInfo_V2, "mine", OrtMemoryInfoDeviceType_CPU, 0, 0, OrtDeviceMemoryType_DEFAULT, 0,
       OrtDeviceAllocator, &mine);
  b.in("x", floats(s, x, {2}));
  for (const OrtMemoryInfo* info : {b.cpu, arena, mine}) {
    CALL(BindOutputToDevice, b.binding, "y", info);
    b.run();
    for (const OrtValue* v : b.values()) {
      note_memory(s, v);
      note_value(s, "value", v);
    }
  }
}

SCENE(binding_devices, given_memory_of_each_kind_for_an_output) {
  Binder session(s, negated());
  float x[2] = {1, 2};
  OrtValue* in = floats(s, x, {2});
  for (const auto& [what, info] : Kinds(s).all) {
    s.note("memory", what);
    float y[2] = {};
    Binder b(s, session.session);
    b.in("x", in);
    b.out("y", over(s, y, sizeof y, {2}, ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT, info));
    b.run();
    note_all(s, "y", y);
  }
}

SCENE(binding_devices, runs_by_name_with_inputs_of_each_kind) {
  OrtSession* session = negated().open(s);
  for (const auto& [what, info] : Kinds(s).all) {
    s.note("memory", what);
    float x[2] = {1, 2}, y[2] = {};
    const OrtValue* in = over(s, x, sizeof x, {2}, ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT, info);
    OrtValue* out = floats(s, y, {2});
    const char *inputs[1] = {"x"}, *outputs[1] = {"y"};
    CALL(Run, session, nullptr, inputs, &in, 1, outputs, 1, &out);
    note_all(s, "y", y);
  }
}

SCENE(binding_devices, runs_by_name_into_memory_of_each_kind) {
  OrtSession* session = negated().open(s);
  float x[2] = {1, 2};
  const OrtValue* in = floats(s, x, {2});
  for (const auto& [what, info] : Kinds(s).all) {
    s.note("memory", what);
    float y[2] = {};
    OrtValue* out = over(s, y, sizeof y, {2}, ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT, info);
    const char *inputs[1] = {"x"}, *outputs[1] = {"y"};
    CALL(Run, session, nullptr, inputs, &in, 1, outputs, 1, &out);
    note_all(s, "y", y);
  }
}

SCENE(binding_devices, from_a_device_to_a_value_and_back) {
  Binder b(s, negated());
  float x[2] = {1, 2}, y[2] = {};
  b.in("x", floats(s, x, {2}));
  b.out("y");
  b.run();
  b.out("y", floats(s, y, {2}));
  b.note();
  b.run_and_note();
  b.out("y");
  b.note();
  b.run();
  x[0] = 10;
  y[0] = 0;
  b.run_and_note();
  note_all(s, "y", y);
}

SCENE(binding_devices, where_the_session_wants_its_values) {
  Binder b(s, negated());
  const OrtMemoryInfo *in[2] = {}, *out[1] = {};
  CALL(SessionGetMemoryInfoForInputs, b.session, in, 2);
  CALL(SessionGetMemoryInfoForOutputs, b.session, out, 1);
  s.note("in", in[0]);
  s.note("spare", in[1]);
  s.note("out", out[0]);
  float x[2] = {1, 2};
  b.in("x", over(s, x, sizeof x, {2}, ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT, in[0]));
  CALL(BindOutputToDevice, b.binding, "y", out[0]);
  b.run_and_note();
}
