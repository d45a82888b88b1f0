// What Python sees of the engine library.
#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>

#include "engine.h"
#include "rooms.h"

namespace nb = nanobind;

namespace retort::python {

void bind_engine(nb::module_& m) {
  m.def("set_package_folder", &set_package_folder, nb::arg("folder"),
        "Names the folder that has the library when RETORT_LIBRARY is not set.");
  m.def(
      "library_path", [] { return library_path(); }, "The path of the engine library. Opens it.");
  m.def(
      "get_version_string", [] { return library_version(); }, "The version of the interface, \"1.32.0\".");
  m.def("is_retort", &is_retort, "False if the engine library is not Retort but one with the same interface.");
}

}  // namespace retort::python
