// Tensors: of arrays, over foreign memory, and as arrays.
#include <nanobind/nanobind.h>

#include <cstring>
#include <string>
#include <vector>

#include "drops.h"
#include "gil_lock.h"
#include "numpy.h"
#include "value.h"

namespace nb = nanobind;

namespace retort::python {
namespace {

void drop_reference(void* object) { Py_DECREF(static_cast<PyObject*>(object)); }

std::string begin(std::string_view what) { return what.empty() ? "" : std::string(what) + ": "; }

TensorForm form_of(const ArrayView& view) { return {view.element, {view.shape, view.shape + view.rank}}; }

Owned<OrtValue> string_tensor(nb::handle array, const ArrayView& view) {
  const std::vector<std::string> texts = texts_of_array(array);
  Owned<OrtValue> value = new_tensor(default_allocator(), view.element, view.shape, static_cast<size_t>(view.rank));
  for (size_t i = 0; i < texts.size(); ++i) {
    char* buffer = nullptr;
    check(api().GetResizedStringTensorElementBuffer(value.get(), i, texts[i].size(), &buffer));
    std::memcpy(buffer, texts[i].data(), texts[i].size());
  }
  return value;
}

// A tensor with memory of its own. `array` may have any layout.
Owned<OrtValue> copied_tensor(nb::handle array, const ArrayView& view) {
  const nb::object dense = dense_array(array);
  ArrayView from;
  read_array(dense.ptr(), from);
  Owned<OrtValue> value = new_tensor(default_allocator(), view.element, view.shape, static_cast<size_t>(view.rank));
  if (from.count == 0) {
    return value;
  }
  if (is_packed(from.element)) {
    pack(from.element, from.data, from.count, data_of(value.get()));
  } else {
    std::memcpy(data_of(value.get()), from.data, element_bytes(from.element, from.count));
  }
  return value;
}

Owned<OrtValue> borrowed_tensor(const ArrayView& view) {
  return made<OrtValue>(api().CreateTensorWithDataAsOrtValue, host_memory(), view.data,
                        element_bytes(view.element, view.count), view.shape, static_cast<size_t>(view.rank),
                        view.element);
}

Owned<OrtValue> referencing_tensor(nb::object array, const ArrayView& view) {
  return tensor_over(view.data, form_of(view), nullptr, drop_reference, array.release().ptr());
}

nb::object array_of_packed(const OrtValue* value, Element element, const int64_t* shape, size_t rank) {
  nb::object array = new_array(element, shape, rank);
  ArrayView view;
  read_array(array.ptr(), view);
  if (view.count > 0) {
    unpack(element, data_of(value), view.count, view.data);
  }
  return array;
}

void release_capsule(PyObject* capsule) {
  const HoldsGil gil;
  Release()(static_cast<OrtValue*>(PyCapsule_GetPointer(capsule, nullptr)));
}

}  // namespace

nb::object array_of_strings(const OrtValue* value, const int64_t* shape, size_t rank) {
  size_t bytes = 0;
  check(api().GetStringTensorDataLength(value, &bytes));
  std::vector<size_t> offsets(count_of(shape, rank));
  std::string content(bytes, '\0');
  if (!offsets.empty()) {
    check(api().GetStringTensorContent(value, content.data(), bytes, offsets.data(), offsets.size()));
  }
  return array_of_texts(content.data(), offsets.data(), bytes, shape, rank);
}

Owned<OrtValue> new_tensor(OrtAllocator* allocator, Element element, const int64_t* shape, size_t rank) {
  count_of(shape, rank);
  if (element == ONNX_TENSOR_ELEMENT_DATA_TYPE_STRING) {
    const OrtMemoryInfo* place = nullptr;
    check(api().AllocatorGetInfo(allocator, &place));
    if (!device_of(place).is_host()) {  // official ONNX Runtime would write to it
      throw Misuse(ORT_INVALID_ARGUMENT, std::string("strings cannot lie in memory of device ") +
                                             device_name(device_of(place)) + "; use the host's");
    }
  }
  return made<OrtValue>(api().CreateTensorAsOrtValue, allocator, shape, rank, element);
}

Owned<OrtValue> tensor_over(void* data, const TensorForm& form, Owned<OrtMemoryInfo> place, void (*release)(void*),
                            void* context) {
  OrtAllocator* deleter = nullptr;
  try {
    const size_t bytes = element_bytes(form.element, count_of(form.shape.data(), form.shape.size()));
    const OrtMemoryInfo* host = place ? nullptr : host_memory();
    deleter = make_deleter(host, std::move(place), release, context);
    return made<OrtValue>(api().CreateTensorWithDataAndDeleterAsOrtValue, deleter, data, bytes, form.shape.data(),
                          form.shape.size(), form.element);
  } catch (...) {
    if (deleter) {
      deleter->Free(deleter, data);
    } else {
      drop(release, context);
    }
    throw;
  }
}

void* data_of(const OrtValue* value) {
  void* data = nullptr;
  check(api().GetTensorMutableData(const_cast<OrtValue*>(value), &data));
  return data;
}

void copy_tensor(const OrtValue* from, OrtValue* to) {
  OrtEnv& environment = env();
  const WithoutGil released;
  check(api().CopyTensors(&environment, &from, &to, nullptr, 1));
}

void require_tensor(const OrtValue* value, const char* what) {
  int is_tensor = 0;
  check(api().IsTensor(value, &is_tensor));
  if (!is_tensor || kind_of(value) != ONNX_TYPE_TENSOR) {
    throw Misuse(ORT_INVALID_ARGUMENT, std::string(what) + ": this OrtValue is not a tensor; only tensors can do this");
  }
}

Owned<OrtValue> tensor_of_array(nb::handle array, Keep keep, std::string_view what) {
  ArrayView view;
  if (!read_array(array.ptr(), view)) {
    throw Misuse(ORT_INVALID_ARGUMENT,
                 begin(what) + "a numpy.ndarray is expected, not " + nb::type_name(array.type()).c_str());
  }
  if (view.element == ONNX_TENSOR_ELEMENT_DATA_TYPE_UNDEFINED) {
    throw Misuse(ORT_INVALID_ARGUMENT,
                 begin(what) + "Numpy type " + dtype_name(array) + " has no tensor type; convert with astype()");
  }
  if (view.element == ONNX_TENSOR_ELEMENT_DATA_TYPE_STRING) {
    return string_tensor(array, view);
  }
  if (keep == Keep::kCopy || view.count == 0 || is_packed(view.element)) {
    return copied_tensor(array, view);
  }
  if (!view.in_place) {
    const nb::object dense = dense_array(array);
    ArrayView dense_view;
    read_array(dense.ptr(), dense_view);
    return referencing_tensor(dense, dense_view);
  }
  return keep == Keep::kBorrow ? borrowed_tensor(view) : referencing_tensor(nb::borrow(array), view);
}

FormView view_of(const OrtValue* tensor) {
  FormView view;
  check(api().GetTensorElementTypeAndShapeDataReference(tensor, &view.element, &view.shape, &view.rank));
  return view;
}

nb::object array_of_shared(const OrtValue* value, const FormView& form, nb::object owner, bool writeable) {
  if (form.element == ONNX_TENSOR_ELEMENT_DATA_TYPE_STRING) {
    return array_of_strings(value, form.shape, form.rank);
  }
  if (is_packed(form.element)) {
    return array_of_packed(value, form.element, form.shape, form.rank);
  }
  return array_over(form.element, form.shape, form.rank, data_of(value), std::move(owner), writeable);
}

nb::object array_of_tensor(Owned<OrtValue> value) {
  const auto [element, shape, rank] = view_of(value.get());
  if (element == ONNX_TENSOR_ELEMENT_DATA_TYPE_STRING) {
    return array_of_strings(value.get(), shape, rank);
  }
  if (is_packed(element)) {
    return array_of_packed(value.get(), element, shape, rank);
  }
  void* data = data_of(value.get());
  nb::object owner = nb::steal(PyCapsule_New(value.get(), nullptr, release_capsule));
  if (!owner.is_valid()) {
    nb::raise_python_error();
  }
  (void)value.release();
  return array_over(element, shape, rank, data, std::move(owner), true);
}

}  // namespace retort::python
