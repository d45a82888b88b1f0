// Inputs and outputs bound to a session; part of retort.hpp.
#pragma once
#include <string>
#include <vector>

#include "session.hpp"

namespace retort::api {

/// Inputs and outputs that are bound to a session once, for many runs: inputs are read where they lie, outputs are
/// written where they are bound. The memory behind a bound value must outlive the binding; the Value itself need not.
/// Used by one thread at a time; the session must outlive it.
class IoBinding : public Owner<OrtIoBinding, &OrtApi::ReleaseIoBinding> {
 public:
  explicit IoBinding(const Session& session) : session_(session) { check(api().CreateIoBinding(session_, out())); }

  /// The value is read where it lies. If it lies in another memory than the model reads, this call copies it there:
  /// bind it again when it has changed.
  void input(const char* name, const OrtValue* value) { check(api().BindInput(get(), name, value)); }
  /// The result is written into this value; its shape must fit.
  void output(const char* name, const OrtValue* value) { check(api().BindOutput(get(), name, value)); }
  /// The library allocates the result there, for outputs whose shape is not known in advance. Retort reuses that memory
  /// if nothing refers to the last result, also when shapes change; on ONNX Runtime, bind the output again when its
  /// shape changes.
  void output(const char* name, const OrtMemoryInfo* where) { check(api().BindOutputToDevice(get(), name, where)); }
  void clear_inputs() { api().ClearBoundInputs(get()); }
  void clear_outputs() { api().ClearBoundOutputs(get()); }

  void run(const OrtRunOptions* options = nullptr) { check(api().RunWithBinding(session_, options, get())); }

  /// The names of the bound outputs, in the order of outputs().
  std::vector<std::string> output_names() const {
    char* text = nullptr;
    size_t *lengths = nullptr, n = 0;
    check(api().GetBoundOutputNames(get(), default_allocator(), &text, &lengths, &n));
    const Allocated<char> held_text(text);
    const Allocated<size_t> held_lengths(lengths);
    std::vector<std::string> names;
    for (size_t i = 0; i < n; text += lengths[i++]) names.emplace_back(text, lengths[i]);
    return names;
  }
  /// The outputs, in the order in which they were bound; the values stay valid when others are bound.
  std::vector<Value> outputs() const {
    OrtValue** array = nullptr;
    size_t n = 0;
    check(api().GetBoundOutputValues(get(), default_allocator(), &array, &n));
    const Allocated<OrtValue*> held(array);
    std::vector<Value> values;
    for (size_t i = 0; i < n; ++i) values.emplace_back(array[i]);
    return values;
  }
  /// Waits for copies of bound values between devices.
  void synchronize_inputs() { check(api().SynchronizeBoundInputs(get())); }
  void synchronize_outputs() { check(api().SynchronizeBoundOutputs(get())); }

 private:
  OrtSession* session_;
};

}  // namespace retort::api
