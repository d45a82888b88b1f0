// NumPy's C API, for the files of the room numpy alone.
#pragma once

#include <nanobind/nanobind.h>
#define PY_ARRAY_UNIQUE_SYMBOL retort_python_numpy
#ifndef RETORT_NUMPY_OWNER
#define NO_IMPORT_ARRAY
#endif
#include <numpy/arrayobject.h>

namespace retort::python {

inline constexpr int kNumpyVariableString = 2056;  // NPY_VSTRING, the dtype StringDType of NumPy 2

// Imports NumPy. Throws Python's exception if it cannot be imported or is too old.
void import_numpy();

// numpy.dtype(object).
nanobind::object array_dtype(nanobind::handle object);

}  // namespace retort::python
