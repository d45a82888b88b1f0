// The loopback provider in scenes: a device whose memory the host cannot read, and that counts what is copied.
#pragma once
#include <initializer_list>

#include "binder.h"
#include "loopback.h"

namespace scenes {

/// Where a tensor lies.
enum class Where { host, pinned, device, device2 };

class Loop {
 public:
  using Setting = std::pair<const char*, const char*>;

  /// Registers the library with the environment, with these of its options.
  explicit Loop(Scene& s, std::initializer_list<Setting> settings = {}) : Loop(s, settings, true) {}
  Loop(Scene& s, std::initializer_list<Setting> settings, bool registers);

  void set(const char* key, const char* value) { s.note(key, set_(key, value) ? value : "no such option"); }
  OrtErrorCode registers();
  /// The device of a provider; null where there is none.
  const OrtEpDevice* device(Where where = Where::device);
  const OrtMemoryInfo* memory(Where where);
  OrtAllocator* allocator(Where where);

  /// Options of a session that uses the provider of a device, or of both.
  OrtSessionOptions* options(std::initializer_list<Setting> settings = {}, Where where = Where::device);
  void add_provider(OrtSessionOptions* options, Where where, std::initializer_list<Setting> settings = {});

  /// A tensor there, with that content.
  OrtValue* tensor(Where where, const std::vector<int64_t>& shape, const std::vector<float>& data);
  OrtValue* empty(Where where, const std::vector<int64_t>& shape, int type = ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT);
  /// Notes the memory that a value lies in, and the value, which is copied to the host for that.
  void note(std::string_view key, const OrtValue* value);
  /// The same of all outputs that are bound.
  void note(Binder& binding);

  /// A run of a model by name, with these inputs and the output `y`: notes its copies and the result.
  void run(OrtSession* session, const std::vector<std::pair<const char*, const OrtValue*>>& inputs);
  void run(OrtSession* session, const OrtValue* x) { run(session, {{"x", x}}); }
  /// Two runs with x = [1 -2] on the host, and two with it on the device.
  void run_from_both(OrtSession* session);

  /// Copies and parts since the last call of this or of `forget`. Lines "copied …" must not be more than the official
  /// library's: the differential test looks at them. Where a run `failed`, what it did until then is nobody's promise.
  void note_counts(std::string_view of, bool failed = false);
  void forget() { reset_(); }
  LoopbackCounts counts() const;

  Scene& s;

 private:
  OrtValue* copied(const OrtValue* value);

  LoopbackCountersFn counters_ = nullptr;
  LoopbackResetFn reset_ = nullptr;
  LoopbackSetFn set_ = nullptr;
};

/// y = relu(x * w + x) with w = [2, -3], for rows of two: two rows of [1 2] give [3 0].
inline Maker rows_of_two() {
  return Maker()
      .floats_in("x", {"n", 2})
      .floats("w", {2}, {2, -3})
      .node("Mul", {"x", "w"}, {"p"})
      .node("Add", {"p", "x"}, {"q"})
      .node("Relu", {"q"}, {"y"})
      .floats_out("y", {"n", 2});
}

/// A binding of a model that runs on the device as a whole.
struct Bound : Loop {
  Bound(Scene& s, const Maker& model) : Loop(s), b(s, model, options()) {}
  void in(const char* name, const OrtValue* value) { b.in(name, value); }
  void make(const char* name, Where where = Where::device) { CALL(BindOutputToDevice, b.binding, name, memory(where)); }
  void run_and_note() {
    forget();
    b.run();
    note_counts("the run");
    note(b);
  }
  Binder b;
};

inline Maker sum_of_two() {
  return Maker().floats_in("a", {"n"}).floats_in("b", {"n"}).node("Add", {"a", "b"}, {"y"}).floats_out("y", {"n"});
}
inline Maker one_node(const char* type, const Extents& shape) {
  return Maker().floats_in("x", shape).node(type, {"x"}, {"y"}).floats_out("y", shape);
}
/// 1, 2, 3 …
inline std::vector<float> counted(size_t n) {
  std::vector<float> all(n);
  for (size_t i = 0; i < n; ++i) all[i] = float(i + 1);
  return all;
}

}  // namespace scenes
