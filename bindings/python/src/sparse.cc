#include "sparse.h"

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <string>
#include <vector>

#include "enums.h"
#include "numpy.h"
#include "rooms.h"
#include "text.h"

namespace nb = nanobind;

namespace retort::python {
namespace {

using Shape = std::vector<int64_t>;

// The values of a sparse tensor, in the form in which the engine copies them.
struct Values {
  explicit Values(nb::handle given) : array(dense_array(given)) {
    read_array(array.ptr(), view);
    if (view.element == ONNX_TENSOR_ELEMENT_DATA_TYPE_STRING) {
      texts = texts_of_array(array);
      for (const std::string& text : texts) {
        pointers.push_back(c_text(text));
      }
    } else if (!view.in_place) {
      throw Misuse(ORT_INVALID_ARGUMENT,
                   std::string("SparseTensor: values of dtype ") + dtype_name(array) + " are not supported");
    }
  }

  const void* data() const { return texts.empty() ? view.data : static_cast<const void*>(pointers.data()); }

  nb::object array;
  ArrayView view{};
  std::vector<std::string> texts;
  std::vector<const char*> pointers;
};

// Indices of any integer type that have the same values as `element`.
ArrayView indices_in(nb::object& array, nb::handle given, Element element) {
  const nb::object wide = as_array(given);
  array = dense_array(wide.attr("astype")(dtype_of(element)));
  const nb::object same = wide.attr("__eq__")(array).attr("all")();
  if (PyObject_IsTrue(same.ptr()) != 1) {
    throw Misuse(ORT_INVALID_ARGUMENT,
                 std::string("SparseTensor: an index does not fit the type ") + element_name(element));
  }
  ArrayView view;
  read_array(array.ptr(), view);
  return view;
}

void require_host(const Device& device) {
  if (device.type != Device::kCpu) {
    throw Misuse(ORT_NOT_IMPLEMENTED,
                 "SparseTensor: only host memory is supported, not that of device " + std::string(device_name(device)));
  }
}

Owned<OrtValue> empty_of(const Shape& dense_shape, const Values& values, const Device& device) {
  require_host(device);
  count_of(dense_shape.data(), dense_shape.size());
  return made<OrtValue>(api().CreateSparseTensorAsOrtValue, default_allocator(), dense_shape.data(), dense_shape.size(),
                        values.view.element);
}

SparseTensor coo_from_numpy(const Shape& dense_shape, nb::handle array, nb::handle indices, const Device& device) {
  const Values values(array);
  nb::object kept;
  const ArrayView where = indices_in(kept, indices, ONNX_TENSOR_ELEMENT_DATA_TYPE_INT64);
  Owned<OrtValue> value = empty_of(dense_shape, values, device);
  check(api().FillSparseTensorCoo(value.get(), host_memory(), values.view.shape, values.view.rank, values.data(),
                                  static_cast<const int64_t*>(where.data), where.count));
  return {wrap(std::move(value))};
}

SparseTensor csr_from_numpy(const Shape& dense_shape, nb::handle array, nb::handle inner, nb::handle outer,
                            const Device& device) {
  const Values values(array);
  nb::object kept_inner, kept_outer;
  const ArrayView columns = indices_in(kept_inner, inner, ONNX_TENSOR_ELEMENT_DATA_TYPE_INT64);
  const ArrayView rows = indices_in(kept_outer, outer, ONNX_TENSOR_ELEMENT_DATA_TYPE_INT64);
  Owned<OrtValue> value = empty_of(dense_shape, values, device);
  check(api().FillSparseTensorCsr(value.get(), host_memory(), values.view.shape, values.view.rank, values.data(),
                                  static_cast<const int64_t*>(columns.data), columns.count,
                                  static_cast<const int64_t*>(rows.data), rows.count));
  return {wrap(std::move(value))};
}

SparseTensor blocks_from_numpy(const Shape& dense_shape, nb::handle array, nb::handle indices, const Device& device) {
  const Values values(array);
  nb::object kept;
  const ArrayView where = indices_in(kept, indices, ONNX_TENSOR_ELEMENT_DATA_TYPE_INT32);
  Owned<OrtValue> value = empty_of(dense_shape, values, device);
  check(api().FillSparseTensorBlockSparse(value.get(), host_memory(), values.view.shape, values.view.rank,
                                          values.data(), where.shape, where.rank,
                                          static_cast<const int32_t*>(where.data)));
  return {wrap(std::move(value))};
}

OrtSparseFormat format_of(const SparseTensor& tensor) {
  OrtSparseFormat format = ORT_SPARSE_UNDEFINED;
  check(api().GetSparseTensorFormat(tensor.get(), &format));
  return format;
}

nb::object values_array(const SparseTensor& tensor) {
  const auto info = made<OrtTensorTypeAndShapeInfo>(api().GetSparseTensorValuesTypeAndShape, tensor.get());
  const TensorForm form = form_of(info.get());
  if (form.element == ONNX_TENSOR_ELEMENT_DATA_TYPE_STRING) {
    return array_of_strings(tensor.get(), form.shape.data(), form.shape.size());
  }
  const void* data = nullptr;
  check(api().GetSparseTensorValues(tensor.get(), &data));
  return array_over(form.element, form.shape.data(), form.shape.size(), const_cast<void*>(data), tensor.value, true);
}

// The indices of one format; each is a class of its own in Python.
template <OrtSparseFormat Format>
struct View {
  SparseTensor tensor;
};

using CooView = View<ORT_SPARSE_COO>;
using CsrView = View<ORT_SPARSE_CSRC>;
using BlockView = View<ORT_SPARSE_BLOCK_SPARSE>;

template <OrtSparseFormat Format>
View<Format> view_of(const SparseTensor& tensor) {
  if (format_of(tensor) != Format) {
    throw Misuse(ORT_INVALID_ARGUMENT, "SparseTensor: this sparse tensor has another format; look at its format");
  }
  return {tensor};
}

nb::object indices_array(const SparseTensor& tensor, OrtSparseIndicesFormat which) {
  const auto info = made<OrtTensorTypeAndShapeInfo>(api().GetSparseTensorIndicesTypeShape, tensor.get(), which);
  const TensorForm form = form_of(info.get());
  size_t count = 0;
  const void* data = nullptr;
  check(api().GetSparseTensorIndices(tensor.get(), which, &count, &data));
  return array_over(form.element, form.shape.data(), form.shape.size(), const_cast<void*>(data), tensor.value, true);
}

std::string repr(const SparseTensor& tensor) {
  const TensorForm form = form_of(tensor.get());
  std::string text = "SparseTensor(" + type_of(tensor.get()).text() + ", shape=[";
  for (size_t i = 0; i < form.shape.size(); ++i) {
    text += (i ? ", " : "") + std::to_string(form.shape[i]);
  }
  return text + "])";
}

void bind_views(nb::module_& m) {
  nb::class_<CooView>(m, "SparseCooView", "Indices of a sparse tensor in COO format.")
      .def("indices", [](const CooView& self) { return indices_array(self.tensor, ORT_SPARSE_COO_INDICES); });
  nb::class_<CsrView>(m, "SparseCsrView", "Indices of a sparse tensor in CSR format.")
      .def("inner", [](const CsrView& self) { return indices_array(self.tensor, ORT_SPARSE_CSR_INNER_INDICES); })
      .def("outer", [](const CsrView& self) { return indices_array(self.tensor, ORT_SPARSE_CSR_OUTER_INDICES); });
  nb::class_<BlockView>(m, "SparseBlockSparseView", "Indices of a sparse tensor of blocks.")
      .def("indices",
           [](const BlockView& self) { return indices_array(self.tensor, ORT_SPARSE_BLOCK_SPARSE_INDICES); });
}

void bind_format(nb::module_& m) {
  nb::enum_<OrtSparseFormat> format(m, "OrtSparseFormat", nb::is_arithmetic());
  format.value("ORT_SPARSE_UNDEFINED", ORT_SPARSE_UNDEFINED)
      .value("ORT_SPARSE_COO", ORT_SPARSE_COO)
      .value("ORT_SPARSE_CSRC", ORT_SPARSE_CSRC)
      .value("ORT_SPARSE_BLOCK_SPARSE", ORT_SPARSE_BLOCK_SPARSE);
  finish_enum(format);
}

}  // namespace

nb::object wrap_sparse(Owned<OrtValue> handle) { return nb::cast(SparseTensor{wrap(std::move(handle))}); }

SparseTensor sparse_of_value(nb::handle value) {
  int is_sparse = 0;
  check(api().IsSparseTensor(nb::cast<const Value&>(value).get(), &is_sparse));
  if (!is_sparse) {
    throw Misuse(ORT_INVALID_ARGUMENT, "as_sparse_tensor: this OrtValue is not a sparse tensor; ask data_type()");
  }
  return {nb::borrow(value)};
}

nb::object value_of_sparse(const SparseTensor& tensor) { return tensor.value; }

void bind_sparse(nb::module_& m) {
  bind_format(m);
  bind_views(m);
  nb::class_<SparseTensor> tensor(m, "SparseTensor", "A sparse tensor with memory of its own, on the host.");
  tensor
      .def_static("sparse_coo_from_numpy", &coo_from_numpy, nb::arg("dense_shape"), nb::arg("values"),
                  nb::arg("coo_indices"), nb::arg("device"), "Copies values[nnz] and indices[nnz] or [nnz, 2].")
      .def_static("sparse_csr_from_numpy", &csr_from_numpy, nb::arg("dense_shape"), nb::arg("values"),
                  nb::arg("inner_indices"), nb::arg("outer_indices"), nb::arg("device"),
                  "Copies values[nnz], columns[nnz] and the starts of the rows[rows + 1].")
      .def_static("blocksparse_from_numpy", &blocks_from_numpy, nb::arg("dense_shape"), nb::arg("values"),
                  nb::arg("indices"), nb::arg("device"), "Copies blocks of values and their places.");
  tensor.def("values", &values_array, "An array over the values; of strings: a copy.")
      .def("data_type", [](const SparseTensor& self) { return type_of(self.get()).text(); })
      .def(
          "dense_shape", [](const SparseTensor& self) { return form_of(self.get()).shape; }, "A list of extents.")
      .def(
          "device_name", [](const SparseTensor&) { return device_name(Device{}); }, "\"Cpu\"")
      .def_prop_rw(
          "format", &format_of,
          [](const SparseTensor&, nb::handle) { throw std::runtime_error("SparseTensor.format cannot be set"); },
          "OrtSparseFormat. It cannot be set.")
      .def("get_coo_data", &view_of<ORT_SPARSE_COO>)
      .def("get_csrc_data", &view_of<ORT_SPARSE_CSRC>)
      .def("get_blocksparse_data", &view_of<ORT_SPARSE_BLOCK_SPARSE>)
      .def(
          "to_cuda", [](const SparseTensor&, const Device& device) { require_host(device); }, nb::arg("device"))
      .def("__repr__", &repr);
}

}  // namespace retort::python
