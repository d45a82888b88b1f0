#include "binding.h"

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "drops.h"
#include "gil_lock.h"
#include "numpy.h"
#include "rooms.h"
#include "run.h"
#include "text.h"

namespace nb = nanobind;

namespace retort::python {
namespace {

Element element_of(nb::handle type) {
  return PyLong_Check(type.ptr()) ? element_of_proto(nb::cast<int64_t>(type)) : element_of_dtype(type);
}

// Host memory for a value of a device, and a copy into it.
Owned<OrtValue> on_host(Owned<OrtValue> value) {
  if (kind_of(value.get()) != ONNX_TYPE_TENSOR || is_on_host(value.get())) {
    return value;
  }
  const TensorForm form = form_of(value.get());
  Owned<OrtValue> copy = new_tensor(default_allocator(), form.element, form.shape.data(), form.shape.size());
  const OrtValue* from = value.get();
  OrtValue* to = copy.get();
  OrtEnv& environment = env();
  OrtStatus* status = nullptr;
  {
    const WithoutGil release;
    status = api().CopyTensors(&environment, &from, &to, nullptr, 1);
  }
  check(status);
  return copy;
}

}  // namespace

Binding::Binding(nb::object session)
    : owner_(std::move(session)),
      session_(&nb::cast<Session&>(owner_)),
      handle_(made<OrtIoBinding>(api().CreateIoBinding, session_->get())) {}

Binding::~Binding() {
  const HoldsGil gil;
  handle_.reset();  // before the session
}

void Binding::bind(const std::string& name, const OrtValue* value, bool input) {
  has_run_ = has_run_ && input;
  OrtStatus* status = nullptr;
  {
    // Binding an input of a device copies it there.
    const WithoutGil release;
    status = input ? api().BindInput(get(), c_text(name), value) : api().BindOutput(get(), c_text(name), value);
  }
  check(status);
}

void Binding::bind_input(const std::string& name, nb::handle object) {
  const nb::str key(name.c_str());
  for (const Ports* ports : {&session_->inputs(), &session_->initializers()}) {
    if (const int index = ports->find(key.ptr(), 0); index >= 0) {
      const Port& port = (*ports)[static_cast<size_t>(index)];
      if (is_array(object.ptr()) && !lies_dense(object.ptr())) {
        session_->count_copy(object, port);
      }
      const Owned<OrtValue> value = value_of_object(object, port.type, Keep::kReference, port.what);
      return bind(name, value.get(), true);
    }
  }
  throw std::runtime_error("bind_input(): the model has no input '" + name + "'; it has " + session_->inputs().list());
}

void Binding::bind_value(const std::string& name, nb::handle value, bool input) {
  const char* what = input ? "bind_ortvalue_input(): the value" : "bind_ortvalue_output(): the value";
  OrtValue* handle = unwrap(value, what);
  if (!input) {
    const Value* known = require_writeable(value, what);
    is_elsewhere_ = !known || !known->is_host_tensor() || is_elsewhere_;
  }
  bind(name, handle, input);
}

void Binding::bind_memory(const std::string& name, const Device& device, nb::handle element,
                          const std::vector<int64_t>& shape, uintptr_t address, bool input) {
  const Element type = element_of(element);
  is_elsewhere_ = (!input && !device.is_host()) || is_elsewhere_;
  const PlaceOf info(device);
  const auto value =
      made<OrtValue>(api().CreateTensorWithDataAsOrtValue, info.get(), reinterpret_cast<void*>(address),
                     element_bytes(type, count_of(shape.data(), shape.size())), shape.data(), shape.size(), type);
  bind(name, value.get(), input);
}

void Binding::bind_output(const std::string& name, const Device& device) {
  is_elsewhere_ = !device.is_host() || is_elsewhere_;
  has_run_ = false;
  const PlaceOf info(device);
  check(api().BindOutputToDevice(get(), c_text(name), info.get()));
}

void Binding::clear_inputs() {
  const HoldsGil gil;
  api().ClearBoundInputs(get());
}

void Binding::clear_outputs() {
  has_run_ = false;
  const HoldsGil gil;
  api().ClearBoundOutputs(get());
}

void Binding::run(const Session& session, nb::handle options) {
  OrtSession* handle = session.get();
  has_run_ = false;
  try {
    call_engine(run_options_of(options),
                [&](const OrtRunOptions* settings) { return api().RunWithBinding(handle, settings, get()); });
    has_run_ = true;
  } catch (const Error& error) {
    throw BoundRunError(error.code(), error.what());
  }
}

void Binding::synchronize_inputs() {
  OrtStatus* status = nullptr;
  {
    const WithoutGil release;
    status = api().SynchronizeBoundInputs(get());
  }
  check(status);
}

void Binding::synchronize_outputs() {
  OrtStatus* status = nullptr;
  {
    const WithoutGil release;
    status = api().SynchronizeBoundOutputs(get());
  }
  check(status);
}

Binding::Made::Made(const OrtIoBinding* binding) : allocator_(default_allocator()) {
  check(api().GetBoundOutputValues(binding, allocator_, &values_, &count_));
}

Binding::Made::~Made() {
  for (size_t i = 0; i < count_; ++i) {
    take(i);
  }
  if (values_) {
    allocator_->Free(allocator_, values_);
  }
}

std::vector<std::string> Binding::output_names() const {
  OrtAllocator* allocator = default_allocator();
  char* texts = nullptr;
  size_t* lengths = nullptr;
  size_t count = 0;
  check(api().GetBoundOutputNames(get(), allocator, &texts, &lengths, &count));
  std::vector<std::string> names;
  size_t start = 0;
  for (size_t i = 0; i < count; ++i) {
    names.emplace_back(texts + start, lengths[i]);
    start += lengths[i];
  }
  if (texts) {
    allocator->Free(allocator, texts);
  }
  if (lengths) {
    allocator->Free(allocator, lengths);
  }
  return names;
}

nb::object Binding::output_vector(nb::handle self) const {
  ValueVector result;
  result.owner = nb::borrow(self);
  Made values = outputs();
  result.values.reserve(values.size());
  for (size_t i = 0; i < values.size(); ++i) {
    result.values.push_back(wrap(values.take(i)));
  }
  return nb::cast(std::move(result));
}

nb::object Binding::object_on_host(Owned<OrtValue> value) const {
  if (kind_of(value.get()) == ONNX_TYPE_UNKNOWN) {
    throw Error(ORT_FAIL, "copy_outputs_to_cpu(): the binding has not been run");
  }
  int is_tensor = 0;
  check(api().IsTensor(value.get(), &is_tensor));
  return is_tensor && is_on_host(value.get()) ? array_of_tensor(std::move(value))
                                              : object_of_value(on_host(std::move(value)));
}

nb::object Binding::outputs_on_host() const {
  Made values = outputs();
  const bool plain = has_run_ && !is_elsewhere_ && session_->has_plain_outputs();
  nb::object list = nb::steal(PyList_New(static_cast<Py_ssize_t>(values.size())));
  if (!list.is_valid()) {
    nb::raise_python_error();
  }
  for (size_t i = 0; i < values.size(); ++i) {
    nb::object object = plain ? array_of_tensor(values.take(i)) : object_on_host(values.take(i));
    PyList_SetItem(list.ptr(), static_cast<Py_ssize_t>(i), object.release().ptr());
  }
  return list;
}

void run_with_vectors(nb::handle session, nb::handle options, const std::vector<std::string>& feed_names,
                      const ValueVector& feeds, const std::vector<std::string>& fetch_names, ValueVector& fetches,
                      const std::vector<Device>& devices) {
  if (feed_names.size() != feeds.values.size()) {
    throw Error(ORT_INVALID_ARGUMENT, "run_with_ortvaluevector(): " + std::to_string(feed_names.size()) +
                                          " feed_names and " + std::to_string(feeds.values.size()) +
                                          " feeds; give as many of both");
  }
  Binding binding{nb::borrow(session)};
  for (size_t i = 0; i < feed_names.size(); ++i) {
    binding.bind_value(feed_names[i], feeds.values[i], true);
  }
  for (size_t i = 0; i < fetch_names.size(); ++i) {
    if (i < fetches.values.size() && fetches.values[i].is_valid()) {
      binding.bind_value(fetch_names[i], fetches.values[i], false);
    } else {
      binding.bind_output(fetch_names[i], i < devices.size() ? devices[i] : Device{});
    }
  }
  binding.run(nb::cast<Session&>(session), options);
  fetches.values.clear();
  Binding::Made values = binding.outputs();
  for (size_t i = 0; i < values.size(); ++i) {
    fetches.values.push_back(wrap(values.take(i)));
  }
}

void bind_binding(nb::module_& m) {
  using B = Binding;
  nb::class_<B>(m, "SessionIOBinding", nb::is_weak_referenceable(),
                "Inputs and outputs of a session, bound to memory for any number of runs.")
      .def(nb::init<nb::object>(), nb::arg("session"))
      .def("bind_input", &B::bind_input, nb::arg("name"), nb::arg("value"), nb::lock_self(),
           "Reads the input from an array, in place.")
      .def(
          "bind_input",
          [](B& b, const std::string& name, const Device& device, nb::handle type, const std::vector<int64_t>& shape,
             uintptr_t address) { b.bind_memory(name, device, type, shape, address, true); },
          nb::arg("name"), nb::arg("device"), nb::arg("element_type"), nb::arg("shape"), nb::arg("buffer_ptr"),
          nb::lock_self(), "Reads the input from memory at an address, which the caller keeps.")
      .def("bind_output", &B::bind_output, nb::arg("name"), nb::arg("device"), nb::lock_self(),
           "Lets each run allocate the output on a device.")
      .def(
          "bind_output",
          [](B& b, const std::string& name, const Device& device, nb::handle type, const std::vector<int64_t>& shape,
             uintptr_t address) { b.bind_memory(name, device, type, shape, address, false); },
          nb::arg("name"), nb::arg("device"), nb::arg("element_type"), nb::arg("shape"), nb::arg("buffer_ptr"),
          nb::lock_self(), "Writes the output to memory at an address, which the caller keeps.")
      .def(
          "bind_ortvalue_input", [](B& b, const std::string& name, nb::handle v) { b.bind_value(name, v, true); },
          nb::arg("name"), nb::arg("value"), nb::lock_self(), "Reads the input from an OrtValue.")
      .def(
          "bind_ortvalue_output", [](B& b, const std::string& name, nb::handle v) { b.bind_value(name, v, false); },
          nb::arg("name"), nb::arg("value"), nb::lock_self(), "Writes the output to an OrtValue.")
      .def(
          "run", [](B& b, nb::handle options) { b.run(*b.session(), options); },
          nb::arg("run_options").none() = nb::none(), "Runs the session on what is bound.")
      .def("clear_binding_inputs", &B::clear_inputs, nb::lock_self(), "Forgets the inputs.")
      .def("clear_binding_outputs", &B::clear_outputs, nb::lock_self(), "Forgets the outputs.")
      .def("synchronize_inputs", &B::synchronize_inputs, "Waits until inputs are on their devices.")
      .def("synchronize_outputs", &B::synchronize_outputs, "Waits until outputs are made.")
      .def(
          "get_outputs", [](nb::handle self) { return nb::cast<const B&>(self).output_vector(self); }, nb::lock_self(),
          "The outputs of the last run as an OrtValueVector.")
      .def("get_output_names", &B::output_names, nb::lock_self(), "Names of the bound outputs, in order of binding.")
      .def("copy_outputs_to_cpu", &B::outputs_on_host, nb::lock_self(),
           "The outputs of the last run as arrays and other objects; copies those of devices.");
}

}  // namespace retort::python
