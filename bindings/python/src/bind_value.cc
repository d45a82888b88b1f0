// The class OrtValue.
#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <cstring>

#include "containers.h"
#include "dlpack.h"
#include "gil_lock.h"
#include "numpy.h"
#include "rooms.h"
#include "sparse.h"
#include "value.h"

namespace nb = nanobind;

namespace retort::python {
namespace {

nb::object list_of(const int64_t* extents, size_t rank) {
  nb::object list = nb::steal(PyList_New(static_cast<Py_ssize_t>(rank)));
  for (size_t i = 0; list.is_valid() && i < rank; ++i) {
    PyObject* extent = PyLong_FromLongLong(extents[i]);
    if (!extent || PyList_SetItem(list.ptr(), static_cast<Py_ssize_t>(i), extent) != 0) {
      list.reset();
    }
  }
  if (!list.is_valid()) {
    nb::raise_python_error();
  }
  return list;
}

// Element type and shape of a tensor or sparse tensor.
TensorForm form_or_refuse(const Value& value, const char* what) {
  const ONNXType kind = kind_of(value.get());
  if (kind != ONNX_TYPE_TENSOR && kind != ONNX_TYPE_SPARSETENSOR) {
    throw Misuse(ORT_INVALID_ARGUMENT, std::string(what) + ": this OrtValue is neither a tensor nor a sparse tensor");
  }
  return form_of(value.get());
}

nb::object shape(const Value& value) {
  if (value.is_tensor()) {
    const FormView form = view_of(value.get());
    return list_of(form.shape, form.rank);
  }
  const TensorForm form = form_or_refuse(value, "shape");
  return list_of(form.shape.data(), form.shape.size());
}

std::string data_type(const Value& value) {
  if (value.is_tensor()) {
    return std::string("tensor(") + element_name(view_of(value.get()).element) + ")";
  }
  if (kind_of(value.get()) == ONNX_TYPE_UNKNOWN) {
    throw Misuse(ORT_INVALID_ARGUMENT, "data_type: this OrtValue is an optional without value");
  }
  return type_of(value.get()).text();
}

int element_type(const Value& value) {
  if (value.is_tensor()) {
    return proto_of_element(view_of(value.get()).element);
  }
  const ONNXType kind = kind_of(value.get());
  if (kind == ONNX_TYPE_SEQUENCE) {
    const Type type = type_of(value.get());
    if (type.inner->kind == ONNX_TYPE_TENSOR) {
      return proto_of_element(type.inner->element);
    }
  }
  if (kind != ONNX_TYPE_SPARSETENSOR) {
    throw Misuse(ORT_INVALID_ARGUMENT, "element_type: this OrtValue has no tensors; ask data_type()");
  }
  return proto_of_element(form_of(value.get()).element);
}

bool is_tensor_sequence(const Value& value) {
  return !value.is_tensor() && kind_of(value.get()) == ONNX_TYPE_SEQUENCE &&
         type_of(value.get()).inner->kind == ONNX_TYPE_TENSOR;
}

bool has_value(const Value& value) {
  int result = 0;
  check(api().HasValue(value.get(), &result));
  return result != 0;
}

bool is_sparse_tensor(const Value& value) {
  int result = 0;
  check(api().IsSparseTensor(value.get(), &result));
  return result != 0;
}

// WebGPU's buffers are handles, not addresses.
bool is_webgpu_buffer(const Value& value) {
  if (!value.is_tensor() || value.is_host_tensor()) {
    return false;
  }
  const char* name = nullptr;
  check(api().MemoryInfoGetName(memory_of(value.get()), &name));
  return std::strncmp(name, "WebGPU_Buf", 10) == 0;
}

// Throws Misuse, which begins with `what`, unless the value is a tensor.
void require(const Value& value, const char* what) {
  if (!value.is_tensor()) {
    require_tensor(value.get(), what);
  }
}

uintptr_t data_ptr(const Value& value) {
  require(value, "data_ptr");
  if (is_webgpu_buffer(value)) {
    throw Misuse(ORT_INVALID_ARGUMENT, "data_ptr: buffers of WebGPU have no address; copy the value to the host");
  }
  return reinterpret_cast<uintptr_t>(data_of(value.get()));
}

std::string device_name_of(const Value& value) {
  if (value.is_tensor()) {
    return is_webgpu_buffer(value) ? "WebGPU" : device_name(device_of(memory_of(value.get())));
  }
  form_or_refuse(value, "device_name");
  return device_name(Device{});  // of a sparse tensor: the host, since SparseTensor allows nothing else
}

size_t size_in_bytes(const Value& value) {
  require(value, "tensor_size_in_bytes");
  const FormView form = view_of(value.get());
  if (form.element == ONNX_TENSOR_ELEMENT_DATA_TYPE_STRING) {
    throw Misuse(ORT_INVALID_ARGUMENT, "tensor_size_in_bytes: strings have no fixed size; look at numpy()");
  }
  return element_bytes(form.element, count_of(form.shape, form.rank));
}

std::string repr(const Value& value) {
  const ONNXType kind = kind_of(value.get());
  if (kind == ONNX_TYPE_UNKNOWN) {
    return "OrtValue(without value)";
  }
  std::string text = "OrtValue(" + type_of(value.get()).text();
  if (kind == ONNX_TYPE_TENSOR || kind == ONNX_TYPE_SPARSETENSOR) {
    const TensorForm form = form_of(value.get());
    text += ", shape=[";
    for (size_t i = 0; i < form.shape.size(); ++i) {
      text += (i ? ", " : "") + std::to_string(form.shape[i]);
    }
    return text + "], device=" + device_name_of(value) + ")";
  }
  return kind == ONNX_TYPE_SEQUENCE ? text + ", length=" + std::to_string(count_of(value.get())) + ")" : text + ")";
}

void bind_questions(nb::class_<Value>& value) {
  value.def("data_type", &data_type, "\"tensor(float)\", \"seq(tensor(int64))\"...")
      .def("element_type", &element_type,
           "The number in onnx.TensorProto.DataType, of a tensor or sequence of tensors.")
      .def("shape", &shape, "A list of extents.")
      .def("device_name", &device_name_of, "\"Cpu\", \"Cuda\"...")
      .def("tensor_size_in_bytes", &size_in_bytes, "Bytes of the tensor's elements.")
      .def("data_ptr", &data_ptr, "The address of the first element.")
      .def("has_value", &has_value, "False for an optional without value.")
      .def("is_tensor", &Value::is_tensor, "True for a dense tensor.")
      .def("is_sparse_tensor", &is_sparse_tensor, "True for a sparse tensor.")
      .def("is_tensor_sequence", &is_tensor_sequence, "True for a sequence of tensors.")
      .def("_is_webgpu_buffer", &is_webgpu_buffer, "True for a tensor in a buffer of WebGPU.")
      .def("__repr__", &repr);
}

nb::object numpy_of(nb::handle self) {
  const auto& value = nb::cast<const Value&>(self);
  if (!value.is_host_tensor()) {
    require_tensor(value.get(), "numpy");
    throw Misuse(ORT_INVALID_ARGUMENT, std::string("numpy: the tensor lies in memory of device ") +
                                           device_name(device_of(memory_of(value.get()))) +
                                           ", which the host cannot read; copy it to the host");
  }
  return array_of_shared(value.get(), view_of(value.get()), nb::borrow(self), value.writeable());
}

// Throws unless the tensor may take the elements of `a`. Returns their number.
size_t require_update(const Value& self, const FormView& a) {
  if (!self.writeable()) {
    throw Misuse(ORT_INVALID_ARGUMENT, "update_inplace: this OrtValue lies in the memory of a read-only array");
  }
  const FormView b = view_of(self.get());
  const size_t count = count_of(a.shape, a.rank);
  if (count != count_of(b.shape, b.rank)) {
    throw Misuse(ORT_INVALID_ARGUMENT,
                 "update_inplace: The input size of numpy arrays does not match the size of the "
                 "OrtValue.");
  }
  if (a.element != b.element) {
    throw Misuse(ORT_INVALID_ARGUMENT, std::string("update_inplace: elements of type ") + element_name(a.element) +
                                           " do not fit an OrtValue of type " + element_name(b.element));
  }
  return count;
}

void copy_strings(const OrtValue* from, OrtValue* to, size_t count) {
  std::string text;
  for (size_t i = 0; i < count; ++i) {
    size_t size = 0;
    check(api().GetStringTensorElementLength(from, i, &size));
    text.resize(size);
    check(api().GetStringTensorElement(from, size, i, text.data()));
    char* buffer = nullptr;
    check(api().GetResizedStringTensorElementBuffer(to, i, size, &buffer));
    std::memcpy(buffer, text.data(), size);
  }
}

void copy_bytes(void* to, const void* from, size_t bytes) {
  constexpr size_t kLong = 1 << 20;  // copying takes longer than getting the GIL again
  if (bytes < kLong) {
    std::memmove(to, from, bytes);
    return;
  }
  const WithoutGil released;
  std::memmove(to, from, bytes);
}

void update(const Value& self, const OrtValue* from) {
  require(self, "update_inplace");
  require_tensor(from, "update_inplace");
  const FormView form = view_of(from);
  const size_t count = require_update(self, form);
  if (!is_on_host(from) || !self.is_host_tensor()) {
    copy_tensor(from, self.get());
    return;
  }
  if (form.element == ONNX_TENSOR_ELEMENT_DATA_TYPE_STRING) {
    copy_strings(from, self.get(), count);
  } else if (count > 0) {
    copy_bytes(data_of(self.get()), data_of(from), element_bytes(form.element, count));
  }
}

void update_of_array(const Value& self, nb::handle array) {
  require(self, "update_inplace");
  ArrayView view;
  read_array(array.ptr(), view);
  if (!view.in_place || !self.is_host_tensor()) {
    update(self, tensor_of_array(array, Keep::kReference, "update_inplace").get());
    return;
  }
  require_update(self, {view.element, view.shape, static_cast<size_t>(view.rank)});
  copy_bytes(data_of(self.get()), view.data, element_bytes(view.element, view.count));
}

void update_of(const Value& self, nb::handle data) {
  if (is_array(data.ptr())) {
    update_of_array(self, data);
  } else if (const OrtValue* other = try_unwrap(data)) {
    update(self, other);
  } else {
    throw nb::type_error("update_inplace: data must be a numpy.ndarray or an OrtValue");
  }
}

// -1: the consumer takes care of the order of work. All other streams may begin when the device is done.
bool waits_for(nb::handle stream) {
  if (stream.is_none()) {
    return true;
  }
  int64_t number = 0;
  if (!nb::try_cast(stream, number) || number < -1) {
    throw nb::type_error("__dlpack__: stream must be None or a number: -1, or a stream of the consumer");
  }
  return number != -1;
}

// Whether the consumer takes capsules with a version, which came with version 1 of DLPack.
bool takes_versions(nb::handle max_version) {
  if (max_version.is_none()) {
    return false;
  }
  int major = 0;
  if (!PyTuple_Check(max_version.ptr()) || nb::len(max_version) != 2 || !nb::try_cast(max_version[0], major)) {
    throw nb::type_error("__dlpack__: max_version must be None or a pair of numbers");
  }
  return major >= 1;
}

bool wants_copy(nb::handle copy) {
  bool wanted = false;
  if (!copy.is_none() && !nb::try_cast(copy, wanted)) {
    throw nb::type_error("__dlpack__: copy must be None or a bool");
  }
  return wanted;
}

nb::object to_dlpack(nb::handle self, nb::handle stream, nb::handle max_version, nb::handle device, nb::handle copy) {
  const auto& value = nb::cast<const Value&>(self);
  ExportOptions options;
  if (!device.is_none() && !dlpack_device_of(value).equal(device)) {
    options.as_host = value.is_host_tensor() && nb::make_tuple(1, 0).equal(device);
    if (!options.as_host) {
      throw nb::buffer_error("__dlpack__: the tensor is on another device than dl_device, and is not copied there");
    }
  }
  options.waits = waits_for(stream);
  options.versioned = takes_versions(max_version);
  if (!wants_copy(copy)) {
    return dlpack_of_value(self, options);
  }
  const TensorForm form = form_of(value.get());
  const Device place = device_of(memory_of(value.get()));
  Value copied(new_tensor(allocator_of(place), form.element, form.shape.data(), form.shape.size()));
  update(copied, value.get());
  const nb::object owner = nb::cast(std::move(copied));
  return dlpack_of_value(owner, options);
}

nb::object from_dlpack(nb::handle object) {
  bool writeable = true;
  Owned<OrtValue> value = tensor_of_dlpack(object, &writeable);
  return wrap(std::move(value), writeable);
}

void bind_contents(nb::class_<Value>& value) {
  value.def("numpy", &numpy_of, "An array over the tensor's memory; a copy for strings and elements that share bytes.")
      .def("update_inplace", &update_of, nb::arg("data").none(),
           "Copies the elements of an array or OrtValue into the tensor.")
      .def(
          "to_dlpack", [](nb::handle self) { return dlpack_of_value(self); }, "A DLPack capsule.")
      .def("__dlpack__", &to_dlpack, nb::arg("stream") = nb::none(), nb::kw_only(), nb::arg("max_version") = nb::none(),
           nb::arg("dl_device") = nb::none(), nb::arg("copy") = nb::none(),
           "A DLPack capsule, which keeps the value alive.")
      .def("__dlpack_device__", &dlpack_device_of, "(device type, device) in DLPack's numbers.")
      .def_static("from_dlpack", &from_dlpack, nb::arg("data").none(),
                  "A tensor over the memory of another package's tensor.")
      .def("as_sparse_tensor", &sparse_of_value, "The SparseTensor that this value is.")
      .def_static("ort_value_from_sparse_tensor", &value_of_sparse, nb::arg("sparse_tensor"), "The same value.");
}

// The buffer protocol, as NumPy implements it for the array over the value's memory.
int get_buffer(PyObject* self, Py_buffer* view, int flags) noexcept {
  try {
    return PyObject_GetBuffer(numpy_of(self).ptr(), view, flags);
  } catch (const std::exception& error) {
    PyErr_SetString(PyExc_BufferError, error.what());
    view->obj = nullptr;
    return -1;
  }
}

PyType_Slot slots[] = {{Py_bf_getbuffer, reinterpret_cast<void*>(get_buffer)}, {0, nullptr}};

// A class of Python has the buffer protocol only from 3.12 on (__buffer__), except by a base.
int get_buffer_inside(PyObject* self, Py_buffer* view, int flags) noexcept {
  PyObject* value = PyObject_GetAttrString(self, "_ortvalue");
  if (!value) {
    view->obj = nullptr;
    return -1;
  }
  const int result = PyObject_GetBuffer(value, view, flags);
  Py_DECREF(value);  // the view keeps it
  return result;
}

void bind_base(nb::module_& m) {
  static PyType_Slot base_slots[] = {
      {Py_bf_getbuffer, reinterpret_cast<void*>(get_buffer_inside)},
      {Py_tp_doc, const_cast<char*>("The base of classes that wrap an OrtValue: gives them its buffer protocol.")},
      {0, nullptr}};
  static PyType_Spec spec{"_native.Buffered", sizeof(PyObject), 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE,
                          base_slots};
  PyObject* base = PyType_FromSpec(&spec);
  if (!base) {
    nb::raise_python_error();
  }
  m.attr("Buffered") = nb::steal(base);
  m.attr("Buffered").attr("__module__") = m.attr("__name__");
}

}  // namespace

void bind_value(nb::module_& m) {
  nb::class_<Value> value(m, "OrtValue", nb::type_slots(slots),
                          "A value of the engine: tensor, sequence, map, optional or sparse tensor.");
  bind_value_makers(value);
  bind_questions(value);
  bind_contents(value);
  bind_base(m);
}

}  // namespace retort::python
