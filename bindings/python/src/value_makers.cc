// How OrtValues are made.
#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "numpy.h"
#include "value.h"

namespace nb = nanobind;

namespace retort::python {
namespace {

using Shape = std::vector<int64_t>;

nb::object from_numpy(nb::handle array, const Device& device) {
  if (!is_array(array.ptr())) {
    throw Misuse(ORT_INVALID_ARGUMENT, std::string("Creation of OrtValues is only supported from numpy arrays, not ") +
                                           nb::type_name(array.type()).c_str());
  }
  if (device.type == Device::kCpu) {
    ArrayView view;
    read_array(array.ptr(), view);
    return wrap(tensor_of_array(array, Keep::kReference, "ortvalue_from_numpy"), view.writeable || !view.in_place);
  }
  const Owned<OrtValue> host = tensor_of_array(array, Keep::kReference, "ortvalue_from_numpy");
  const TensorForm form = form_of(host.get());
  Owned<OrtValue> value = new_tensor(allocator_of(device), form.element, form.shape.data(), form.shape.size());
  copy_tensor(host.get(), value.get());
  return wrap(std::move(value));
}

void drop_reference(void* object) { Py_DECREF(static_cast<PyObject*>(object)); }

// The bytes of the array, read as elements of another type.
nb::object from_numpy_as(nb::handle object, int64_t proto) {
  const Element element = element_of_proto(proto);
  ArrayView view;
  if (!read_array(object.ptr(), view)) {
    throw nb::type_error("ortvalue_from_numpy_with_onnx_type: a numpy.ndarray is expected");
  }
  if (view.element == element) {
    return from_numpy(object, Device{});
  }
  const auto item = nb::cast<size_t>(object.attr("itemsize"));
  const size_t needed = element_bytes(element, 1);
  if (item != needed || element == ONNX_TENSOR_ELEMENT_DATA_TYPE_STRING) {
    throw Misuse(ORT_INVALID_ARGUMENT, "ortvalue_from_numpy_with_onnx_type: items of the array have " +
                                           std::to_string(item) + " bytes, elements of type " + element_name(element) +
                                           " have " + std::to_string(needed));
  }
  nb::object dense = dense_array(object);
  read_array(dense.ptr(), view);
  const TensorForm form{element, {view.shape, view.shape + view.rank}};
  const bool writeable = view.writeable;
  return wrap(tensor_over(view.data, form, nullptr, drop_reference, dense.release().ptr()), writeable);
}

nb::object of_shape(const Shape& shape, Element element, OrtAllocator* allocator) {
  return wrap(new_tensor(allocator, element, shape.data(), shape.size()));
}

}  // namespace

void bind_value_makers(nb::class_<Value>& value) {
  value
      .def_static("ortvalue_from_numpy", &from_numpy, nb::arg("array").none(), nb::arg("device"),
                  "A tensor over the array's memory if the device is the host; otherwise a copy on the device.")
      .def_static("ortvalue_from_numpy_with_onnx_type", &from_numpy_as, nb::arg("array").none(), nb::arg("onnx_type"),
                  "A tensor over the array's memory, with elements of another type of the same size.")
      .def_static(
          "ortvalue_from_shape_and_type",
          [](const Shape& shape, nb::handle type, const Device& device) {
            return of_shape(shape, element_of_dtype(type), allocator_of(device));
          },
          nb::arg("shape"), nb::arg("dtype"), nb::arg("device"), "A new tensor, not initialized.")
      .def_static(
          "ortvalue_from_shape_and_onnx_type",
          [](const Shape& shape, int64_t proto, const Device& device) {
            return of_shape(shape, element_of_proto(proto), allocator_of(device));
          },
          nb::arg("shape"), nb::arg("onnx_type"), nb::arg("device"), "A new tensor, not initialized.")
      .def_static(
          "ortvalue_from_shape_and_type_for_memory_info",
          [](const Shape& shape, nb::handle type, const MemoryInfo& info) {
            return of_shape(shape, element_of_dtype(type), allocator_of(info.get()));
          },
          nb::arg("shape"), nb::arg("dtype"), nb::arg("memory_info"), "A new tensor, not initialized.")
      .def_static(
          "ortvalue_from_shape_and_onnx_type_for_memory_info",
          [](const Shape& shape, int64_t proto, const MemoryInfo& info) {
            return of_shape(shape, element_of_proto(proto), allocator_of(info.get()));
          },
          nb::arg("shape"), nb::arg("onnx_type"), nb::arg("memory_info"), "A new tensor, not initialized.");
}

}  // namespace retort::python
