// Arguments and results of runs.
#pragma once

#include <nanobind/nanobind.h>

#include <utility>
#include <vector>

#include "engine.h"
#include "gil_lock.h"
#include "interrupt.h"
#include "run_options.h"
#include "session.h"
#include "value.h"

namespace retort::python {

// A list that needs no memory from the heap for up to kInside elements: runs of small models take about a microsecond.
template <class T>
class ShortList {
 public:
  static constexpr size_t kInside = 8;

  explicit ShortList(size_t size) : size_(size) {
    if (size > kInside) {
      outside_.resize(size);
      data_ = outside_.data();
    } else {
      data_ = inside_;
    }
  }
  ShortList(const ShortList&) = delete;
  ShortList& operator=(const ShortList&) = delete;

  T* data() noexcept { return data_; }
  T& operator[](size_t i) noexcept { return data_[i]; }
  size_t size() const noexcept { return size_; }

 private:
  T inside_[kInside]{};
  std::vector<T> outside_;
  T* data_;
  size_t size_;
};

// The inputs of a run: names and values, from a dict (or another mapping) of arrays and other objects. Keeps everything
// that the values are made of. Create and destroy it with the GIL.
class Inputs {
 public:
  // `only_values`: the dict has OrtValues, otherwise what value_of_object() takes, and OrtValues too. Throws
  // nanobind::value_error if required inputs are missing, Error(ORT_INVALID_ARGUMENT) for inputs that do not exist.
  Inputs(const Session& session, nanobind::handle feed, bool only_values);
  ~Inputs();

  const char* const* names() noexcept { return names_.data(); }
  const OrtValue* const* values() noexcept { return values_.data(); }
  size_t size() const noexcept { return size_; }

 private:
  void add_all(const Session& session, bool only_values);
  void add(const Session& session, PyObject* key, PyObject* object, bool only_values);
  void check_all(const Session& session);
  [[noreturn]] void refuse_name(const Session& session, PyObject* key);
  void release() noexcept;

  nanobind::object feed_;  // a dict
  ShortList<const char*> names_;
  ShortList<OrtValue*> values_;
  ShortList<char> owned_;
  ShortList<char> given_;  // by input of the model
  ShortList<nanobind::object> kept_;
  size_t size_ = 0;
  size_t next_ = 0;  // where the next key probably is
};

// The outputs of a run: the requested names, or all for None and an empty sequence. Create and destroy it with the GIL.
class Outputs {
 public:
  Outputs(const Session& session, nanobind::handle names);
  ~Outputs();

  const char* const* names() const noexcept { return names_; }
  OrtValue** values() noexcept { return values_.data(); }
  size_t size() const noexcept { return size_; }

  // A list of arrays and other objects; takes the values.
  nanobind::object objects();
  // An OrtValueVector; takes the values.
  nanobind::object vector();

 private:
  nanobind::object tuple_;
  std::vector<const char*> requested_;
  const char* const* names_;
  size_t size_;
  ShortList<OrtValue*> values_;
  bool plain_;
};

// Null for None. Throws nanobind::type_error for other objects.
RunOptions* run_options_of(nanobind::handle options);

// Makes a call of the engine without the GIL: `call(options)` returns a status. Ctrl-C ends it.
template <class Call>
void call_engine(RunOptions* options, Call&& call) {
  Interruptible interruptible(options ? options->get() : nullptr, options && options->terminated());
  OrtStatus* status = nullptr;
  do {
    const WithoutGil release;
    status = call(interruptible.run_options());
  } while (interruptible.repeat(status));
  check(status);
}

nanobind::object run(Session& session, nanobind::handle output_names, nanobind::handle feed, nanobind::handle options);
nanobind::object run_with_values(Session& session, nanobind::handle feed, nanobind::handle output_names,
                                 nanobind::handle options);

// Runs on another thread and calls callback(results, user_data, error text) there. `self` is the Python Session.
void run_async(nanobind::object self, nanobind::handle output_names, nanobind::handle feed, nanobind::object callback,
               nanobind::object user_data, nanobind::object options);

// Ends all runs of run_async() and waits for their callbacks; later ones are refused. For the end of the interpreter.
void end_async_runs();

}  // namespace retort::python
