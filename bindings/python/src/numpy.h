// NumPy's arrays. The only room that uses NumPy's C API. All functions need the GIL.
#pragma once

#include <nanobind/nanobind.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "types.h"

namespace retort::python {

// An ndarray, read in place. Valid while the array is referenced.
struct ArrayView {
  Element element;  // ONNX_TENSOR_ELEMENT_DATA_TYPE_UNDEFINED: a dtype without counterpart
  int rank;
  const int64_t* shape;  // of the array object
  void* data;
  size_t count;   // elements
  bool in_place;  // C-contiguous, aligned, native byte order, and one element has the same bytes in the engine
  bool writeable;
};

bool is_array(PyObject* object) noexcept;

// Whether the elements of an ndarray lie one after the other, aligned and in native byte order: then those of types that
// the engine has in the same form are read in place.
bool lies_dense(PyObject* array) noexcept;

// False if `object` is not an ndarray.
bool read_array(PyObject* object, ArrayView& view) noexcept;

// The dtype of the engine's elements, a new reference; dtype object for strings. ml_dtypes is imported at the first use
// of one of its types. If it is missing, this throws Misuse(ORT_NOT_IMPLEMENTED), which says how to install it.
nanobind::object dtype_of(Element element);

// The element type of a dtype or of what numpy.dtype() accepts. Throws Misuse for one without counterpart.
Element element_of_dtype(nanobind::handle dtype);

// "float32": the name of an array's dtype, for messages.
std::string dtype_name(nanobind::handle array);

// A C-contiguous array of the same elements, aligned and in native byte order: `array` itself, or a copy.
nanobind::object dense_array(nanobind::handle array);

// numpy.asarray(object): for lists and numbers. With an element type, the array has its dtype.
nanobind::object as_array(nanobind::handle object, Element element = ONNX_TENSOR_ELEMENT_DATA_TYPE_UNDEFINED);

// A new array with memory of its own, not initialized (strings: None).
nanobind::object new_array(Element element, const int64_t* shape, size_t rank);

// An array over `data`, which lives as long as `owner`. Only for elements whose bytes are those of the dtype.
nanobind::object array_over(Element element, const int64_t* shape, size_t rank, void* data, nanobind::object owner,
                            bool writeable);

// An array of strings (dtype U, S, object or StringDType) as UTF-8, and back.
std::vector<std::string> texts_of_array(nanobind::handle array);
nanobind::object array_of_texts(const char* bytes, const size_t* offsets, size_t total, const int64_t* shape,
                                size_t rank);

// Elements that share bytes in the engine (int4, uint4, float4e2m1, int2, uint2) have a byte each in NumPy.
bool is_packed(Element element);
void pack(Element element, const void* unpacked, size_t count, void* packed);
void unpack(Element element, const void* packed, size_t count, void* unpacked);

}  // namespace retort::python
