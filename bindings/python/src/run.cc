#include "run.h"

#include "drops.h"
#include "numpy.h"
#include "text.h"

namespace nb = nanobind;

namespace retort::python {
namespace {

// The dict that a run reads: `feed` itself, or a copy of another mapping.
nb::object dict_of(nb::handle feed) {
  if (PyDict_Check(feed.ptr())) {
    return nb::borrow(feed);
  }
  if (!PyMapping_Check(feed.ptr()) || !nb::hasattr(feed, "keys")) {
    throw nb::type_error("input_feed must be a dict of input names and values: {name: array}");
  }
  nb::object dict = nb::steal(PyDict_New());
  if (!dict.is_valid() || PyDict_Update(dict.ptr(), feed.ptr()) != 0) {
    nb::raise_python_error();
  }
  return dict;
}

size_t size_of(nb::handle dict) { return static_cast<size_t>(PyDict_Size(dict.ptr())); }

nb::list list_of(const std::vector<std::string>& names) {
  nb::list list;
  for (const std::string& name : names) {
    list.append(nb::str(name.c_str(), name.size()));
  }
  return list;
}

}  // namespace

Inputs::Inputs(const Session& session, nb::handle feed, bool only_values)
    : feed_(dict_of(feed)),
      names_(size_of(feed_)),
      values_(size_of(feed_)),
      owned_(size_of(feed_)),
      given_(session.inputs().size()),
      kept_(size_of(feed_)) {
  try {
    add_all(session, only_values);
    check_all(session);
  } catch (...) {
    release();  // no destructor runs for an object that was not completed
    throw;
  }
}

void Inputs::add_all(const Session& session, bool only_values) {
  const nb::ft_object_guard guard(feed_);
  PyObject* key = nullptr;
  PyObject* object = nullptr;
  Py_ssize_t position = 0;
  while (size_ < names_.size() && PyDict_Next(feed_.ptr(), &position, &key, &object)) {
    add(session, key, object, only_values);
  }
}

Inputs::~Inputs() { release(); }

void Inputs::release() noexcept {
  const HoldsGil gil;  // arrays are dropped here
  for (size_t i = 0; i < size_; ++i) {
    if (owned_[i]) {
      api().ReleaseValue(values_[i]);
    }
  }
}

void Inputs::add(const Session& session, PyObject* key, PyObject* object, bool only_values) {
  const Ports& inputs = session.inputs();
  const int index = inputs.find(key, next_);
  const int initializer = index >= 0 ? -1 : session.initializers().find(key, 0);
  if (index < 0 && initializer < 0) {
    refuse_name(session, key);
  }
  const Port& port =
      index >= 0 ? inputs[static_cast<size_t>(index)] : session.initializers()[static_cast<size_t>(initializer)];
  if (index >= 0) {
    given_[static_cast<size_t>(index)] = true;
    next_ = static_cast<size_t>(index) + 1;
  }
  names_[size_] = port.name.c_str();
  kept_[size_] = nb::borrow(object);
  if (only_values) {
    values_[size_++] = unwrap(object, port.what);
  } else if (is_array(object)) {
    if (!lies_dense(object)) [[unlikely]] {
      session.count_copy(object, port);
    }
    values_[size_] = value_of_object(object, port.type, Keep::kBorrow, port.what).release();
    owned_[size_++] = true;
  } else if (OrtValue* handle = try_unwrap(object)) {
    values_[size_++] = handle;
  } else {
    values_[size_] = value_of_object(object, port.type, Keep::kReference, port.what).release();
    const bool given = values_[size_] != nullptr;  // None for an optional input: it is left out
    owned_[size_] = given;
    size_ += given ? 1 : 0;
  }
}

// Required inputs that are missing are reported first, as by the official package: the name may be a misspelt one.
void Inputs::refuse_name(const Session& session, PyObject* key) {
  const Ports& inputs = session.inputs();
  PyObject* other = nullptr;
  Py_ssize_t position = 0;
  while (PyDict_Next(feed_.ptr(), &position, &other, nullptr)) {
    const int index = inputs.find(other, 0);
    if (index >= 0) {
      given_[static_cast<size_t>(index)] = true;
    }
  }
  check_all(session);
  throw Error(ORT_INVALID_ARGUMENT, "Invalid input name: " + text_of(key) + "; the inputs are " + inputs.list());
}

void Inputs::check_all(const Session& session) {
  const Ports& inputs = session.inputs();
  std::vector<std::string> missing;
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (!given_[i] && inputs[i].required()) {
      missing.push_back(inputs[i].name);
    }
  }
  if (missing.empty()) [[likely]] {
    return;
  }
  nb::object keys = nb::steal(PyDict_Keys(feed_.ptr()));
  const std::string text =
      "Required inputs (" + text_of(list_of(missing)) + ") are missing from input feed (" + text_of(keys) + ").";
  throw nb::value_error(text.c_str());
}

namespace {

// A tuple of the requested names; no object if all are requested.
nb::object tuple_of(nb::handle names) {
  if (names.is_none()) {
    return {};
  }
  if (PyUnicode_Check(names.ptr())) {
    throw nb::type_error("output_names must be a sequence of names, not a str; write [name]");
  }
  nb::object tuple = nb::steal(PySequence_Tuple(names.ptr()));
  if (!tuple.is_valid()) {
    nb::raise_python_error();
  }
  return PyTuple_Size(tuple.ptr()) ? tuple : nb::object();
}

}  // namespace

Outputs::Outputs(const Session& session, nb::handle names)
    : tuple_(tuple_of(names)),
      names_(session.outputs().names().data()),
      size_(tuple_.is_valid() ? static_cast<size_t>(PyTuple_Size(tuple_.ptr())) : session.outputs().size()),
      values_(size_),
      plain_(session.has_plain_outputs()) {
  if (!tuple_.is_valid()) {
    return;
  }
  for (size_t i = 0; i < size_; ++i) {
    Py_ssize_t length = 0;
    PyObject* name = PyTuple_GetItem(tuple_.ptr(), static_cast<Py_ssize_t>(i));
    const char* text = PyUnicode_Check(name) ? PyUnicode_AsUTF8AndSize(name, &length) : nullptr;
    if (!text) {
      PyErr_Clear();
      throw nb::type_error("output_names must be a sequence of str");
    }
    requested_.push_back(c_text({text, static_cast<size_t>(length)}));
  }
  names_ = requested_.data();
}

Outputs::~Outputs() {
  for (size_t i = 0; i < size_; ++i) {
    if (values_[i]) {
      api().ReleaseValue(values_[i]);
    }
  }
}

nb::object Outputs::objects() {
  nb::object list = nb::steal(PyList_New(static_cast<Py_ssize_t>(size_)));
  for (size_t i = 0; i < size_; ++i) {
    Owned<OrtValue> value(std::exchange(values_[i], nullptr));
    nb::object object = plain_ ? array_of_tensor(std::move(value)) : object_of_value(std::move(value));
    PyList_SetItem(list.ptr(), static_cast<Py_ssize_t>(i), object.release().ptr());
  }
  return list;
}

nb::object Outputs::vector() {
  ValueVector result;
  for (size_t i = 0; i < size_; ++i) {
    result.values.push_back(wrap(Owned<OrtValue>(std::exchange(values_[i], nullptr))));
  }
  return nb::cast(std::move(result));
}

RunOptions* run_options_of(nb::handle options) {
  if (options.is_none()) {
    return nullptr;
  }
  RunOptions* result = nullptr;
  if (!nb::try_cast(options, result) || !result) {
    throw nb::type_error("run_options must be a RunOptions or None");
  }
  return result;
}

namespace {

void run_engine(Session& session, Inputs& inputs, Outputs& outputs, nb::handle options) {
  OrtSession* handle = session.get();
  call_engine(run_options_of(options), [&](const OrtRunOptions* settings) {
    return api().Run(handle, settings, inputs.names(), inputs.values(), inputs.size(), outputs.names(), outputs.size(),
                     outputs.values());
  });
}

}  // namespace

nb::object run(Session& session, nb::handle output_names, nb::handle feed, nb::handle options) {
  drop_waiting();
  Inputs inputs(session, feed, false);
  Outputs outputs(session, output_names);
  run_engine(session, inputs, outputs, options);
  return outputs.objects();
}

nb::object run_with_values(Session& session, nb::handle feed, nb::handle output_names, nb::handle options) {
  drop_waiting();
  Inputs inputs(session, feed, true);
  Outputs outputs(session, output_names);
  run_engine(session, inputs, outputs, options);
  return outputs.vector();
}

}  // namespace retort::python
