// I/O binding.
#include "models.h"

using namespace scenes;

namespace {

struct Bound {
  explicit Bound(Scene& s) : session(open(s, "dense")), x(floats(s, data, {2, 3})) {
    CALL(CreateIoBinding, session, &binding);
    CALL(CreateCpuMemoryInfo, OrtDeviceAllocator, OrtMemTypeDefault, &cpu);
  }
  float data[6] = {1, 2, 3, -1, -2, -3};
  OrtSession* session;
  OrtValue* x;
  OrtIoBinding* binding = nullptr;
  OrtMemoryInfo* cpu = nullptr;
};

void note_names(Scene& s, const OrtIoBinding* binding) {
  char* text = nullptr;
  size_t *lengths = nullptr, n = 77;
  CALL(GetBoundOutputNames, binding, s.allocator(), &text, &lengths, &n);
  s.note("text", text != nullptr);
  s.note("lengths", lengths);
  s.note("count", n);
  for (size_t i = 0, at = 0; i < n; at += lengths[i++]) s.note("name", std::string_view(text + at, lengths[i]));
}

std::vector<OrtValue*> values(Scene& s, const OrtIoBinding* binding) {
  OrtValue** array = nullptr;
  size_t n = 77;
  CALL(GetBoundOutputValues, binding, s.allocator(), &array, &n);
  s.note("array", array);
  s.note("count", n);
  return {array, array + (array ? n : 0)};
}

}  // namespace

SCENE(binding, to_device) {
  Bound b(s);
  note_names(s, b.binding);
  values(s, b.binding);
  CALL(BindInput, b.binding, "x", b.x);
  CALL(BindOutputToDevice, b.binding, "s", b.cpu);
  CALL(BindOutputToDevice, b.binding, "y", b.cpu);
  CALL(BindOutputToDevice, b.binding, "s", b.cpu);
  note_names(s, b.binding);
  for (OrtValue* v : values(s, b.binding)) {
    int has = -7;
    CALL(HasValue, v, &has);
    s.note("has value", has);
    ONNXType kind = ONNXType(-7);
    CALL(GetValueType, v, &kind);
    s.note("kind", kind);
  }
  CALL(RunWithBinding, b.session, nullptr, b.binding);
  const auto first = values(s, b.binding);
  for (OrtValue* v : first) note_tensor(s, "value", v);
  s.api.ClearBoundOutputs(b.binding);
  for (OrtValue* v : first) note_tensor(s, "still", v);
  note_names(s, b.binding);
  CALL(SynchronizeBoundInputs, b.binding);
  CALL(SynchronizeBoundOutputs, b.binding);
  s.api.ReleaseIoBinding(b.binding);
  s.api.ReleaseIoBinding(nullptr);
}

SCENE(binding, second_run) {
  Bound b(s);
  CALL(BindInput, b.binding, "x", b.x);
  CALL(BindOutputToDevice, b.binding, "y", b.cpu);
  CALL(RunWithBinding, b.session, nullptr, b.binding);
  const auto first = values(s, b.binding);
  b.data[0] = 100;
  CALL(RunWithBinding, b.session, nullptr, b.binding);
  for (OrtValue* v : values(s, b.binding)) note_tensor(s, "second", v);
  for (OrtValue* v : first) note_tensor(s, "first", v);
}

SCENE(binding, to_value) {
  Bound b(s);
  float y[4] = {};
  OrtValue* out = floats(s, y, {2, 2});
  CALL(BindInput, b.binding, "x", b.x);
  CALL(BindOutput, b.binding, "y", out);
  CALL(RunWithBinding, b.session, nullptr, b.binding);
  s.note("y", y[0]);
  s.note("y", y[3]);
  b.data[0] = 50;
  CALL(RunWithBinding, b.session, nullptr, b.binding);
  s.note("read where it lies", y[0]);
  for (OrtValue* v : values(s, b.binding)) {
    const void* p = nullptr;
    CALL(GetTensorData, v, &p);
    s.note("same memory", p == y);
  }
  s.api.ReleaseValue(out);
  CALL(RunWithBinding, b.session, nullptr, b.binding);
  s.note("y", y[0]);
}

SCENE(binding, values_released_early) {
  Bound b(s);
  CALL(BindInput, b.binding, "x", b.x);
  s.api.ReleaseValue(b.x);
  CALL(BindOutputToDevice, b.binding, "y", b.cpu);
  s.api.ReleaseMemoryInfo(b.cpu);
  CALL(RunWithBinding, b.session, nullptr, b.binding);
  for (OrtValue* v : values(s, b.binding)) note_tensor(s, "value", v);
}

SCENE(binding, wrong_names) {
  Bound b(s);
  CALL(BindInput, b.binding, "unknown", b.x);
  CALL(BindOutputToDevice, b.binding, "unknown", b.cpu);
  note_names(s, b.binding);
  CALL(RunWithBinding, b.session, nullptr, b.binding);
}

SCENE(binding, unknown_input_then_good) {
  Bound b(s);
  CALL(BindInput, b.binding, "unknown", b.x);
  CALL(BindInput, b.binding, "x", b.x);
}

SCENE(binding, wrong_input) {
  Bound b(s);
  float data[6] = {};
  CALL(BindInput, b.binding, "x", floats(s, data, {6}));
  CALL(BindOutputToDevice, b.binding, "y", b.cpu);
  CALL(RunWithBinding, b.session, nullptr, b.binding);
  CALL(BindInput, b.binding, "x", b.x);
  CALL(RunWithBinding, b.session, nullptr, b.binding);
}

SCENE(binding, nothing_bound) {
  Bound b(s);
  CALL(RunWithBinding, b.session, nullptr, b.binding);
  CALL(BindInput, b.binding, "x", b.x);
  CALL(RunWithBinding, b.session, nullptr, b.binding);
  s.api.ClearBoundInputs(b.binding);
  CALL(BindOutputToDevice, b.binding, "y", b.cpu);
  CALL(RunWithBinding, b.session, nullptr, b.binding);
}

SCENE(binding, output_that_does_not_fit) {
  Bound b(s);
  float y[6] = {7, 7, 7, 7, 7, 7};
  CALL(BindInput, b.binding, "x", b.x);
  CALL(BindOutput, b.binding, "y", floats(s, y, {3, 2}));
  CALL(RunWithBinding, b.session, nullptr, b.binding);
  s.note("untouched", y[5]);
  CALL(BindOutputToDevice, b.binding, "y", b.cpu);
  CALL(RunWithBinding, b.session, nullptr, b.binding);
  for (OrtValue* v : values(s, b.binding)) note_tensor(s, "value", v);
}

SCENE(binding, feedback) {
  OrtSession* session = open(s, "step");
  float x[4] = {1, 2, 3, 4}, state[4] = {};
  OrtIoBinding* binding = nullptr;
  CALL(CreateIoBinding, session, &binding);
  OrtValue* memory = floats(s, state, {4});
  CALL(BindInput, binding, "x", floats(s, x, {4}));
  CALL(BindInput, binding, "state", memory);
  CALL(BindOutput, binding, "state_out", memory);
  for (int i = 0; i < 3; ++i) CALL(RunWithBinding, session, nullptr, binding);
  for (float v : state) s.note("state", v);
}

SCENE(binding, unknown_shapes) {
  OrtSession* session = open(s, "nonzero");
  OrtIoBinding* binding = nullptr;
  OrtMemoryInfo* cpu = nullptr;
  CALL(CreateIoBinding, session, &binding);
  CALL(CreateCpuMemoryInfo, OrtDeviceAllocator, OrtMemTypeDefault, &cpu);
  CALL(BindOutputToDevice, binding, "idx", cpu);
  float x[5] = {0, 1, 0, 3, 4};
  for (int64_t n : {5, 2, 4}) {
    CALL(BindInput, binding, "x", floats(s, x, {n}));
    CALL(RunWithBinding, session, nullptr, binding);
    if (n == 5) {
      for (OrtValue* v : values(s, binding)) note_tensor(s, "idx", v);
    }
  }
}

SCENE(binding, of_another_session) {
  Bound b(s);
  OrtSession* other = open(s, "dense");
  CALL(BindInput, b.binding, "x", b.x);
  CALL(BindOutputToDevice, b.binding, "y", b.cpu);
  CALL(RunWithBinding, other, nullptr, b.binding);
}
