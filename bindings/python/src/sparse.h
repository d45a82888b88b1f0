// The class SparseTensor and its views.
#pragma once

#include <nanobind/nanobind.h>

#include "engine.h"
#include "value.h"

namespace retort::python {

// C.SparseTensor: the same value as its OrtValue.
struct SparseTensor {
  nanobind::object value;  // OrtValue

  OrtValue* get() const { return nanobind::inst_ptr<Value>(value)->get(); }
};

// A Python SparseTensor that owns the handle.
nanobind::object wrap_sparse(Owned<OrtValue> handle);

// The SparseTensor of a Python OrtValue, which must be one, and back. Both share the value.
SparseTensor sparse_of_value(nanobind::handle value);
nanobind::object value_of_sparse(const SparseTensor& tensor);

}  // namespace retort::python
