// Values of Python objects, and back.
#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>

#include <string>
#include <vector>

#include "containers.h"
#include "dicts.h"
#include "dlpack.h"
#include "numpy.h"
#include "sparse.h"
#include "value.h"

namespace nb = nanobind;

namespace retort::python {
namespace {

std::string type_name_of(nb::handle object) { return nb::type_name(object.type()).c_str(); }

[[noreturn]] void refuse(nb::handle object, const Type& expected, std::string_view what, const char* advice) {
  throw Misuse(ORT_INVALID_ARGUMENT,
               std::string(what) + ": " + type_name_of(object) + " cannot become " + expected.text() + "; " + advice);
}

bool is_float_array(nb::handle array) {
  const auto kind = nb::cast<std::string>(array.attr("dtype").attr("kind"));
  return kind == "f" || kind == "c";
}

bool is_integer_or_bool(Element element) {
  switch (element) {
    case ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT8:
    case ONNX_TENSOR_ELEMENT_DATA_TYPE_INT8:
    case ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT16:
    case ONNX_TENSOR_ELEMENT_DATA_TYPE_INT16:
    case ONNX_TENSOR_ELEMENT_DATA_TYPE_INT32:
    case ONNX_TENSOR_ELEMENT_DATA_TYPE_INT64:
    case ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT32:
    case ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT64:
    case ONNX_TENSOR_ELEMENT_DATA_TYPE_BOOL:
    case ONNX_TENSOR_ELEMENT_DATA_TYPE_INT4:
    case ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT4:
    case ONNX_TENSOR_ELEMENT_DATA_TYPE_INT2:
    case ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT2:
      return true;
    default:
      return false;
  }
}

// Python numbers, strings and lists of them have no type of their own, so they get that of the input; a fraction is not
// cut off.
nb::object array_of_plain(nb::handle object, const Type& expected, std::string_view what) {
  if (is_integer_or_bool(expected.element)) {
    nb::object plain = as_array(object);
    if (is_float_array(plain) && nb::cast<size_t>(plain.attr("size")) > 0) {
      refuse(object, expected, what, "it contains fractions; convert it with numpy.asarray(..., dtype) first");
    }
  }
  return as_array(object, expected.element);
}

bool is_plain(nb::handle object) {
  return PyList_Check(object.ptr()) || PyTuple_Check(object.ptr()) || PyFloat_CheckExact(object.ptr()) ||
         PyLong_CheckExact(object.ptr()) || PyBool_Check(object.ptr()) || PyUnicode_CheckExact(object.ptr());
}

Owned<OrtValue> tensor_of_object(nb::handle object, const Type& expected, Keep keep, std::string_view what) {
  if (is_array(object.ptr())) {
    return tensor_of_array(object, keep, what);
  }
  const Keep own = keep == Keep::kBorrow ? Keep::kReference : keep;  // the array is a temporary object
  if (is_plain(object)) {
    return tensor_of_array(array_of_plain(object, expected, what), own, what);
  }
  const bool has_buffer = PyObject_CheckBuffer(object.ptr()) && !PyBytes_Check(object.ptr());
  const bool has_dlpack = nb::hasattr(object, "__dlpack__");
  if (has_buffer || nb::hasattr(object, "__array__")) {
    try {
      return tensor_of_array(as_array(object), own, what);
    } catch (nb::python_error& error) {
      // A tensor of a type that NumPy does not have, or in the memory of a device: DLPack may have it.
      if (!has_dlpack || !error.matches(PyExc_TypeError)) {
        throw;
      }
    }
  }
  if (has_dlpack) {
    return tensor_of_dlpack(object);
  }
  refuse(object, expected, what, "give a numpy.ndarray or an object with __dlpack__");
}

Owned<OrtValue> sequence_of_object(nb::handle object, const Type& expected, Keep keep, std::string_view what) {
  if (!PyList_Check(object.ptr()) && !PyTuple_Check(object.ptr())) {
    refuse(object, expected, what, "give a list");
  }
  std::vector<Owned<OrtValue>> owned;
  std::vector<const OrtValue*> values;
  for (nb::handle item : nb::borrow<nb::sequence>(object)) {
    const OrtValue* value = try_unwrap(item);
    if (!value) {
      const std::string element = std::string(what) + "[" + std::to_string(values.size()) + "]";
      owned.push_back(value_of_object(item, *expected.inner, keep, element));
      value = owned.back().get();
    }
    values.push_back(value);
  }
  if (!values.empty()) {
    return container_of(ONNX_TYPE_SEQUENCE, values);
  }
  if (expected.inner->kind != ONNX_TYPE_TENSOR) {
    refuse(object, expected, what, "an empty sequence must be one of tensors, others cannot be made");
  }
  return empty_sequence(expected.inner->element);
}

Owned<OrtValue> map_of_object(nb::handle object, const Type& expected, std::string_view what) {
  if (!PyDict_Check(object.ptr())) {
    refuse(object, expected, what, "give a dict");
  }
  const auto entries = nb::borrow<nb::dict>(object);
  if (entries.size() == 0) {
    refuse(object, expected, what, "it is empty; give at least one entry");
  }
  Type keys;
  keys.kind = ONNX_TYPE_TENSOR;
  keys.element = expected.element;
  const bool texts = keys.element == ONNX_TENSOR_ELEMENT_DATA_TYPE_STRING;
  for (auto [key, value] : entries) {
    if (texts != static_cast<bool>(PyUnicode_Check(key.ptr()))) {
      refuse(key, keys, std::string(what) + ", a key", texts ? "keys are strings" : "keys are integers");
    }
    if (expected.inner->element != ONNX_TENSOR_ELEMENT_DATA_TYPE_STRING && PyUnicode_Check(value.ptr())) {
      refuse(value, *expected.inner, std::string(what) + ", a value", "values are numbers");
    }
  }
  const Owned<OrtValue> key_tensor = tensor_of_object(entries.keys(), keys, Keep::kCopy, what);
  const Owned<OrtValue> value_tensor = tensor_of_object(entries.values(), *expected.inner, Keep::kCopy, what);
  return container_of(ONNX_TYPE_MAP, {key_tensor.get(), value_tensor.get()});
}

nb::object object_of_tensor(Owned<OrtValue> value) {
  if (!is_on_host(value.get())) {
    const Device device = device_of(memory_of(value.get()));
    throw Misuse(ORT_INVALID_ARGUMENT, std::string("a tensor lies in memory of device ") + device_name(device) + " " +
                                           std::to_string(device.id) +
                                           ", which the host cannot read; use an OrtValue, "
                                           "or bind the output to host memory");
  }
  return array_of_tensor(std::move(value));
}

nb::object list_of_sequence(const OrtValue* value) {
  Dicts dicts(value);
  nb::list list;
  const size_t count = count_of(value);
  for (size_t i = 0; i < count; ++i) {
    nb::object dict = dicts.at(i);
    list.append(dict.is_valid() ? std::move(dict) : object_of_value(value_at(value, i)));
  }
  return list;
}

// Keys and values are plain Python objects.
nb::object dict_of_map(const OrtValue* value) {
  if (nb::object dict = Dicts(value).at(0); dict.is_valid()) {
    return dict;
  }
  nb::object keys = object_of_value(value_at(value, 0)).attr("tolist")();
  nb::object values = object_of_value(value_at(value, 1)).attr("tolist")();
  nb::dict dict;
  const size_t count = nb::len(keys);
  for (size_t i = 0; i < count; ++i) {
    dict[keys[i]] = values[i];
  }
  return dict;
}

}  // namespace

Owned<OrtValue> value_of_object(nb::handle object, const Type& expected, Keep keep, std::string_view what) {
  switch (expected.kind) {
    case ONNX_TYPE_TENSOR:
      return tensor_of_object(object, expected, keep, what);
    case ONNX_TYPE_SEQUENCE:
      return sequence_of_object(object, expected, keep, what);
    case ONNX_TYPE_MAP:
      return map_of_object(object, expected, what);
    case ONNX_TYPE_OPTIONAL:
      return object.is_none() ? nullptr : value_of_object(object, *expected.inner, keep, what);
    default:
      refuse(object, expected, what, "give an OrtValue or a SparseTensor");
  }
}

nb::object object_of_value(Owned<OrtValue> value) {
  switch (kind_of(value.get())) {
    case ONNX_TYPE_UNKNOWN:
      return nb::none();
    case ONNX_TYPE_TENSOR:
      return object_of_tensor(std::move(value));
    case ONNX_TYPE_SEQUENCE:
      return list_of_sequence(value.get());
    case ONNX_TYPE_MAP:
      return dict_of_map(value.get());
    case ONNX_TYPE_SPARSETENSOR:
      return wrap_sparse(std::move(value));
    default:
      break;
  }
  throw Misuse(ORT_NOT_IMPLEMENTED, "a value of type " + type_of(value.get()).text() + " has no Python object");
}

}  // namespace retort::python
