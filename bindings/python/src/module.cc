// The module _native. Each room adds its own classes and functions.
#include <nanobind/nanobind.h>
#include <nanobind/stl/string_view.h>

#include "rooms.h"

// nanobind's function gets another name: a second interpreter would change what the first one uses before the body below
// runs, so it is refused at the end of this file.
#define PyInit__native retort_make_native

namespace {

// Gives the module the classes and functions of the first one.
void share(nanobind::handle first, nanobind::module_& m) {
  for (auto [name, value] : nanobind::borrow<nanobind::dict>(first.attr("__dict__"))) {
    if (nanobind::cast<std::string_view>(name).starts_with("__")) continue;
    m.attr(name) = value;
  }
}

}  // namespace

NB_MODULE(_native, m) {
  using namespace retort::python;
  // A program that took the package out of sys.modules may import it again. The classes exist once in a process.
  static nanobind::handle first;
  if (first.is_valid()) {
    share(first, m);
    return;
  }
  m.doc() = "The engine's classes and functions, over the C interface. Use the package, not this module.";
  nanobind::set_leak_warnings(false);  // a program may end while threads of its own still have objects
  bind_errors(m);
  bind_engine(m);
  bind_numpy(m);
  bind_memory(m);
  bind_arena(m);
  bind_value(m);
  bind_vector(m);
  bind_sparse(m);
  bind_lora(m);
  bind_environment(m);
  bind_devices(m);
  bind_options(m);
  bind_session(m);
  bind_binding(m);
  bind_compiler(m);
  bind_packages(m);
  bind_tools(m);
  first = nanobind::object(m).release();
}

#undef PyInit__native

extern "C" NB_EXPORT PyObject* PyInit__native() {
  // The engine's threads call Python by interfaces that know the main interpreter alone.
  if (PyInterpreterState_GetID(PyInterpreterState_Get()) != 0) {
    PyErr_SetString(PyExc_ImportError,
                    "this package works in the main interpreter only; import it there, or use processes in place of "
                    "interpreters");
    return nullptr;
  }
  return retort_make_native();
}
