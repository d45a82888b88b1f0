// The class OrtValueVector.
#include <nanobind/make_iterator.h>
#include <nanobind/nanobind.h>
#include <nanobind/stl/vector.h>

#include "dlpack.h"
#include "drops.h"
#include "numpy.h"
#include "rooms.h"
#include "value.h"

namespace nb = nanobind;

namespace retort::python {
namespace {

using Shape = std::vector<int64_t>;

nb::object item(const ValueVector& self, Py_ssize_t index) {
  if (index < 0 || static_cast<size_t>(index) >= self.values.size()) {
    const std::string text = "OrtValueVector: index " + std::to_string(index) + " is not below its length, " +
                             std::to_string(self.values.size());
    throw nb::index_error(text.c_str());
  }
  return self.values[static_cast<size_t>(index)];
}

void push_back(ValueVector& self, nb::handle value) {
  self.values.push_back(nb::isinstance<Value>(value) ? nb::borrow(value) : wrap(tensor_of_dlpack(value)));
}

void drop_reference(void* object) { Py_DECREF(static_cast<PyObject*>(object)); }

// Tensors of another package, whose addresses, types and shapes the caller names. They are kept alive.
void push_back_batch(ValueVector& self, const std::vector<nb::object>& tensors, const std::vector<int64_t>& addresses,
                     const std::vector<nb::object>& dtypes, const std::vector<Shape>& shapes,
                     const std::vector<Device>& devices) {
  const size_t count = tensors.size();
  if (addresses.size() != count || dtypes.size() != count || shapes.size() != count || devices.size() != count) {
    throw Misuse(ORT_INVALID_ARGUMENT, "push_back_batch: the five lists must have the same length");
  }
  for (size_t i = 0; i < count; ++i) {
    Owned<OrtMemoryInfo> place = devices[i].type == Device::kCpu ? nullptr : memory_info_of(devices[i]);
    const TensorForm form{element_of_dtype(dtypes[i]), shapes[i]};
    void* data = reinterpret_cast<void*>(static_cast<uintptr_t>(addresses[i]));
    self.values.push_back(
        wrap(tensor_over(data, form, std::move(place), drop_reference, nb::object(tensors[i]).release().ptr())));
  }
}

nb::list to_dlpacks(const ValueVector& self, nb::handle to_tensor) {
  nb::list result;
  for (const nb::object& value : self.values) {
    nb::object capsule = dlpack_of_value(value);
    result.append(to_tensor.is_none() ? capsule : to_tensor(capsule));
  }
  return result;
}

int element_type_at(const ValueVector& self, Py_ssize_t index) {
  return nb::cast<int>(item(self, index).attr("element_type")());
}

}  // namespace

OrtValue* ValueVector::at(size_t index) const { return nb::inst_ptr<Value>(values.at(index))->get(); }

void bind_vector(nb::module_& m) {
  nb::class_<ValueVector> vector(m, "OrtValueVector", "A list of OrtValues.");
  vector.def(nb::init<>())
      .def("push_back", &push_back, nb::lock_self(), "Appends an OrtValue, or a DLPack tensor.")
      .def("push_back", &push_back, nb::arg("dlpack_tensor"), nb::lock_self(), "Appends a DLPack tensor.")
      .def("push_back_batch", &push_back_batch, nb::lock_self(),
           "push_back_batch(tensors, addresses, dtypes, shapes, devices): appends tensors without copying them.")
      .def(
          "reserve", [](ValueVector& self, size_t count) { self.values.reserve(count); }, nb::lock_self())
      .def(
          "shrink_to_fit", [](ValueVector& self) { self.values.shrink_to_fit(); }, nb::lock_self())
      .def(
          "__len__", [](const ValueVector& self) { return self.values.size(); }, nb::lock_self())
      .def("__getitem__", &item, nb::lock_self())
      .def(
          "__iter__", [](nb::handle self) { return nb::iter(nb::cast(nb::cast<const ValueVector&>(self).values)); },
          nb::lock_self())
      .def("element_type_at", &element_type_at, nb::arg("idx"), nb::lock_self(), "As OrtValue.element_type().")
      .def(
          "dlpack_at", [](const ValueVector& self, Py_ssize_t i) { return dlpack_of_value(item(self, i)); },
          nb::lock_self(), "A DLPack capsule over the value's memory.")
      .def("to_dlpacks", &to_dlpacks, nb::arg("to_tensor").none(), nb::lock_self(),
           "A list of DLPack capsules, or of what `to_tensor` makes of each.");
}

}  // namespace retort::python
