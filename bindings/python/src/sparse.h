// The class SparseTensor and its views.
#pragma once

#include <nanobind/nanobind.h>

#include "engine.h"

namespace retort::python {

// C.SparseTensor: owns its value.
class SparseTensor {
 public:
  explicit SparseTensor(Owned<OrtValue> handle) : handle_(std::move(handle)) {}
  OrtValue* get() const noexcept { return handle_.get(); }

 private:
  Owned<OrtValue> handle_;
};

// A Python SparseTensor that owns the handle.
nanobind::object wrap_sparse(Owned<OrtValue> handle);

}  // namespace retort::python
