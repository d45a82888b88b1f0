// Enumerations as Python programs know them from the official package: members are ints, and print as "Class.MEMBER".
#pragma once

#include <nanobind/nanobind.h>

namespace retort::python {

// Call this after the last value(): str() gives "Class.MEMBER" and repr() "<Class.MEMBER: 1>" on every version of Python.
template <class T>
void finish_enum(nanobind::enum_<T>& type) {
  nanobind::object plain = nanobind::module_::import_("enum").attr("Enum");
  type.attr("__str__") = plain.attr("__str__");
  type.attr("__repr__") = plain.attr("__repr__");
}

}  // namespace retort::python
