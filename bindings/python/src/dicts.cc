#include "dicts.h"

#include "containers.h"
#include "value.h"

namespace nb = nanobind;

namespace retort::python {
namespace {

nb::object own(PyObject* object) {
  if (!object) {
    nb::raise_python_error();
  }
  return nb::steal(object);
}

nb::object object_of(int64_t number) { return own(PyLong_FromLongLong(number)); }
nb::object object_of(double number) { return own(PyFloat_FromDouble(number)); }

void put(nb::dict& dict, nb::handle key, const nb::object& value) {
  if (PyDict_SetItem(dict.ptr(), key.ptr(), value.ptr()) != 0) {
    nb::raise_python_error();
  }
}

template <class T>
nb::dict dict_of(const std::vector<nb::object>& keys, const void* values) {
  nb::dict dict;
  for (size_t i = 0; i < keys.size(); ++i) {
    put(dict, keys[i], object_of(static_cast<const T*>(values)[i]));
  }
  return dict;
}

std::vector<nb::object> objects_of_array(nb::handle array) {
  std::vector<nb::object> objects;
  for (nb::handle object : nb::borrow<nb::list>(array.attr("tolist")())) {
    objects.push_back(nb::borrow(object));
  }
  return objects;
}

}  // namespace

Dicts::Dicts(const OrtValue* container)
    : container_(container), read_(reinterpret_cast<RetortReadMap>(find_retort_function("RetortReadMap"))) {}

// The keys (0) or values (1) of a map, as a copy.
Owned<OrtValue> Dicts::part(size_t index, size_t which) const {
  if (kind_of(container_) == ONNX_TYPE_MAP) {
    return value_at(container_, which);
  }
  return value_at(value_at(container_, index).get(), which);
}

void Dicts::make_keys(size_t index, const RetortMapEntries& entries) {
  keys_.clear();
  if (entries.key_type == ONNX_TENSOR_ELEMENT_DATA_TYPE_INT64) {
    for (size_t i = 0; i < entries.count; ++i) {
      keys_.push_back(object_of(static_cast<const int64_t*>(entries.keys)[i]));
    }
  } else {
    keys_ = objects_of_array(object_of_value(part(index, 0)));
  }
  keys_of_ = entries.keys;
}

nb::dict Dicts::dict_of_parts(size_t index) const {
  const std::vector<nb::object> values = objects_of_array(object_of_value(part(index, 1)));
  nb::dict dict;
  for (size_t i = 0; i < keys_.size(); ++i) {
    put(dict, keys_[i], values.at(i));
  }
  return dict;
}

nb::object Dicts::at(size_t index) {
  if (!read_) {
    return {};
  }
  RetortMapEntries entries{};
  check(read_(container_, index, &entries));
  if (entries.key_type == ONNX_TENSOR_ELEMENT_DATA_TYPE_UNDEFINED) {
    return {};
  }
  if (!keys_of_ || entries.keys != keys_of_ || entries.count != keys_.size()) {
    make_keys(index, entries);
  }
  switch (entries.value_type) {
    case ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT:
      return dict_of<float>(keys_, entries.values);
    case ONNX_TENSOR_ELEMENT_DATA_TYPE_DOUBLE:
      return dict_of<double>(keys_, entries.values);
    case ONNX_TENSOR_ELEMENT_DATA_TYPE_INT64:
      return dict_of<int64_t>(keys_, entries.values);
    default:
      return dict_of_parts(index);
  }
}

}  // namespace retort::python
