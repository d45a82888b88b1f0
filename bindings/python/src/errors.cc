#include "errors.h"

#include <nanobind/stl/string.h>

#include <array>

#include "rooms.h"

namespace nb = nanobind;

namespace retort::python {
namespace {

struct Kind {
  OrtErrorCode code;
  const char* name;   // in messages
  const char* label;  // of the class
};

constexpr std::array<Kind, 15> kKinds = {{
    {ORT_FAIL, "FAIL", "Fail"},
    {ORT_INVALID_ARGUMENT, "INVALID_ARGUMENT", "InvalidArgument"},
    {ORT_NO_SUCHFILE, "NO_SUCHFILE", "NoSuchFile"},
    {ORT_NO_MODEL, "NO_MODEL", "NoModel"},
    {ORT_ENGINE_ERROR, "ENGINE_ERROR", "EngineError"},
    {ORT_RUNTIME_EXCEPTION, "RUNTIME_EXCEPTION", "RuntimeException"},
    {ORT_INVALID_PROTOBUF, "INVALID_PROTOBUF", "InvalidProtobuf"},
    {ORT_MODEL_LOADED, "MODEL_LOADED", "ModelLoaded"},
    {ORT_NOT_IMPLEMENTED, "NOT_IMPLEMENTED", "NotImplemented"},
    {ORT_INVALID_GRAPH, "INVALID_GRAPH", "InvalidGraph"},
    {ORT_EP_FAIL, "EP_FAIL", "EPFail"},
    {ORT_MODEL_LOAD_CANCELED, "MODEL_LOAD_CANCELED", "ModelLoadCanceled"},
    {ORT_MODEL_REQUIRES_COMPILATION, "MODEL_REQUIRES_COMPILATION", "ModelRequiresCompilation"},
    {ORT_NOT_FOUND, "NOT_FOUND", "NotFound"},
    {ORT_DEVICE_RESET, "DEVICE_RESET", "DeviceReset"},
}};
// The classes, in the order of kKinds. They live as long as the process, as classes of an extension do.
std::array<PyObject*, kKinds.size()> classes{};

size_t index_of(OrtErrorCode code) {
  const size_t index = static_cast<size_t>(code) - 1;
  return index < kKinds.size() ? index : 0;
}

// The text between `before` and `after`, from the first `before` on; empty if there is none.
std::string_view between(std::string_view text, std::string_view before, std::string_view after) {
  const size_t found = text.find(before);
  if (found == std::string_view::npos) {
    return {};
  }
  const size_t start = found + before.size();
  const size_t end = text.find(after, start);
  return end == std::string_view::npos ? std::string_view{} : text.substr(start, end - start);
}

nb::object text_or_none(const std::string& text) {
  return text.empty() ? nb::none() : nb::object(nb::str(text.c_str(), text.size()));
}

nb::object text_of(const std::string& text) {
  return nb::steal(PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(text.size()), "replace"));
}

void set_attributes(nb::object& exception, const Error& error) {
  const Culprit culprit = culprit_of(error.what());
  exception.attr("code") = static_cast<int>(error.code());
  exception.attr("node") = text_or_none(culprit.node);
  exception.attr("op") = text_or_none(culprit.op);
}

// For pickle, which finds classes by their names: the exception becomes one of the class that has the name.
nb::tuple reduce_bound_run_error(nb::handle self) {
  return nb::make_tuple(self.type().attr("__base__"), self.attr("args"), self.attr("__dict__"));
}

// The class that is exception_class(code) and RuntimeError; made at the first use. Borrowed.
PyObject* bound_run_class(OrtErrorCode code) {
  static std::array<PyObject*, kKinds.size()> made{};
  static nb::ft_mutex mutex;
  const nb::ft_lock_guard lock(mutex);
  PyObject*& type = made[index_of(code)];
  if (!type) {
    const nb::handle base = exception_class(code);
    const std::string name =
        nb::cast<std::string>(base.attr("__module__")) + "." + nb::cast<std::string>(base.attr("__name__"));
    const nb::tuple bases = nb::make_tuple(base, nb::handle(PyExc_RuntimeError));
    nb::dict members;
    members["__reduce__"] = nb::cpp_function(&reduce_bound_run_error, nb::is_method());
    type = PyErr_NewException(name.c_str(), bases.ptr(), members.ptr());
    if (!type) {
      nb::raise_python_error();
    }
  }
  return type;
}

nb::object misuse_of(const Error& error) {
  nb::object exception = nb::handle(PyExc_RuntimeError)(text_of(error.what()));
  set_attributes(exception, error);
  return exception;
}

void translate(const std::exception_ptr& pointer, void*) {
  try {
    std::rethrow_exception(pointer);
  } catch (const Misuse& error) {
    PyErr_SetObject(PyExc_RuntimeError, misuse_of(error).ptr());
  } catch (const BoundRunError& error) {
    PyObject* const type = bound_run_class(error.code());
    PyErr_SetObject(type, exception_of(error, type).ptr());
  } catch (const Error& error) {
    PyErr_SetObject(exception_class(error.code()), exception_of(error, exception_class(error.code())).ptr());
  }
}

}  // namespace

PyObject* exception_class(OrtErrorCode code) { return classes[index_of(code)]; }

const char* code_name(OrtErrorCode code) { return kKinds[index_of(code)].name; }

Culprit culprit_of(std::string_view message) {
  // Retort: "node 'a' (Conv): ...".
  if (const auto name = between(message, "node '", "'"); !name.empty()) {
    return {std::string(name), std::string(between(message, std::string(name) + "' (", ")"))};
  }
  // ONNX Runtime while it runs: "... while running Conv node. Name:'a' Status Message: ...".
  if (const auto op = between(message, "while running ", " node."); !op.empty()) {
    return {std::string(between(message, "Name:'", "'")), std::string(op)};
  }
  // While it loads: "In Node, ("a", Conv, "", -1) : ..." and "Node (a) Op (Conv) [ShapeInferenceError] ...".
  if (const auto name = between(message, "In Node, (\"", "\""); !name.empty()) {
    return {std::string(name), std::string(between(message, std::string(name) + "\", ", ","))};
  }
  if (const auto name = between(message, "Node (", ")"); !name.empty()) {
    return {std::string(name), std::string(between(message, ") Op (", ")"))};
  }
  return {};
}

nb::object exception_of(const Error& error, nb::handle type) {
  std::string text = "[ONNXRuntimeError] : ";
  text.append(std::to_string(error.code())).append(" : ").append(code_name(error.code())).append(" : ");
  text.append(error.what());
  nb::object exception = type(text_of(text));
  set_attributes(exception, error);
  return exception;
}

nb::object exception_of_status(OrtStatus* status) {
  try {
    check(status);
    return nb::none();
  } catch (const Error& error) {
    return exception_of(error, exception_class(error.code()));
  }
}

void bind_errors(nb::module_& m) {
  const std::string module = nb::cast<std::string>(m.attr("__name__"));
  const std::string package = module.substr(0, module.rfind('.'));
  for (size_t i = 0; i < kKinds.size(); ++i) {
    const std::string name = package + ".capi.onnxruntime_pybind11_state." + kKinds[i].label;
    classes[i] = PyErr_NewException(name.c_str(), PyExc_Exception, nullptr);
    if (!classes[i]) {
      nb::raise_python_error();
    }
    nb::object made = nb::borrow(classes[i]);
    made.attr("code") = static_cast<int>(kKinds[i].code);
    made.attr("node") = nb::none();
    made.attr("op") = nb::none();
    m.attr(kKinds[i].label) = made;
  }
  nb::register_exception_translator(translate);
}

}  // namespace retort::python
