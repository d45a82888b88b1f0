// Adapters: values for inputs, given by the options of a run.
#include <algorithm>

#include "models.h"

using namespace scenes;

namespace {

std::string adapter_path(const char* name) { return std::string(RETORT_MODELS) + "/" + name + ".onnx_adapter"; }

OrtLoraAdapter* load(Scene& s, const char* name, OrtAllocator* allocator = nullptr) {
  OrtLoraAdapter* adapter = nullptr;
  CALL(CreateLoraAdapter, adapter_path(name).c_str(), allocator, &adapter);
  return adapter;
}

std::string bytes_of(const char* name) {
  std::ifstream in(adapter_path(name), std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

/// y = x + state with x = [1 1 1 1], and `state` if it is given, with these adapters.
void run(Scene& s, std::vector<const char*> adapters, bool gives_state = false) {
  OrtSession* session = open(s, "step");
  OrtRunOptions* options = nullptr;
  CALL(CreateRunOptions, &options);
  std::vector<OrtLoraAdapter*> loaded;
  for (const char* name : adapters) {
    loaded.push_back(load(s, name));
    CALL(RunOptionsAddActiveLoraAdapter, options, loaded.back());
  }
  float x[4] = {1, 1, 1, 1}, state[4] = {100, 200, 300, 400};
  const char* names[] = {"x", "state"};
  const OrtValue* values[] = {floats(s, x, {4}), floats(s, state, {4})};
  const char* output = "state_out";
  for (int i = 0; i < 2; ++i) {
    OrtValue* result = nullptr;
    CALL(Run, session, options, names, values, gives_state ? 2 : 1, &output, 1, &result);
    note_tensor(s, "result", result);
  }
  for (OrtLoraAdapter* a : loaded) s.api.ReleaseLoraAdapter(a);
  s.api.ReleaseRunOptions(options);
}

}  // namespace

SCENE(lora, gives_an_input) { run(s, {"state"}); }
SCENE(lora, none) { run(s, {}); }
SCENE(lora, of_an_input_that_is_given_too) { run(s, {"state"}, true); }
SCENE(lora, of_all_inputs) { run(s, {"both"}); }
SCENE(lora, two_of_one_input) {
  run(s, {"state", "other_state"});
  run(s, {"other_state", "state"});
}
SCENE(lora, of_an_unknown_input) { run(s, {"unknown"}); }
SCENE(lora, of_a_wrong_shape) { run(s, {"long_state"}); }
SCENE(lora, of_a_wrong_type) { run(s, {"double_state"}); }

SCENE(lora, with_a_binding) {
  OrtSession* session = open(s, "step");
  OrtRunOptions* options = nullptr;
  CALL(CreateRunOptions, &options);
  OrtLoraAdapter* adapter = load(s, "state");
  CALL(RunOptionsAddActiveLoraAdapter, options, adapter);
  OrtIoBinding* binding = nullptr;
  CALL(CreateIoBinding, session, &binding);
  float x[4] = {1, 1, 1, 1}, state[4] = {100, 200, 300, 400}, y[4] = {};
  CALL(BindInput, binding, "x", floats(s, x, {4}));
  OrtValue* result = floats(s, y, {4});
  CALL(BindOutput, binding, "state_out", result);
  CALL(RunWithBinding, session, options, binding);
  note_tensor(s, "result", result);
  CALL(BindInput, binding, "state", floats(s, state, {4}));
  CALL(RunWithBinding, session, options, binding);
  note_tensor(s, "result", result);
}

SCENE(lora, from_memory) {
  std::string bytes = bytes_of("state");
  OrtLoraAdapter* adapter = nullptr;
  CALL(CreateLoraAdapterFromArray, bytes.data(), bytes.size(), nullptr, &adapter);
  std::fill(bytes.begin(), bytes.end(), '\0');
  OrtRunOptions* options = nullptr;
  CALL(CreateRunOptions, &options);
  CALL(RunOptionsAddActiveLoraAdapter, options, adapter);
  float x[4] = {1, 1, 1, 1};
  const char *name = "x", *output = "state_out";
  const OrtValue* value = floats(s, x, {4});
  OrtValue* result = nullptr;
  CALL(Run, open(s, "step"), options, &name, &value, 1, &output, 1, &result);
  note_tensor(s, "result", result);
  s.api.ReleaseLoraAdapter(adapter);
}

SCENE(lora, with_an_allocator) {
  OrtLoraAdapter* adapter = load(s, "state", s.allocator());
  s.note("adapter", static_cast<const void*>(adapter));
  s.api.ReleaseLoraAdapter(adapter);
}

SCENE(lora, broken) {
  load(s, "nothing_there");
  OrtLoraAdapter* adapter = nullptr;
  CALL(CreateLoraAdapter, model_path("step").c_str(), nullptr, &adapter);
  const std::string bytes = bytes_of("state");
  for (const size_t size : {size_t(0), size_t(3)})  // the official library accepts longer pieces, or crashes
    CALL(CreateLoraAdapterFromArray, bytes.data(), size, nullptr, &adapter);
  s.api.ReleaseLoraAdapter(nullptr);
}
