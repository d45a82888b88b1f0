#include "numpy.h"

#include <nanobind/stl/string.h>

#include <array>
#include <string>
#include <utility>
#include <vector>

#include "numpy_api.h"
#include "rooms.h"

namespace nb = nanobind;

namespace retort::python {
namespace {

static_assert(sizeof(npy_intp) == sizeof(int64_t), "shapes are read in place");

constexpr Element kNone = ONNX_TENSOR_ELEMENT_DATA_TYPE_UNDEFINED;
constexpr int kFirstUserType = 256;  // of NumPy: types that other packages register

// Types of ml_dtypes. Their numbers in NumPy are given when ml_dtypes is imported.
struct ExtraType {
  Element element;
  const char* name;
  int number = -1;
};

std::array<ExtraType, 11> extra_types = {{
    {ONNX_TENSOR_ELEMENT_DATA_TYPE_BFLOAT16, "bfloat16"},
    {ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT8E4M3FN, "float8_e4m3fn"},
    {ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT8E4M3FNUZ, "float8_e4m3fnuz"},
    {ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT8E5M2, "float8_e5m2"},
    {ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT8E5M2FNUZ, "float8_e5m2fnuz"},
    {ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT4, "uint4"},
    {ONNX_TENSOR_ELEMENT_DATA_TYPE_INT4, "int4"},
    {ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT4E2M1, "float4_e2m1fn"},
    {ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT2, "uint2"},
    {ONNX_TENSOR_ELEMENT_DATA_TYPE_INT2, "int2"},
    {ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT8E8M0, "float8_e8m0fnu"},
}};

// Elements whose NumPy type is built in, in the order of ONNXTensorElementDataType; -1: not built in.
constexpr std::array<int, kElementCount> kNumbers = {
    -1,       NPY_FLOAT, NPY_UINT8,  NPY_INT8,   NPY_UINT16, NPY_INT16,  NPY_INT32,   NPY_INT64, NPY_OBJECT,
    NPY_BOOL, NPY_HALF,  NPY_DOUBLE, NPY_UINT32, NPY_UINT64, NPY_CFLOAT, NPY_CDOUBLE, -1,        -1,
    -1,       -1,        -1,         -1,         -1,         -1,         -1,          -1,        -1};

int number_of(PyArray_Descr* dtype) { return dtype->type_num; }

// Fills in the numbers of extra_types. Throws Python's ImportError. A version of ml_dtypes that lacks a type leaves -1.
void import_extra_types() {
  nb::module_ extra = nb::module_::import_("ml_dtypes");
  for (ExtraType& type : extra_types) {
    if (type.number < 0 && nb::hasattr(extra, type.name)) {
      nb::object dtype = array_dtype(extra.attr(type.name));
      type.number = number_of(reinterpret_cast<PyArray_Descr*>(dtype.ptr()));
    }
  }
}

// An array with such a type exists, so the package that registered it is imported already.
Element extra_element(int number) {
  for (int attempt = 0; attempt < 2; ++attempt) {
    for (const ExtraType& type : extra_types) {
      if (type.number == number) {
        return type.element;
      }
    }
    const auto imported = nb::borrow<nb::dict>(nb::module_::import_("sys").attr("modules"));
    if (attempt || !imported.contains("ml_dtypes")) {
      break;
    }
    import_extra_types();
  }
  return kNone;
}

Element builtin_element(int number) noexcept {
  switch (number) {
    case NPY_BOOL:
      return ONNX_TENSOR_ELEMENT_DATA_TYPE_BOOL;
    case NPY_BYTE:
      return ONNX_TENSOR_ELEMENT_DATA_TYPE_INT8;
    case NPY_UBYTE:
      return ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT8;
    case NPY_SHORT:
      return ONNX_TENSOR_ELEMENT_DATA_TYPE_INT16;
    case NPY_USHORT:
      return ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT16;
    case NPY_INT:
      return ONNX_TENSOR_ELEMENT_DATA_TYPE_INT32;
    case NPY_UINT:
      return ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT32;
    case NPY_LONG:
      return sizeof(long) == 8 ? ONNX_TENSOR_ELEMENT_DATA_TYPE_INT64 : ONNX_TENSOR_ELEMENT_DATA_TYPE_INT32;
    case NPY_ULONG:
      return sizeof(long) == 8 ? ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT64 : ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT32;
    case NPY_LONGLONG:
      return ONNX_TENSOR_ELEMENT_DATA_TYPE_INT64;
    case NPY_ULONGLONG:
      return ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT64;
    case NPY_HALF:
      return ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT16;
    case NPY_FLOAT:
      return ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT;
    case NPY_DOUBLE:
      return ONNX_TENSOR_ELEMENT_DATA_TYPE_DOUBLE;
    case NPY_CFLOAT:
      return ONNX_TENSOR_ELEMENT_DATA_TYPE_COMPLEX64;
    case NPY_CDOUBLE:
      return ONNX_TENSOR_ELEMENT_DATA_TYPE_COMPLEX128;
    case NPY_OBJECT:
    case NPY_STRING:
    case NPY_UNICODE:
    case kNumpyVariableString:
      return ONNX_TENSOR_ELEMENT_DATA_TYPE_STRING;
    default:
      return kNone;
  }
}

// Never leaves a Python exception behind: a dtype that cannot be looked up has no counterpart.
Element element_of(PyArray_Descr* dtype) noexcept {
  const int number = number_of(dtype);
  if (number < kFirstUserType || number == kNumpyVariableString) {
    return builtin_element(number);
  }
  try {
    return extra_element(number);
  } catch (...) {
    PyErr_Clear();
    return kNone;
  }
}

PyArray_Descr* extra_dtype(Element element) {
  ExtraType* type = nullptr;
  for (ExtraType& candidate : extra_types) {
    type = candidate.element == element ? &candidate : type;
  }
  if (type && type->number < 0) {
    try {
      import_extra_types();
    } catch (nb::python_error& error) {
      if (!error.matches(PyExc_ImportError)) {
        throw;
      }
    }
  }
  if (!type || type->number < 0) {
    throw Misuse(ORT_NOT_IMPLEMENTED, std::string("No corresponding Numpy type for Tensor Type ") +
                                          element_name(element) + "; pip install 'ml_dtypes>=0.5'");
  }
  return PyArray_DescrFromType(type->number);
}

// A new reference, which NumPy's functions take over.
PyArray_Descr* descr_of(Element element) {
  const auto index = static_cast<size_t>(element);
  const int number = index < kNumbers.size() ? kNumbers[index] : -1;
  PyArray_Descr* result = number >= 0 ? PyArray_DescrFromType(number) : extra_dtype(element);
  if (!result) {
    nb::raise_python_error();
  }
  return result;
}

nb::object checked(PyObject* object) {
  if (!object) {
    nb::raise_python_error();
  }
  return nb::steal(object);
}

std::string text_of(nb::handle object) {
  nb::object text = checked(PyObject_Str(object.ptr()));
  return nb::cast<std::string>(text);
}

}  // namespace

nb::object array_dtype(nb::handle object) {
  PyArray_Descr* dtype = nullptr;
  if (!PyArray_DescrConverter(object.ptr(), &dtype)) {
    nb::raise_python_error();
  }
  return nb::steal(reinterpret_cast<PyObject*>(dtype));
}

bool is_array(PyObject* object) noexcept { return PyArray_Check(object); }

bool lies_dense(PyObject* object) noexcept {
  auto* array = reinterpret_cast<PyArrayObject*>(object);
  constexpr int kDense = NPY_ARRAY_C_CONTIGUOUS | NPY_ARRAY_ALIGNED;
  return (PyArray_FLAGS(array) & kDense) == kDense && PyArray_ISNOTSWAPPED(array);
}

bool read_array(PyObject* object, ArrayView& view) noexcept {
  if (!PyArray_Check(object)) {
    return false;
  }
  auto* array = reinterpret_cast<PyArrayObject*>(object);
  view.element = element_of(PyArray_DESCR(array));
  view.rank = PyArray_NDIM(array);
  view.shape = reinterpret_cast<const int64_t*>(PyArray_DIMS(array));
  view.data = PyArray_DATA(array);
  view.count = 1;
  for (int i = 0; i < view.rank; ++i) {
    view.count *= static_cast<size_t>(view.shape[i]);
  }
  view.in_place =
      lies_dense(object) && view.element != ONNX_TENSOR_ELEMENT_DATA_TYPE_STRING && !is_packed(view.element);
  view.writeable = PyArray_ISWRITEABLE(array);
  return true;
}

nb::object dtype_of(Element element) { return nb::steal(reinterpret_cast<PyObject*>(descr_of(element))); }

std::string dtype_name(nb::handle array) {
  return text_of(reinterpret_cast<PyObject*>(PyArray_DESCR(reinterpret_cast<PyArrayObject*>(array.ptr()))));
}

Element element_of_dtype(nb::handle object) {
  nb::object dtype = array_dtype(object);
  const Element element = element_of(reinterpret_cast<PyArray_Descr*>(dtype.ptr()));
  if (element == kNone) {
    throw Misuse(ORT_INVALID_ARGUMENT, "Numpy type " + text_of(dtype) + " has no tensor type; convert with astype()");
  }
  return element;
}

nb::object dense_array(nb::handle array) {
  constexpr int kNeeds = NPY_ARRAY_C_CONTIGUOUS | NPY_ARRAY_ALIGNED | NPY_ARRAY_NOTSWAPPED;
  return checked(PyArray_CheckFromAny(array.ptr(), nullptr, 0, 0, kNeeds, nullptr));
}

nb::object as_array(nb::handle object, Element element) {
  PyArray_Descr* dtype = element == kNone ? nullptr : descr_of(element);
  return checked(PyArray_FromAny(object.ptr(), dtype, 0, 0, NPY_ARRAY_DEFAULT, nullptr));
}

nb::object new_array(Element element, const int64_t* shape, size_t rank) {
  PyArray_Descr* dtype = descr_of(element);
  auto* extents = const_cast<npy_intp*>(reinterpret_cast<const npy_intp*>(shape));
  return checked(
      PyArray_NewFromDescr(&PyArray_Type, dtype, static_cast<int>(rank), extents, nullptr, nullptr, 0, nullptr));
}

nb::object array_over(Element element, const int64_t* shape, size_t rank, void* data, nb::object owner,
                      bool writeable) {
  if (!data) {
    return new_array(element, shape, rank);  // without elements
  }
  PyArray_Descr* dtype = descr_of(element);
  auto* extents = const_cast<npy_intp*>(reinterpret_cast<const npy_intp*>(shape));
  const int flags = NPY_ARRAY_C_CONTIGUOUS | NPY_ARRAY_ALIGNED | (writeable ? NPY_ARRAY_WRITEABLE : 0);
  nb::object array = checked(
      PyArray_NewFromDescr(&PyArray_Type, dtype, static_cast<int>(rank), extents, nullptr, data, flags, nullptr));
  if (PyArray_SetBaseObject(reinterpret_cast<PyArrayObject*>(array.ptr()), owner.release().ptr()) < 0) {
    nb::raise_python_error();
  }
  return array;
}

bool is_packed(Element element) { return element_bits(element) % 8 != 0; }

namespace {

bool is_signed(Element element) {
  return element == ONNX_TENSOR_ELEMENT_DATA_TYPE_INT4 || element == ONNX_TENSOR_ELEMENT_DATA_TYPE_INT2;
}

}  // namespace

void pack(Element element, const void* unpacked, size_t count, void* packed) {
  const int bits = element_bits(element);
  const size_t per_byte = static_cast<size_t>(8 / bits);
  const unsigned mask = (1u << bits) - 1;
  const auto* from = static_cast<const uint8_t*>(unpacked);
  auto* to = static_cast<uint8_t*>(packed);
  for (size_t begin = 0; begin < count; begin += per_byte) {
    unsigned byte = 0;
    for (size_t i = begin; i < count && i < begin + per_byte; ++i) {
      byte |= (from[i] & mask) << (bits * static_cast<int>(i - begin));
    }
    to[begin / per_byte] = static_cast<uint8_t>(byte);
  }
}

void unpack(Element element, const void* packed, size_t count, void* unpacked) {
  const int bits = element_bits(element);
  const size_t per_byte = static_cast<size_t>(8 / bits);
  const unsigned mask = (1u << bits) - 1;
  const unsigned sign = is_signed(element) ? 1u << (bits - 1) : 0;
  const auto* from = static_cast<const uint8_t*>(packed);
  auto* to = static_cast<uint8_t*>(unpacked);
  for (size_t i = 0; i < count; ++i) {
    const unsigned value = (from[i / per_byte] >> (bits * static_cast<int>(i % per_byte))) & mask;
    to[i] = static_cast<uint8_t>((value ^ sign) - sign);
  }
}

void bind_numpy(nb::module_&) { import_numpy(); }

}  // namespace retort::python
