// A binding, and what scenes do with it.
#pragma once
#include <cstdio>
#include <cstring>

#include "model_maker.h"

namespace scenes {

inline OrtMemoryInfo* cpu_memory(Scene& s) {
  OrtMemoryInfo* cpu = nullptr;
  s.call("CreateCpuMemoryInfo", s.api.CreateCpuMemoryInfo(OrtDeviceAllocator, OrtMemTypeDefault, &cpu));
  return cpu;
}

/// A tensor in memory of the caller.
inline OrtValue* over(Scene& s, void* data, size_t bytes, const std::vector<int64_t>& shape, int type,
                      const OrtMemoryInfo* where = nullptr) {
  OrtMemoryInfo* cpu = where ? nullptr : cpu_memory(s);
  OrtValue* value = nullptr;
  s.call("tensor", s.api.CreateTensorWithDataAsOrtValue(where ? where : cpu, data, bytes, shape.data(), shape.size(),
                                                        ONNXTensorElementDataType(type), &value));
  s.api.ReleaseMemoryInfo(cpu);
  return value;
}
inline OrtValue* integers(Scene& s, int64_t* data, const std::vector<int64_t>& shape) {
  size_t n = sizeof(int64_t);
  for (const int64_t d : shape) n *= size_t(d);
  return over(s, data, n, shape, ONNX_TENSOR_ELEMENT_DATA_TYPE_INT64);
}
inline OrtValue* strings(Scene& s, std::vector<const char*> texts) {
  const int64_t shape[1] = {int64_t(texts.size())};
  OrtValue* value = nullptr;
  s.call("strings",
         s.api.CreateTensorAsOrtValue(s.allocator(), shape, 1, ONNX_TENSOR_ELEMENT_DATA_TYPE_STRING, &value));
  s.call("fill", s.api.FillStringTensor(value, texts.data(), texts.size()));
  return value;
}

/// Notes kind, element type, shape and content of any value, in one line.
void note_value(Scene& s, std::string_view key, const OrtValue* value);

/// A session and its binding. Nothing is released unless the scene does so.
struct Binder {
  Binder(Scene& scene, OrtSession* of) : s(scene), session(of), cpu(cpu_memory(scene)) {
    CALL(CreateIoBinding, session, &binding);
  }
  Binder(Scene& scene, const Maker& model, const OrtSessionOptions* options = nullptr)
      : Binder(scene, model.open(scene, options)) {}

  OrtErrorCode in(const char* name, const OrtValue* value) { return CALL(BindInput, binding, name, value); }
  OrtErrorCode out(const char* name, const OrtValue* value) { return CALL(BindOutput, binding, name, value); }
  OrtErrorCode out(const char* name) { return CALL(BindOutputToDevice, binding, name, cpu); }
  OrtErrorCode run(const OrtRunOptions* options = nullptr) { return CALL(RunWithBinding, session, options, binding); }
  /// New handles of the bound values, which the scene may release.
  std::vector<OrtValue*> values();
  /// Notes the names and values that are bound.
  void note();
  void run_and_note(const OrtRunOptions* options = nullptr) {
    run(options);
    note();
  }

  Scene& s;
  OrtSession* session;
  OrtMemoryInfo* cpu;
  OrtIoBinding* binding = nullptr;
};

/// Notes the elements of an array.
template <typename T, size_t N>
void note_all(Scene& s, std::string_view key, const T (&data)[N]) {
  std::string text;
  for (const T v : data) text += (text.empty() ? "" : " ") + std::to_string(v);
  s.note(key, text);
}

/// Options with which Retort refuses to copy a cache; other engines ignore the key.
inline OrtSessionOptions* in_place(Scene& s) {
  OrtSessionOptions* o = s.options();
  CALL(AddSessionConfigEntry, o, "session.disallow_implicit_copies", "1");
  return o;
}

}  // namespace scenes
