// The loopback provider in scenes: a device whose memory the host cannot read, and which counts copies.
#pragma once
#include <initializer_list>

#include "binder.h"
#include "loopback.h"

namespace scenes {

/// The memory of a tensor.
enum class Where { host, pinned, device, device2 };

class Loop {
 public:
  using Setting = std::pair<const char*, const char*>;

  /// Registers the library with the environment, with these options.
  explicit Loop(Scene& s, std::initializer_list<Setting> settings = {}) : Loop(s, settings, true) {}
  Loop(Scene& s, std::initializer_list<Setting> settings, bool registers);

  void set(const char* key, const char* value) { s.note(key, set_(key, value) ? value : "no such option"); }
  OrtErrorCode registers();
  /// The device of a provider; null if there is none.
  const OrtEpDevice* device(Where where = Where::device);
  const OrtMemoryInfo* memory(Where where);
  OrtAllocator* allocator(Where where);

  /// Options of a session that uses the provider of one device, or of both.
  OrtSessionOptions* options(std::initializer_list<Setting> settings = {}, Where where = Where::device);
  void add_provider(OrtSessionOptions* options, Where where, std::initializer_list<Setting> settings = {});

  /// A tensor in that memory with that content.
  OrtValue* tensor(Where where, const std::vector<int64_t>& shape, const std::vector<float>& data);
  OrtValue* empty(Where where, const std::vector<int64_t>& shape, int type = ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT);
  /// Notes the memory of a value, and the value, which is copied to the host for that.
  void note(std::string_view key, const OrtValue* value);
  /// The same for all bound outputs.
  void note(Binder& binding);

  /// Runs a model by name, with these inputs and the output `y`; notes its copies and the result.
  void run(OrtSession* session, const std::vector<std::pair<const char*, const OrtValue*>>& inputs);
  void run(OrtSession* session, const OrtValue* x) { run(session, {{"x", x}}); }
  /// Two runs with x = [1 -2] on the host, and two with it on the device.
  void run_from_both(OrtSession* session);

  /// Notes copies and runs of parts since the last call of this or of `forget`. In lines "copied …", Retort's number
  /// must not exceed the official library's, which the differential test checks. If a run `failed`, the numbers until
  /// then are not compared.
  void note_counts(std::string_view of, bool failed = false);
  void forget() { reset_(); }
  LoopbackCounts counts() const;
  /// Holds kernels before they end, or lets them end. May be called from any thread.
  void hold(bool on) { set_("hold", on ? "1" : "0"); }
  /// Starts to count operators and copies that end; the number since then.
  void count_ended() { record_(1); }
  size_t ended() const { return events_(nullptr, 0); }

  Scene& s;

 private:
  OrtValue* copied(const OrtValue* value);

  LoopbackCountersFn counters_ = nullptr;
  LoopbackResetFn reset_ = nullptr;
  LoopbackSetFn set_ = nullptr;
  LoopbackRecordFn record_ = nullptr;
  LoopbackEventsFn events_ = nullptr;
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

/// A binding of a model that runs completely on the device.
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
