// The pointers to NumPy's functions, which the other files of the room share.
#define RETORT_NUMPY_OWNER
#include "numpy_api.h"

namespace retort::python {

void import_numpy() {
  if (PyArray_ImportNumPyAPI() < 0) {
    nanobind::raise_python_error();
  }
}

}  // namespace retort::python
