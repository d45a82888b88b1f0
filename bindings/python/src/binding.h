// The class SessionIOBinding, and runs on values that the caller places.
#pragma once

#include <nanobind/nanobind.h>

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "session.h"
#include "value.h"

namespace retort::python {

// Inputs and outputs of one session, which stay for any number of runs. One thread at a time.
class Binding {
 public:
  // `session` is a Python Session, which stays as long as this object.
  explicit Binding(nanobind::object session);
  Binding(const Binding&) = delete;
  Binding& operator=(const Binding&) = delete;
  ~Binding();

  OrtIoBinding* get() const noexcept { return handle_.get(); }
  const Session* session() const noexcept { return session_; }

  // An ndarray, read in place, or another object that value_of_object() takes.
  void bind_input(const std::string& name, nanobind::handle object);
  void bind_value(const std::string& name, nanobind::handle value, bool input);
  // Memory of the caller's: `element` is a dtype or a number of ONNX, `address` that of the first element.
  void bind_memory(const std::string& name, const Device& device, nanobind::handle element,
                   const std::vector<int64_t>& shape, uintptr_t address, bool input);
  // The engine allocates the output there in each run.
  void bind_output(const std::string& name, const Device& device);
  void clear_inputs();
  void clear_outputs();
  void synchronize_inputs();
  void synchronize_outputs();

  // A run of `session` on what is bound; another session than that of the binding is an error. `options` is a
  // RunOptions or None.
  void run(const Session& session, nanobind::handle options);

  // What the last run made, in the order of binding.
  class Made {
   public:
    explicit Made(const OrtIoBinding* binding);
    Made(const Made&) = delete;
    Made& operator=(const Made&) = delete;
    ~Made();

    size_t size() const noexcept { return count_; }
    Owned<OrtValue> take(size_t index) noexcept { return Owned<OrtValue>(std::exchange(values_[index], nullptr)); }

   private:
    OrtAllocator* allocator_;
    OrtValue** values_ = nullptr;  // of the allocator
    size_t count_ = 0;
  };
  Made outputs() const { return Made(get()); }
  std::vector<std::string> output_names() const;
  nanobind::object output_vector(nanobind::handle self) const;  // `self` is this binding
  nanobind::object outputs_on_host() const;

 private:
  nanobind::object object_on_host(Owned<OrtValue> value) const;
  void bind(const std::string& name, const OrtValue* value, bool input);

  nanobind::object owner_;
  const Session* session_;
  // Whether an output was ever bound to memory that is not the host's: without one, outputs of a session whose outputs
  // are plain need no questions.
  bool is_elsewhere_ = false;
  bool has_run_ = false;  // without an error, since outputs were bound
  Owned<OrtIoBinding> handle_;
};

// The official package's run_with_ortvaluevector(): `fetches` has the outputs afterwards.
void run_with_vectors(nanobind::handle session, nanobind::handle options, const std::vector<std::string>& feed_names,
                      const ValueVector& feeds, const std::vector<std::string>& fetch_names, ValueVector& fetches,
                      const std::vector<Device>& devices);

}  // namespace retort::python
